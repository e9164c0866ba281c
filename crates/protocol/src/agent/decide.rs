//! Decides on a command to an agent.

mod attend;

use std::collections::BTreeSet;

use super::command::Command;
use super::event::{
    EndpointChanged, Event, NoticesMuted, NoticesRead, Registered, RolesChanged, WakeChanged,
};
use super::kind::Kind;
use super::profile::{self, Profile};
use super::state::Agent;
use crate::caller::{Caller, Role};
use crate::facts::Context;
use crate::handoff::notice_kind::NoticeKind;
use crate::rejection::Rejection;
use crate::tools::history_form::HistoryForm;
use crate::warning::check_kinds;
use crate::{queue, wake};

pub fn decide(
    state: Option<&Agent>,
    command: &Command,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let caller = context.caller;
    match command {
        Command::Register { kind, profile } => register(state, *kind, profile, caller),
        Command::Introduce => introduce(state, caller),
        Command::SetRoles { roles } => set_roles(state, roles, caller),
        Command::SetWake { url } => set_wake(state, url.as_deref(), caller),
        Command::SetEndpoint { url, history } => {
            set_endpoint(state, url.as_deref(), *history, caller)
        }
        Command::SetQueue { settings } => set_queue(state, settings, context),
        Command::SetPresence { presence } => attend::set(state, *presence, context),
        Command::ReadNotices { until, after } => read_notices(state, (until, after), caller),
        Command::MuteNotices { kinds } => mute_notices(state, kinds, caller),
        Command::Connect => attend::connected(state, caller),
        Command::LoseConnection => attend::connection_lost(state, context),
        Command::Elapse { due } => attend::elapse(state, *due, context),
    }
}

fn register(
    state: Option<&Agent>,
    kind: Kind,
    profile: &Profile,
    caller: &Caller,
) -> Result<Vec<Event>, Rejection> {
    if !caller.is_operator() {
        return Err(Rejection::NotAllowed { action: "register an agent", who: "an operator" });
    }
    profile::check(kind, profile)?;
    match state {
        Some(agent) if agent.kind != kind => {
            Err(Rejection::AlreadyExists { what: "an agent of that id with another kind" })
        }
        Some(agent) if agent.profile == *profile && !agent.undeclared => Ok(Vec::new()),
        Some(_) | None => {
            let (profile, undeclared) = (profile.clone(), false);
            Ok(vec![Event::Registered(Registered { kind, profile, undeclared })])
        }
    }
}

/// A known agent stays what it is.
fn introduce(state: Option<&Agent>, caller: &Caller) -> Result<Vec<Event>, Rejection> {
    if !caller.is_operator() {
        return Err(Rejection::NotAllowed { action: "register an agent", who: "an operator" });
    }
    let (kind, profile, undeclared) = (Kind::Worker, Profile::default(), true);
    let introduced = Event::Registered(Registered { kind, profile, undeclared });
    Ok(state.is_none().then_some(introduced).into_iter().collect())
}

fn set_roles(
    state: Option<&Agent>,
    roles: &BTreeSet<Role>,
    caller: &Caller,
) -> Result<Vec<Event>, Rejection> {
    let agent = state.ok_or(Rejection::NotFound { what: "agent" })?;
    if !caller.is_coordinator() {
        let who = "a coordinator or an operator";
        return Err(Rejection::NotAllowed { action: "change the roles of a member", who });
    }
    if agent.roles == *roles {
        return Ok(Vec::new());
    }
    let before = Some(agent.roles.clone());
    Ok(vec![Event::RolesChanged(RolesChanged { roles: roles.clone(), before })])
}

fn set_wake(
    state: Option<&Agent>,
    url: Option<&str>,
    caller: &Caller,
) -> Result<Vec<Event>, Rejection> {
    if !caller.is_operator() {
        let action = "say where an agent is woken";
        return Err(Rejection::NotAllowed { action, who: "an operator" });
    }
    let agent = state.ok_or(Rejection::NotFound { what: "agent" })?;
    url.map_or(Ok(()), wake::check_url)?;
    if agent.wake_url.as_deref() == url {
        return Ok(Vec::new());
    }
    Ok(vec![Event::WakeChanged(WakeChanged { url: url.map(str::to_owned) })])
}

fn set_endpoint(
    state: Option<&Agent>,
    url: Option<&str>,
    history: Option<HistoryForm>,
    caller: &Caller,
) -> Result<Vec<Event>, Rejection> {
    if !caller.is_operator() {
        let action = "say where turns reach an agent";
        return Err(Rejection::NotAllowed { action, who: "an operator" });
    }
    let agent = state.ok_or(Rejection::NotFound { what: "agent" })?;
    if url.is_some() && agent.kind != Kind::Worker {
        let expected = format!("null; turns reach a worker, not a {}", agent.kind.as_str());
        return Err(Rejection::SchemaInvalid { field: "url".to_owned(), expected });
    }
    url.map_or(Ok(()), wake::check_url)?;
    if url.is_none() && history.is_some() {
        let expected = "to be left out without a `url`".to_owned();
        return Err(Rejection::SchemaInvalid { field: "history".to_owned(), expected });
    }
    if agent.endpoint.as_deref() == url && agent.endpoint_history == history {
        return Ok(Vec::new());
    }
    let url = url.map(str::to_owned);
    Ok(vec![Event::EndpointChanged(EndpointChanged { url, history })])
}

fn set_queue(
    state: Option<&Agent>,
    settings: &queue::Settings,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    if !context.caller.is_coordinator() {
        let who = "a coordinator or an operator";
        return Err(Rejection::NotAllowed { action: "say how a queue works", who });
    }
    let agent = state.filter(|agent| agent.kind == Kind::Queue);
    let agent = agent.ok_or(Rejection::NotFound { what: "queue" })?;
    if let Some(problem) = settings.problems().into_iter().next() {
        return Err(Rejection::SchemaInvalid { field: problem.field, expected: problem.expected });
    }
    let named = settings.patience.named();
    if let Some(itself) = named.iter().find(|named| named.agent == agent.id) {
        let (field, expected) = (itself.field.clone(), "another queue".to_owned());
        return Err(Rejection::SchemaInvalid { field, expected });
    }
    check_kinds(&named, &context.facts.kinds)?;
    let is_same = agent.queue.as_deref() == Some(settings);
    Ok(if is_same { Vec::new() } else { vec![Event::QueueChanged(Box::new(settings.clone()))] })
}

fn read_notices(
    state: Option<&Agent>,
    (until, after): (&str, &str),
    caller: &Caller,
) -> Result<Vec<Event>, Rejection> {
    let agent = itself(state, caller)?;
    if agent.notices.read_until != after || until == after {
        return Ok(Vec::new());
    }
    Ok(vec![Event::NoticesRead(NoticesRead { until: until.to_owned() })])
}

fn mute_notices(
    state: Option<&Agent>,
    kinds: &BTreeSet<NoticeKind>,
    caller: &Caller,
) -> Result<Vec<Event>, Rejection> {
    let agent = itself(state, caller)?;
    if agent.notices.muted == *kinds {
        return Ok(Vec::new());
    }
    Ok(vec![Event::NoticesMuted(NoticesMuted { kinds: kinds.clone() })])
}

/// The agent, if it is the caller.
fn itself<'a>(state: Option<&'a Agent>, caller: &Caller) -> Result<&'a Agent, Rejection> {
    let agent = state.ok_or(Rejection::NotFound { what: "agent" })?;
    match caller.agent() == Some(&agent.id) {
        true => Ok(agent),
        false => Err(Rejection::NotAllowed { action: "read its notices", who: "the agent itself" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::NoticeSettings;
    use crate::caller::Principal;
    use crate::ids::{AgentId, TeamspaceId};

    /// Two calls at once both saw the same cursor: the second one must look again.
    #[test]
    fn a_cursor_of_notices_only_moves_from_where_the_caller_saw_it() {
        for (read, until, after, expected) in [
            ("", "c1", "", "c1"),
            ("c1", "c2", "c1", "c2"),
            ("c3", "c2", "c1", "c3"),
            ("c1", "c1", "c1", "c1"),
            ("c1", "c2", "", "c1"),
        ] {
            let name: AgentId = "bob".parse().unwrap();
            let principal = Principal::Agent(name.clone());
            let caller = Caller { principal, ..Caller::system(TeamspaceId::default_teamspace()) };
            let notices =
                NoticeSettings { read_until: read.to_owned(), ..NoticeSettings::default() };
            let profile = Profile::default();
            let agent =
                Agent { notices: notices.into(), ..Agent::new(name, Kind::Worker, profile) };
            let events = read_notices(Some(&agent), (until, after), &caller).unwrap();
            let read_until = events.first().map_or(read, |event| {
                let Event::NoticesRead(read) = event else { panic!("{event:?}") };
                &read.until
            });
            assert_eq!(read_until, expected, "{until} after {after} when {read} is read");
        }
    }
}
