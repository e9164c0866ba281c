//! What can be asked of a conversation.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::part::Part;
use super::state::{Conversation, Customer};
use super::topology::{Level, Topology};
use crate::ids::AgentId;
use crate::step::{Directory, Needs};

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Open(Box<Open>),
    Say(Say),
    /// The holder hands it to another AI agent.
    Route(Box<Route>),
    /// The customer chooses who shall answer.
    Select {
        agent: AgentId,
    },
    Close {
        reason: Option<String>,
    },
    /// The holder was told at its endpoint what was said up to here.
    Delivered {
        epoch: u64,
        through: u64,
    },
    /// It was tried, and in vain.
    NotDelivered {
        epoch: u64,
        through: u64,
        detail: String,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    #[serde(default)]
    pub customer: Customer,
    /// Who holds it first; whom the topology says when absent.
    #[serde(default)]
    pub agent: Option<AgentId>,
    #[serde(default)]
    pub topology: Topology,
    /// How often it may change hands until the customer speaks again; 8 when absent.
    #[serde(default)]
    pub hops_max: Option<u16>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Say {
    pub parts: Vec<Part>,
    /// The epoch for which an agent speaks. Customers have none.
    #[serde(default)]
    pub epoch: Option<u64>,
    /// The message that it answers. Each is answered once.
    #[serde(default)]
    pub in_reply_to: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub goto: AgentId,
    /// What changes in what the agents share, by name; `null` takes a name away.
    #[serde(default)]
    pub update: Map<String, Value>,
    #[serde(default)]
    pub graph: Level,
    #[serde(default)]
    pub reason: Option<String>,
    /// What the next agent must know.
    #[serde(default)]
    pub context: Option<String>,
    #[serde(default)]
    pub epoch: Option<u64>,
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Open(_) => "open",
            Command::Say(_) => "say",
            Command::Route(_) => "route",
            Command::Select { .. } => "select_agent",
            Command::Close { .. } => "close_conversation",
            Command::Delivered { .. } => "delivered",
            Command::NotDelivered { .. } => "not_delivered",
        }
    }

    /// What to read besides the conversation: the agent that shall hold it, and whether turns reach
    /// whoever holds it then at an endpoint.
    pub fn needs(&self, state: Option<&Conversation>) -> Needs {
        let agent = match self {
            Command::Open(open) => open.agent.clone().or_else(|| open.topology.first().cloned()),
            Command::Route(route) => Some(route.goto.clone()),
            Command::Select { agent } => Some(agent.clone()),
            Command::Say(_)
            | Command::Close { .. }
            | Command::Delivered { .. }
            | Command::NotDelivered { .. } => None,
        };
        let directory = self.told_next(state).map(|agent| Directory::Named(vec![agent.clone()]));
        Needs { agent, directory, ..Needs::default() }
    }

    /// Who must be told besides the agent that is named: the holder when the customer speaks, who
    /// has no epoch, and the supervisor where it steps in.
    fn told_next<'a>(&self, state: Option<&'a Conversation>) -> Option<&'a AgentId> {
        let conversation = state?;
        match self {
            Command::Say(say) => say.epoch.is_none().then_some(&conversation.holder),
            Command::Route(route) if conversation.is_too_much(&route.goto) => {
                conversation.setup.topology.supervisor()
            }
            Command::NotDelivered { .. } => conversation.setup.topology.supervisor(),
            Command::Open(_)
            | Command::Route(_)
            | Command::Select { .. }
            | Command::Close { .. }
            | Command::Delivered { .. } => None,
        }
    }
}
