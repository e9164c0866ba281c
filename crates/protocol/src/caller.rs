//! The caller of a command. A gateway makes a `Caller` from a credential, or the engine makes one
//! for its own timers; nothing in a request body can change it.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, TeamspaceId};

/// The authenticated party behind a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub teamspace: TeamspaceId,
    pub principal: Principal,
    pub roles: BTreeSet<Role>,
    /// The caller's runtime session, for provenance.
    pub session: String,
}

/// What kind of party it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Principal {
    /// An agent of the directory.
    Agent(AgentId),
    /// Runs the server: manages agents and tokens, and may do all that a coordinator may.
    Operator(AgentId),
    /// A customer of a conversation, who takes no part in handoffs.
    Customer(AgentId),
    /// The server's own timers.
    System,
}

/// A role of a member of a teamspace.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Coordinator,
    Researcher,
    Executor,
    Reviewer,
    Integrator,
}

impl Caller {
    /// The server itself, acting in a teamspace because a deadline passed.
    pub fn system(teamspace: TeamspaceId) -> Self {
        Self {
            teamspace,
            principal: Principal::System,
            roles: BTreeSet::new(),
            session: "system".to_owned(),
        }
    }

    pub fn agent(&self) -> Option<&AgentId> {
        match &self.principal {
            Principal::Agent(id) => Some(id),
            Principal::Operator(_) | Principal::Customer(_) | Principal::System => None,
        }
    }

    pub fn is_coordinator(&self) -> bool {
        match &self.principal {
            Principal::Operator(_) => true,
            Principal::Agent(_) => self.roles.contains(&Role::Coordinator),
            Principal::Customer(_) | Principal::System => false,
        }
    }

    pub fn is_operator(&self) -> bool {
        matches!(self.principal, Principal::Operator(_))
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Principal::Agent(id) => write!(f, "agent:{id}"),
            Principal::Operator(id) => write!(f, "operator:{id}"),
            Principal::Customer(id) => write!(f, "customer:{id}"),
            Principal::System => f.write_str("system"),
        }
    }
}

/// Reads what [`Display`](fmt::Display) writes, as the record names principals.
impl FromStr for Principal {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected `agent:`, `operator:` or `customer:` and a name".to_owned();
        if text == "system" {
            return Ok(Principal::System);
        }
        let (kind, name) = text.split_once(':').ok_or_else(expected)?;
        let name = name.parse::<AgentId>().map_err(|_| expected())?;
        match kind {
            "agent" => Ok(Principal::Agent(name)),
            "operator" => Ok(Principal::Operator(name)),
            "customer" => Ok(Principal::Customer(name)),
            _ => Err(expected()),
        }
    }
}

impl Role {
    pub const ALL: [Role; 5] =
        [Role::Coordinator, Role::Researcher, Role::Executor, Role::Reviewer, Role::Integrator];

    pub fn as_str(self) -> &'static str {
        match self {
            Role::Coordinator => "coordinator",
            Role::Researcher => "researcher",
            Role::Executor => "executor",
            Role::Reviewer => "reviewer",
            Role::Integrator => "integrator",
        }
    }
}

impl FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Role::ALL.into_iter().find(|role| role.as_str() == text).ok_or_else(|| {
            "expected coordinator, researcher, executor, reviewer or integrator".to_owned()
        })
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
