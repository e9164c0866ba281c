//! An agent of the directory: any party that can hold work.

pub mod presence;
pub mod profile;

use std::collections::BTreeSet;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Role};
use crate::fixed::Fixed;
use crate::ids::AgentId;
use crate::queue;
use crate::rejection::Rejection;
use crate::step::{BadHistory, Context, Directory, Needs};
use crate::time::Time;
use crate::wake;
use crate::warning::check_kinds;

pub use presence::{Attendance, Presence};
use presence::{Connected, ConnectionLost, Lost, PresenceChanged, Reach};
pub use profile::{AgentIdentity, Profile, Skill, free_slot, is_slot, slot_key, slot_prefix};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    pub kind: Kind,
    pub profile: Profile,
    #[serde(default)]
    pub roles: BTreeSet<Role>,
    /// Called when the agent is sent something critical. Shown to operators only: it may hold a
    /// password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_url: Option<String>,
    /// Where turns of a conversation are delivered. Shown to operators only: it may hold a
    /// password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Where a human is. Empty for other kinds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub attendance: Attendance,
    /// How a queue works, if that was configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Fixed<queue::Settings>>,
}

fn is_default(attendance: &Attendance) -> bool {
    *attendance == Attendance::default()
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Adds an agent, or changes what a known one shows.
    Register { kind: Kind, profile: Profile },
    /// Sets the roles of a member, in place of its old ones.
    SetRoles { roles: BTreeSet<Role> },
    /// Sets or removes the URL that is called when the agent is sent something critical.
    SetWake { url: Option<String> },
    /// Sets or removes the URL that turns are delivered to.
    SetEndpoint { url: Option<String> },
    /// Sets how a queue works.
    SetQueue { settings: Box<queue::Settings> },
    /// Sets where a human is.
    SetPresence { presence: Presence },
    /// The server has a connection to it, and had none before.
    Connect,
    /// The server has lost its last connection to it.
    LoseConnection,
    /// The time to reconnect is over.
    Elapse { due: Time },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Registered(Registered),
    RolesChanged(RolesChanged),
    WakeChanged(WakeChanged),
    EndpointChanged(EndpointChanged),
    QueueChanged(Box<queue::Settings>),
    PresenceChanged(PresenceChanged),
    Connected(Connected),
    ConnectionLost(ConnectionLost),
    Lost(Lost),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registered {
    pub kind: Kind,
    pub profile: Profile,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolesChanged {
    pub roles: BTreeSet<Role>,
    /// Its roles until then. The first releases did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<BTreeSet<Role>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WakeChanged {
    pub url: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointChanged {
    pub url: Option<String>,
}

pub fn decide(
    state: Option<&Agent>,
    command: &Command,
    context: Context<'_>,
) -> Result<Vec<Event>, Rejection> {
    let caller = context.caller;
    match command {
        Command::Register { kind, profile } => register(state, *kind, profile, caller),
        Command::SetRoles { roles } => set_roles(state, roles, caller),
        Command::SetWake { url } => set_wake(state, url.as_deref(), caller),
        Command::SetEndpoint { url } => set_endpoint(state, url.as_deref(), caller),
        Command::SetQueue { settings } => set_queue(state, settings, context),
        Command::SetPresence { presence } => presence::set(state, *presence, context),
        Command::Connect => presence::connected(state, caller),
        Command::LoseConnection => presence::connection_lost(state, context),
        Command::Elapse { due } => presence::elapse(state, *due, context),
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

fn set_endpoint(
    state: Option<&Agent>,
    url: Option<&str>,
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
    if agent.endpoint.as_deref() == url {
        return Ok(Vec::new());
    }
    Ok(vec![Event::EndpointChanged(EndpointChanged { url: url.map(str::to_owned) })])
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

pub fn evolve(id: AgentId, state: Option<Agent>, event: &Event) -> Result<Agent, BadHistory> {
    let bad = BadHistory { event: event.name() };
    let Some(agent) = state else {
        return match event {
            Event::Registered(Registered { kind, profile }) => {
                Ok(Agent::new(id, *kind, profile.clone()))
            }
            Event::RolesChanged(_)
            | Event::WakeChanged(_)
            | Event::EndpointChanged(_)
            | Event::QueueChanged(_)
            | Event::PresenceChanged(_)
            | Event::Connected(_)
            | Event::ConnectionLost(_)
            | Event::Lost(_) => Err(bad),
        };
    };
    match event {
        Event::Registered(registered) if agent.kind != registered.kind => Err(bad),
        Event::Registered(registered) => Ok(Agent { profile: registered.profile.clone(), ..agent }),
        Event::RolesChanged(changed) => Ok(Agent { roles: changed.roles.clone(), ..agent }),
        Event::WakeChanged(changed) => Ok(Agent { wake_url: changed.url.clone(), ..agent }),
        Event::EndpointChanged(changed) => Ok(Agent { endpoint: changed.url.clone(), ..agent }),
        Event::QueueChanged(settings) => {
            Ok(Agent { queue: Some(Fixed::from(settings.as_ref().clone())), ..agent })
        }
        Event::PresenceChanged(changed) => Ok(agent.attending(|was| was.said(changed))),
        Event::Connected(_) => Ok(agent.attending(|was| was.reached(Reach::Connected))),
        Event::ConnectionLost(lost) => Ok(agent.attending(|was| was.without_connection(lost))),
        Event::Lost(_) => Ok(agent.attending(|was| was.reached(Reach::Gone))),
    }
}

impl Agent {
    /// An agent with nothing but its profile.
    pub fn new(id: AgentId, kind: Kind, profile: Profile) -> Self {
        Self {
            id,
            kind,
            profile,
            roles: BTreeSet::new(),
            wake_url: None,
            endpoint: None,
            attendance: Attendance::default(),
            queue: None,
        }
    }

    /// How a queue works: its own settings, or the defaults.
    pub fn queue_settings(&self) -> queue::Settings {
        self.queue.as_deref().cloned().unwrap_or_default()
    }

    fn attending(self, change: impl FnOnce(Attendance) -> Attendance) -> Self {
        Self { attendance: change(self.attendance), ..self }
    }
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self {
            Event::Registered(_) => "agent.registered",
            Event::RolesChanged(_) => "agent.roles_changed",
            Event::WakeChanged(_) => "agent.wake_changed",
            Event::EndpointChanged(_) => "agent.endpoint_changed",
            Event::QueueChanged(_) => "agent.queue_changed",
            Event::PresenceChanged(_) => "agent.presence_changed",
            Event::Connected(_) => "agent.connected",
            Event::ConnectionLost(_) => "agent.connection_lost",
            Event::Lost(_) => "agent.lost",
        }
    }
}

impl Command {
    /// The facts it needs besides the agent: the kinds of the queues that a queue forwards to.
    pub fn needs(&self) -> Needs {
        let directory = match self {
            Command::SetQueue { settings } => {
                let named = settings.patience.named().into_iter().map(|named| named.agent);
                Some(Directory::Named(named.collect()))
            }
            Command::Register { .. }
            | Command::SetRoles { .. }
            | Command::SetWake { .. }
            | Command::SetEndpoint { .. }
            | Command::SetPresence { .. }
            | Command::Connect
            | Command::LoseConnection
            | Command::Elapse { .. } => None,
        };
        Needs { directory, ..Needs::default() }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Command::Register { .. } => "register",
            Command::SetRoles { .. } => "set_roles",
            Command::SetWake { .. } => "set_wake",
            Command::SetEndpoint { .. } => "set_endpoint",
            Command::SetQueue { .. } => "set_queue",
            Command::SetPresence { .. } => "set_presence",
            Command::Connect => "connect",
            Command::LoseConnection => "lose_connection",
            Command::Elapse { .. } => "miss",
        }
    }
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Worker, Kind::System, Kind::Human, Kind::Queue];

    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Worker => "worker",
            Kind::System => "system",
            Kind::Human => "human",
            Kind::Queue => "queue",
        }
    }
}

impl FromStr for Kind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Kind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| "expected worker, system, human or queue".to_owned())
    }
}
