//! An agent of the directory: anyone who can hold work.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Role};
use crate::ids::AgentId;
use crate::rejection::Rejection;
use crate::step::BadHistory;
use crate::wake;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    pub kind: Kind,
    pub profile: Profile,
    #[serde(default)]
    pub roles: BTreeSet<Role>,
    /// Called when it is sent something critical. Not shown: it may hold a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_url: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An AI specialist.
    Worker,
    /// A supervisor or router: never the target of a handoff.
    System,
    Human,
    /// A named pool of humans.
    Queue,
}

/// What an agent shows of itself. Written by operators only, because others read it as advice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// Whether the customer of a conversation may ask for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub user_selectable: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Adds an agent, or changes what a known one shows.
    Register { kind: Kind, profile: Profile },
    /// Says what a member is trusted with; what it was trusted with before ends.
    SetRoles { roles: BTreeSet<Role> },
    /// Says where it is called when it is sent something critical, or that it is not.
    SetWake { url: Option<String> },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Registered(Registered),
    RolesChanged(RolesChanged),
    WakeChanged(WakeChanged),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    pub kind: Kind,
    pub profile: Profile,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolesChanged {
    pub roles: BTreeSet<Role>,
    /// What it was trusted with until then. The first releases did not write it down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BTreeSet<Role>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeChanged {
    pub url: Option<String>,
}

/// A profile is a card, not a document.
pub const PROFILE_TEXT_BYTES_MAX: usize = 2_000;
pub const PROFILE_LIST_ITEMS_MAX: usize = 64;

pub fn decide(
    state: Option<&Agent>,
    command: &Command,
    caller: &Caller,
) -> Result<Vec<Event>, Rejection> {
    match command {
        Command::Register { kind, profile } => register(state, *kind, profile, caller),
        Command::SetRoles { roles } => set_roles(state, roles, caller),
        Command::SetWake { url } => set_wake(state, url.as_deref(), caller),
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
    check_profile(profile)?;
    match state {
        Some(agent) if agent.kind != kind => {
            Err(Rejection::AlreadyExists { what: "an agent of that id with another kind" })
        }
        Some(agent) if agent.profile == *profile => Ok(Vec::new()),
        Some(_) | None => {
            Ok(vec![Event::Registered(Registered { kind, profile: profile.clone() })])
        }
    }
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

pub fn evolve(id: AgentId, state: Option<Agent>, event: &Event) -> Result<Agent, BadHistory> {
    let bad = BadHistory { event: event.name() };
    match (state, event) {
        (Some(agent), Event::Registered(registered)) if agent.kind != registered.kind => Err(bad),
        (state, Event::Registered(registered)) => {
            let (roles, wake_url) =
                state.map(|agent| (agent.roles, agent.wake_url)).unwrap_or_default();
            let profile = registered.profile.clone();
            Ok(Agent { id, kind: registered.kind, profile, roles, wake_url })
        }
        (Some(agent), Event::RolesChanged(changed)) => {
            Ok(Agent { roles: changed.roles.clone(), ..agent })
        }
        (Some(agent), Event::WakeChanged(changed)) => {
            Ok(Agent { wake_url: changed.url.clone(), ..agent })
        }
        (None, Event::RolesChanged(_) | Event::WakeChanged(_)) => Err(bad),
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Registered(_) => "agent.registered",
            Event::RolesChanged(_) => "agent.roles_changed",
            Event::WakeChanged(_) => "agent.wake_changed",
        }
    }
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Worker => "worker",
            Kind::System => "system",
            Kind::Human => "human",
            Kind::Queue => "queue",
        }
    }
}

fn check_profile(profile: &Profile) -> Result<(), Rejection> {
    let invalid = |field: &str, expected: String| {
        Err(Rejection::SchemaInvalid { field: format!("profile.{field}"), expected })
    };
    for (field, text) in [("name", &profile.name), ("description", &profile.description)] {
        if text.len() > PROFILE_TEXT_BYTES_MAX {
            return invalid(field, format!("at most {PROFILE_TEXT_BYTES_MAX} bytes"));
        }
    }
    let lists = [("capabilities", &profile.capabilities), ("languages", &profile.languages)];
    for (field, list) in lists {
        let is_small = list.len() <= PROFILE_LIST_ITEMS_MAX
            && list.iter().all(|item| item.len() <= PROFILE_TEXT_BYTES_MAX);
        if !is_small {
            return invalid(field, format!("at most {PROFILE_LIST_ITEMS_MAX} short items"));
        }
    }
    Ok(())
}
