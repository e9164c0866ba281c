//! A teamspace that can be managed: its name, and the defaults for all work in it. A teamspace
//! without a configuration uses the built-in defaults.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::conversation::answer_within::{self, ANSWER_WITHIN_MAX, ANSWER_WITHIN_OFF};
use crate::form;
use crate::handoff::sla::Slas;
use crate::ledger::BadHistory;
use crate::quota::SetQuotas;
use crate::rejection::Rejection;
use crate::time::Span;

/// A name is one line in a list.
pub const NAME_BYTES_MAX: usize = 200;
/// A description is a paragraph.
pub const DESCRIPTION_BYTES_MAX: usize = 2_000;

/// Ten years. Messages that must be kept longer belong elsewhere.
pub const MESSAGE_RETENTION_DAYS_MAX: u32 = 3_650;

/// How long an accept allows an action that cannot be undone: long enough to make the call, short
/// enough that the approver still remembers.
pub const CONSENT_SECONDS: u32 = 60;

/// With less, no call would be in time.
pub const CONSENT_SECONDS_MIN: u32 = 1;

/// An approver who accepted an hour ago may have changed their mind.
pub const CONSENT_SECONDS_MAX: u32 = 3_600;

/// A session counts as abandoned after this long without an event. Longer work reports progress now
/// and then.
pub const SESSION_SILENCE_MINUTES: u32 = 24 * 60;

/// With a longer limit, sessions would never end.
pub const SESSION_SILENCE_MINUTES_MAX: u32 = 30 * 24 * 60;

/// The state of a teamspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Teamspace {
    pub configuration: Configuration,
    /// Grows by 1 with every change, so that no caller overwrites a version it has not seen.
    pub revision: u64,
}

/// Everything that can be configured about a teamspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Configuration {
    /// The name people see.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default)]
    pub settings: Settings,
    /// Its own quotas; for the others, those of the server hold. Operators of the server set them.
    #[serde(default, skip_serializing_if = "SetQuotas::is_empty")]
    pub quotas: SetQuotas,
}

/// Defaults for all work in the teamspace. Small and plain: every decision that asks for it gets a
/// copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How long a worker has to answer a customer: `0s` for no limit; 60 seconds when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::span(ANSWER_WITHIN_OFF, ANSWER_WITHIN_MAX))]
    pub answer_within: Option<Span>,
    /// For how many seconds an accept allows the call that was asked about; 60 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::range(CONSENT_SECONDS_MIN, CONSENT_SECONDS_MAX))]
    pub consent_seconds: Option<u32>,
    /// Completed work must come with evidence for its success criteria.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub evidence_required: bool,
    /// For how many days messages are kept; when absent, as the server is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::range(1, MESSAGE_RETENTION_DAYS_MAX))]
    pub message_retention_days: Option<u32>,
    /// After how many minutes without an event from its producer a session is ended; 1,440 when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::range(1, SESSION_SILENCE_MINUTES_MAX))]
    pub session_silence_minutes: Option<u32>,
    /// How long each stage of a handoff may take, unless the handoff sets it.
    #[serde(default, skip_serializing_if = "Slas::is_default")]
    pub sla: Slas,
    /// An action that cannot be undone must be confirmed by the hash of its call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strong_consent_required: bool,
    /// Work must be verified by an agent or person who did not do it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub verifier_required: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Creates a teamspace, once.
    Create { configuration: Configuration },
    /// Replaces its whole configuration, except its quotas.
    Configure {
        configuration: Configuration,
        /// The revision that the caller has seen, if it wants that checked.
        revision: Option<u64>,
    },
    /// Replaces its quotas. For operators of the server: the gateway lets no other caller ask.
    SetQuotas { quotas: SetQuotas },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Created(Configuration),
    Configured(Configuration),
}

pub fn decide(
    state: Option<&Teamspace>,
    command: &Command,
    caller: &Caller,
) -> Result<Vec<Event>, Rejection> {
    if !caller.is_operator() {
        let (action, who) = match command {
            Command::Create { .. } => ("create a teamspace", "an operator"),
            Command::Configure { .. } => ("configure the teamspace", "an operator"),
            Command::SetQuotas { .. } => ("set its quotas", "an operator of the server"),
        };
        return Err(Rejection::NotAllowed { action, who });
    }
    match command {
        Command::Create { configuration } => {
            if state.is_some() {
                return Err(Rejection::AlreadyExists { what: "a teamspace of that id" });
            }
            check(configuration)?;
            Ok(vec![Event::Created(configuration.clone())])
        }
        Command::Configure { configuration, revision } => {
            check(configuration)?;
            let current = state.map_or(0, |teamspace| teamspace.revision);
            if let Some(given) = revision.filter(|given| *given != current) {
                return Err(Rejection::RevisionOutdated { field: "revision", given, current });
            }
            let quotas = state.map(|it| it.configuration.quotas.clone()).unwrap_or_default();
            Ok(configured(state, Configuration { quotas, ..configuration.clone() }))
        }
        Command::SetQuotas { quotas } => {
            let known = state.map(|it| it.configuration.clone()).unwrap_or_default();
            Ok(configured(state, Configuration { quotas: quotas.clone(), ..known }))
        }
    }
}

/// Nothing happens if all stays as it is.
fn configured(state: Option<&Teamspace>, configuration: Configuration) -> Vec<Event> {
    match state.is_some_and(|teamspace| teamspace.configuration == configuration) {
        true => Vec::new(),
        false => vec![Event::Configured(configuration)],
    }
}

pub fn evolve(state: Option<Teamspace>, event: &Event) -> Result<Teamspace, BadHistory> {
    let revision = state.as_ref().map_or(0, |teamspace| teamspace.revision) + 1;
    match (state, event) {
        (None, Event::Created(configuration)) | (_, Event::Configured(configuration)) => {
            Ok(Teamspace { configuration: configuration.clone(), revision })
        }
        (Some(_), Event::Created(_)) => Err(BadHistory { event: event.name() }),
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Created(_) => "teamspace.created",
            Event::Configured(_) => "teamspace.configured",
        }
    }
}

fn check(configuration: &Configuration) -> Result<(), Rejection> {
    let Configuration { name, description, settings, quotas: _ } = configuration;
    let invalid = |field: &str, expected: String| {
        Err(Rejection::SchemaInvalid { field: field.to_owned(), expected })
    };
    if name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
        return invalid("name", format!("one line of at most {NAME_BYTES_MAX} bytes"));
    }
    if description.len() > DESCRIPTION_BYTES_MAX {
        return invalid("description", format!("at most {DESCRIPTION_BYTES_MAX} bytes"));
    }
    if let Some(problem) = settings.sla.problems().into_iter().next() {
        return invalid(&format!("settings.{}", problem.field), problem.expected);
    }
    let days = settings.message_retention_days.unwrap_or(1);
    if !(1..=MESSAGE_RETENTION_DAYS_MAX).contains(&days) {
        let expected = format!("a number from 1 to {MESSAGE_RETENTION_DAYS_MAX}");
        return invalid("settings.message_retention_days", expected);
    }
    if settings.answer_within.is_some_and(|limit| !answer_within::is_allowed(limit)) {
        return invalid("settings.answer_within", answer_within::limit_expected());
    }
    let seconds = settings.consent_seconds.unwrap_or(CONSENT_SECONDS);
    if !(CONSENT_SECONDS_MIN..=CONSENT_SECONDS_MAX).contains(&seconds) {
        let expected = format!("a number from {CONSENT_SECONDS_MIN} to {CONSENT_SECONDS_MAX}");
        return invalid("settings.consent_seconds", expected);
    }
    let minutes = settings.session_silence_minutes.unwrap_or(SESSION_SILENCE_MINUTES);
    if !(1..=SESSION_SILENCE_MINUTES_MAX).contains(&minutes) {
        let expected = format!("a number from 1 to {SESSION_SILENCE_MINUTES_MAX}");
        return invalid("settings.session_silence_minutes", expected);
    }
    Ok(())
}

impl Settings {
    /// How long an accept allows the call that was asked about.
    pub fn consent_lasts(&self) -> Span {
        let seconds = self.consent_seconds.unwrap_or(CONSENT_SECONDS);
        Span::from_millis(i64::from(seconds) * 1_000)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::caller::{Principal, Role};
    use crate::ids::TeamspaceId;
    use crate::quota::Quota;

    #[test]
    fn a_teamspace_is_made_once_and_configured_often() {
        let operator = caller("operator");
        let mut state = None;
        for (command, expected) in [
            (configure("Red", None), "teamspace.configured 1"),
            (configure("Red", None), "nothing"),
            (configure("Blue", Some(0)), "revision_outdated"),
            (configure("Blue", Some(1)), "teamspace.configured 2"),
            (configure("Blue", Some(1)), "revision_outdated"),
            (create("Green"), "already_exists"),
        ] {
            assert_eq!(run(&mut state, &command, &operator), expected, "{command:?}");
        }
        let mut state = None;
        assert_eq!(run(&mut state, &create("Red"), &operator), "teamspace.created 1");
        assert_eq!(run(&mut state, &create("Red"), &operator), "already_exists");
        assert_eq!(
            run(&mut state, &configure("Blue", Some(1)), &operator),
            "teamspace.configured 2"
        );
    }

    #[test]
    fn its_own_operators_leave_its_quotas_alone() {
        let operator = caller("operator");
        let mut state = None;
        let quotas = SetQuotas::from([(Quota::TeamspaceGraphs, 3)]);
        for (command, expected) in [
            (configure("Red", None), "teamspace.configured 1"),
            (Command::SetQuotas { quotas: quotas.clone() }, "teamspace.configured 2"),
            (Command::SetQuotas { quotas: quotas.clone() }, "nothing"),
            (configure("Red", None), "nothing"),
            (configure("Blue", None), "teamspace.configured 3"),
        ] {
            assert_eq!(run(&mut state, &command, &operator), expected, "{command:?}");
        }
        let configuration = state.expect("it was configured").configuration;
        assert_eq!((configuration.name.as_str(), configuration.quotas), ("Blue", quotas));
    }

    #[test]
    fn operators_say_what_it_is() {
        for who in ["agent", "coordinator", "customer", "system"] {
            let quotas = Command::SetQuotas { quotas: SetQuotas::new() };
            for command in [create("Red"), configure("Red", None), quotas] {
                assert_eq!(run(&mut None, &command, &caller(who)), "not_allowed", "{who}");
            }
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_named() {
        let second = |millis| Some(Span::from_millis(millis));
        let sla = |sla: Slas| Settings { sla, ..Settings::default() };
        let days = |days| Settings { message_retention_days: Some(days), ..Settings::default() };
        let consent = |seconds| Settings { consent_seconds: Some(seconds), ..Settings::default() };
        let silence =
            |minutes| Settings { session_silence_minutes: Some(minutes), ..Settings::default() };
        let answer = |millis| Settings { answer_within: second(millis), ..Settings::default() };
        let cases = [
            (answer(0), None),
            (answer(60_000), None),
            (answer(999), Some("settings.answer_within")),
            (silence(1), None),
            (silence(SESSION_SILENCE_MINUTES_MAX), None),
            (silence(0), Some("settings.session_silence_minutes")),
            (silence(SESSION_SILENCE_MINUTES_MAX + 1), Some("settings.session_silence_minutes")),
            (consent(CONSENT_SECONDS_MIN), None),
            (consent(CONSENT_SECONDS_MAX), None),
            (consent(CONSENT_SECONDS_MIN - 1), Some("settings.consent_seconds")),
            (consent(CONSENT_SECONDS_MAX + 1), Some("settings.consent_seconds")),
            (Settings::default(), None),
            (sla(Slas { proposed: second(1_000), ..Slas::default() }), None),
            (sla(Slas { proposed: second(999), ..Slas::default() }), Some("settings.sla.proposed")),
            (
                sla(Slas { warn_percent: Some(100), ..Slas::default() }),
                Some("settings.sla.warn_percent"),
            ),
            (days(1), None),
            (days(MESSAGE_RETENTION_DAYS_MAX), None),
            (days(0), Some("settings.message_retention_days")),
            (days(MESSAGE_RETENTION_DAYS_MAX + 1), Some("settings.message_retention_days")),
        ];
        for (settings, field) in cases {
            let named = Configuration { settings, ..Configuration::default() };
            assert_eq!(refused(named).as_deref(), field, "{settings:?}");
        }
        let texts = |name: &str, description: String| Configuration {
            name: name.to_owned(),
            description,
            ..Configuration::default()
        };
        assert_eq!(refused(texts("a\nb", String::new())).as_deref(), Some("name"));
        assert_eq!(refused(texts(&"x".repeat(201), String::new())).as_deref(), Some("name"));
        assert_eq!(refused(texts("a", "x".repeat(2_001))).as_deref(), Some("description"));
        assert_eq!(refused(texts("a", "x\ny".to_owned())), None);
    }

    fn refused(configuration: Configuration) -> Option<String> {
        let command = Command::Configure { configuration, revision: None };
        let rejection = decide(None, &command, &caller("operator")).err()?;
        Some(rejection.field().expect("it names the field").to_owned())
    }

    fn run(state: &mut Option<Teamspace>, command: &Command, caller: &Caller) -> String {
        let events = match decide(state.as_ref(), command, caller) {
            Ok(events) => events,
            Err(rejection) => return rejection.code().to_owned(),
        };
        let Some(event) = events.first() else { return "nothing".to_owned() };
        let next = evolve(state.take(), event).unwrap();
        let revision = next.revision;
        *state = Some(next);
        format!("{} {revision}", event.name())
    }

    fn named(name: &str) -> Configuration {
        Configuration { name: name.to_owned(), ..Configuration::default() }
    }

    fn create(name: &str) -> Command {
        Command::Create { configuration: named(name) }
    }

    fn configure(name: &str, revision: Option<u64>) -> Command {
        Command::Configure { configuration: named(name), revision }
    }

    fn caller(who: &str) -> Caller {
        let id = "root".parse().unwrap();
        let (principal, roles) = match who {
            "operator" => (Principal::Operator(id), BTreeSet::new()),
            "coordinator" => (Principal::Agent(id), BTreeSet::from([Role::Coordinator])),
            "customer" => (Principal::Customer(id), BTreeSet::new()),
            "system" => (Principal::System, BTreeSet::new()),
            _ => (Principal::Agent(id), BTreeSet::new()),
        };
        let teamspace = TeamspaceId::default_teamspace();
        Caller { teamspace, principal, roles, session: "test".to_owned() }
    }
}
