//! Who may hand a conversation to whom.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::agent::Kind;
use crate::form;
use crate::ids::AgentId;
use crate::rejection::Rejection;
use crate::warning::Named;

/// A team is a handful; more than this is a directory.
pub const MEMBERS_MAX: usize = 64;

/// How often a conversation may change hands until the customer speaks again.
pub const HOPS_MAX_DEFAULT: u16 = 8;
pub const HOPS_MAX_MAX: u16 = 64;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Topology {
    /// Any worker to any other.
    #[default]
    Free,
    /// The supervisor to its workers, and they back to it.
    Supervisor {
        supervisor: AgentId,
        #[schemars(transform = members)]
        workers: Vec<AgentId>,
    },
    /// Each member to every other.
    Swarm {
        #[schemars(transform = members)]
        members: Vec<AgentId>,
        default_agent: AgentId,
    },
}

fn members(schema: &mut Schema) {
    form::items(1, MEMBERS_MAX)(schema);
    schema.insert("uniqueItems".to_owned(), true.into());
}

/// The level at which a target is looked up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The targets that the holder itself may hand to.
    #[default]
    Here,
    /// The targets that the holder's supervisor may hand to, and the supervisor.
    Parent,
}

impl Topology {
    /// The first holder, unless the caller names another agent.
    pub fn first(&self) -> Option<&AgentId> {
        match self {
            Topology::Free => None,
            Topology::Supervisor { supervisor, .. } => Some(supervisor),
            Topology::Swarm { default_agent, .. } => Some(default_agent),
        }
    }

    /// The field that names the first holder.
    pub fn first_field(&self) -> &'static str {
        match self {
            Topology::Free => "agent",
            Topology::Supervisor { .. } => "topology.supervisor",
            Topology::Swarm { .. } => "topology.default_agent",
        }
    }

    pub fn supervisor(&self) -> Option<&AgentId> {
        match self {
            Topology::Supervisor { supervisor, .. } => Some(supervisor),
            Topology::Free | Topology::Swarm { .. } => None,
        }
    }

    /// All agents that it names. Kinds never change, so an agent of the wrong kind can never work.
    pub fn named(&self) -> Vec<Named> {
        let workers = |list: &str, agents: &[AgentId]| {
            let numbered = agents.iter().enumerate();
            let named = numbered.map(|(index, agent)| Named {
                field: format!("topology.{list}[{index}]"),
                agent: agent.clone(),
                wanted: &[Kind::Worker],
            });
            named.collect::<Vec<_>>()
        };
        match self {
            Topology::Free => Vec::new(),
            Topology::Supervisor { supervisor, workers: led } => {
                let (field, agent) = ("topology.supervisor".to_owned(), supervisor.clone());
                let wanted = &[Kind::Worker, Kind::System];
                let mut named = vec![Named { field, agent, wanted }];
                named.extend(workers("workers", led));
                named
            }
            Topology::Swarm { members, .. } => workers("members", members),
        }
    }

    pub fn has(&self, agent: &AgentId) -> bool {
        match self {
            Topology::Free => false,
            Topology::Supervisor { supervisor, workers } => {
                supervisor == agent || workers.contains(agent)
            }
            Topology::Swarm { members, .. } => members.contains(agent),
        }
    }

    /// Whether the holder may hand to this agent.
    pub fn allows(&self, holder: &AgentId, to: &AgentId, level: Level) -> bool {
        match self {
            Topology::Free => true,
            Topology::Supervisor { supervisor, workers } => match level {
                Level::Here if holder == supervisor => workers.contains(to),
                Level::Here => to == supervisor,
                Level::Parent => to == supervisor || workers.contains(to),
            },
            Topology::Swarm { members, .. } => members.contains(to),
        }
    }

    pub fn check(&self) -> Result<(), Rejection> {
        let invalid = |field: &str, expected: &str| {
            Err(Rejection::SchemaInvalid {
                field: format!("topology.{field}"),
                expected: expected.to_owned(),
            })
        };
        let (field, members) = match self {
            Topology::Free => return Ok(()),
            Topology::Supervisor { workers, .. } => ("workers", workers),
            Topology::Swarm { members, .. } => ("members", members),
        };
        if members.is_empty() || members.len() > MEMBERS_MAX {
            return invalid(field, &format!("1 to {MEMBERS_MAX} agents"));
        }
        let is_twice = |(index, one): (usize, &AgentId)| members[..index].contains(one);
        if members.iter().enumerate().any(is_twice) {
            return invalid(field, "no agent twice");
        }
        match self {
            Topology::Supervisor { supervisor, workers } if workers.contains(supervisor) => {
                invalid("workers", "the agents that the supervisor leads, without itself")
            }
            Topology::Swarm { members, default_agent } if !members.contains(default_agent) => {
                invalid("default_agent", "one of the members")
            }
            Topology::Free | Topology::Supervisor { .. } | Topology::Swarm { .. } => Ok(()),
        }
    }
}
