//! Rules that tables cannot express: those of the specification's text about one event, by their
//! section number, and our stricter ones, by a name of ours.

use serde_json::{Map, Value};

use super::core::{CORE_PREFIX, CORE_SITE, Core, CoreType, core_type};
use super::form::is_language;
use super::report::Path;
use super::table::Slot;
use super::walk::{Got, Walk};
use crate::{EXTENSION, EXTENSION_CONTEXT, language};

/// Reserved names, which no member of ours or of an extension may have.
const RESERVED: [&str; 4] = ["@id", "@graph", "@base", "@vocab"];

const RESERVED_PREFIX: &str = "aaep_";

/// The prefix of the versions that we speak.
const MAJOR: &str = "1.";

const fn at(name: &str) -> Path<'_> {
    Path::Key(&Path::Root, name)
}

pub(super) fn check(walk: &mut Walk<'_>, core: Option<&'static CoreType>) {
    check_type(walk, core);
    check_moment(walk);
    check_prefixes(walk);
    if walk.text(Slot::PrimaryLanguage).is_none() {
        let place = at("localization_hints");
        let place = Path::Key(&place, "primary_language");
        walk.report.warn("11.1", &place, format_args!("the language of the texts"));
    }
    if walk.text(Slot::Version).is_some_and(|version| !version.starts_with(MAJOR)) {
        walk.report.warn("12", &at("aaep_version"), format_args!("a version 1"));
    }
    let Some(core) = core else { return };
    if let Some(section) = core.critical {
        check_critical(walk, section);
    }
    match core.core {
        Core::ProgressUpdated => check_progress(walk),
        Core::ToolCompleted => check_outcome(walk),
        Core::AwaitingConfirmation => check_confirmation(walk),
        Core::AwaitingClarification => check_clarification(walk),
        Core::SessionStarted
        | Core::SessionCompleted
        | Core::SessionErrored
        | Core::SessionCancelled
        | Core::StateChanged
        | Core::ToolInvoked
        | Core::OutputStreaming
        | Core::HandoffRequested => {}
    }
}

/// A member that neither the envelope nor the type names.
pub(super) fn unnamed_member(walk: &mut Walk<'_>, is_core: bool, key: &str, path: &Path<'_>) {
    if RESERVED.contains(&key) || key.starts_with(RESERVED_PREFIX) {
        walk.report.spec("3.5", path, format_args!("no field of a reserved name"));
    } else if is_core && !is_summary_in_language(key) {
        walk.report.warn("3.5", path, format_args!("own fields under extensions only"));
    }
}

/// Warns about a summary in another language that could not replace the event's own: no listener
/// would get it. The schemas have no rule for these.
pub(super) fn check_translations(walk: &mut Walk<'_>, text: &str) {
    if !walk.report.wants_warnings() {
        return;
    }
    let Ok(event) = serde_json::from_str::<Map<String, Value>>(text) else { return };
    for (key, translated) in &event {
        if language::is_good_variant(key, translated) == Some(false) {
            let expected = format_args!("a text as the summary that it translates has");
            walk.report.warn("11.5", &at(key), expected);
        }
    }
}

/// `summary_normal_yo`: the same summary in another language.
fn is_summary_in_language(key: &str) -> bool {
    ["summary_terse_", "summary_normal_", "summary_detailed_"]
        .iter()
        .find_map(|name| key.strip_prefix(name))
        .is_some_and(is_language)
}

fn check_type(walk: &mut Walk<'_>, core: Option<&'static CoreType>) {
    let Some(name) = walk.text(Slot::Type) else { return };
    // Of a repeated key, another value may have been taken as the type; that is its own flaw.
    let expected = if core.is_some() || core_type(name).is_some() {
        return;
    } else if name.starts_with(CORE_PREFIX) || name.starts_with(CORE_SITE) {
        format_args!("one of the twelve core types")
    } else if is_uri_of_others(name) {
        return;
    } else if !is_prefixed(name) {
        format_args!("a prefix, a colon and a name, or a URI")
    } else if walk.contexts.is_empty() && !walk.report.breaks_schema_at("@context") {
        format_args!("the context of its prefix in @context")
    } else {
        return;
    };
    walk.report.spec("3.9", &at("type"), expected);
}

fn is_uri_of_others(name: &str) -> bool {
    name.contains("://") || name.starts_with("urn:")
}

fn is_prefixed(name: &str) -> bool {
    name.split_once(':').is_some_and(|(prefix, local)| !prefix.is_empty() && !local.is_empty())
}

fn check_moment(walk: &mut Walk<'_>) {
    let Got::Moment(moment) = *walk.got(Slot::Timestamp) else { return };
    if !moment.has_capitals {
        walk.report.spec("3.9", &at("timestamp"), format_args!("T and Z as capitals"));
    }
    if !matches!(moment.n_fraction_digits, 0 | 3 | 6) {
        walk.report.warn("3.9", &at("timestamp"), format_args!("0, 3 or 6 digits after the dot"));
    }
}

/// A prefix must be declared in `@context`. Which context declares which prefix cannot be known
/// without fetching it, so we only require that there is one. A wrong `@context` is one flaw.
fn check_prefixes(walk: &mut Walk<'_>) {
    if walk.prefixes.is_empty() || walk.report.breaks_schema_at("@context") {
        return;
    }
    if walk.contexts.is_empty() {
        let is_ours = walk.prefixes.iter().any(|prefix| *prefix == EXTENSION);
        let expected = match is_ours {
            true => format_args!(
                "a list with the contexts of all extensions: {EXTENSION_CONTEXT} for `{EXTENSION}`"
            ),
            false => format_args!("a list with the contexts of all extensions"),
        };
        walk.report.spec("3.9", &at("@context"), expected);
        return;
    }
    for prefix in std::mem::take(&mut walk.prefixes) {
        if !walk.contexts.iter().any(|context| context.contains(&*prefix)) {
            let place = at("extensions");
            let expected = format_args!("a context in which its name occurs");
            walk.report.warn("3.9", &Path::Key(&place, &prefix), expected);
        }
    }
}

fn check_critical(walk: &mut Walk<'_>, section: &'static str) {
    match walk.text(Slot::Urgency) {
        Some("critical") => {}
        // The schemas restrict its value, but do not require it.
        Some(_) => walk.report.schema("const", &at("urgency"), format_args!("critical")),
        None => walk.report.spec(section, &at("urgency"), format_args!("critical")),
    }
}

fn check_progress(walk: &mut Walk<'_>) {
    if let (Got::Integer(step), Got::Integer(total)) =
        (walk.got(Slot::Step), walk.got(Slot::TotalSteps))
        && step > total
    {
        let total = *total;
        let place = at("progress");
        walk.report.spec("4.2.2", &Path::Key(&place, "step"), format_args!("at most {total}"));
    }
}

fn check_outcome(walk: &mut Walk<'_>) {
    let failed = matches!(walk.text(Slot::Status), Some("error" | "timeout"));
    if failed && walk.text(Slot::ErrorMessage).is_none() {
        let expected = format_args!("a text, because the tool did not succeed");
        walk.report.spec("4.3.2", &at("error_message"), expected);
    }
}

fn check_confirmation(walk: &mut Walk<'_>) {
    if let Got::Texts(replies) = walk.got(Slot::AllowedReplies)
        && let Some(index) = replies.iter().position(|one| one != "accept" && one != "reject")
    {
        let place = at("allowed_replies");
        let expected = format_args!("accept or reject, which are all that a reply can say");
        walk.report.spec("tasuki.allowed_replies", &Path::Index(&place, index), expected);
    }
    let is_marked = *walk.got(Slot::Irreversible) == Got::Truth(true);
    let reversibility = walk.text(Slot::Reversibility);
    let is_irreversible = is_marked || reversibility == Some("irreversible");
    let with_effort = reversibility == Some("reversible_with_effort");
    let is_contradictory = is_marked && reversibility.is_some_and(|word| word != "irreversible");
    let risk = walk.text(Slot::Risk);
    let (is_high, is_grave) = (risk == Some("high"), matches!(risk, Some("medium" | "high")));
    if walk.text(Slot::DefaultDecision) == Some("accept") {
        let place = at("default_decision");
        let expected = format_args!("reject");
        if is_marked && is_grave {
            walk.report.schema("then", &place, expected);
        } else if is_irreversible && is_grave {
            walk.report.spec("6.4.1", &place, expected);
        } else if is_irreversible {
            walk.report.spec("tasuki.irreversible_default", &place, expected);
        } else if with_effort && is_grave {
            walk.report.spec("tasuki.effort_default", &place, expected);
        } else if is_high {
            walk.report.warn("6.4.1", &place, expected);
        }
    }
    if is_contradictory {
        walk.report.warn("4.4.1", &at("reversibility"), format_args!("irreversible"));
    }
}

fn check_clarification(walk: &mut Walk<'_>) {
    let Got::Texts(kinds) = walk.got(Slot::Kinds) else { return };
    if kinds.is_empty() {
        return;
    }
    let may_choose = kinds.iter().any(|kind| kind == "multiple_choice");
    let has_choices = *walk.got(Slot::Choices) != Got::Absent;
    if may_choose && !has_choices {
        let expected = format_args!("what can be chosen, because multiple_choice is accepted");
        walk.report.spec("4.4.2", &at("choices"), expected);
    }
    if has_choices && !may_choose {
        let expected = format_args!("multiple_choice, because there are choices");
        walk.report.spec("4.4.2", &at("accepted_response_kinds"), expected);
    }
}
