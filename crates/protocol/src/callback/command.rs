//! The commands of a callback, and the facts that they need.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::conversation::state::Conversation;
use crate::form;
use crate::ids::AgentId;
use crate::needs::{Directory, Needs, QueueOf};
use crate::notes::NOTES_BYTES_MAX;
use crate::time::Time;

/// Room for a number, an address or a link, not for a letter.
pub const CONTACT_BYTES_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Ask(Box<Ask>),
    Settle(Settle),
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    /// The queue whose people call. When absent: that of the waiting transfer, or the teamspace's
    /// default. A customer names one only if the conversation or its graph lets customers do so.
    #[serde(default)]
    pub queue: Option<AgentId>,
    /// How to reach the customer: a number, an address. One line of 1 to 200 bytes.
    #[schemars(transform = form::line(CONTACT_BYTES_MAX))]
    pub contact: String,
    /// What it is about.
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub note: Option<String>,
    /// Not earlier than this; at most 30 days ahead.
    #[serde(default)]
    pub not_before: Option<Time>,
    /// The epoch for which an agent asks. Customers have none.
    #[serde(default)]
    pub epoch: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// The result of the call.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub outcome: String,
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Ask(_) => "ask_callback",
            Command::Settle(_) => "settle_callback",
        }
    }

    pub fn needs(&self, state: Option<&Conversation>) -> Needs {
        match self {
            Command::Ask(ask) => {
                let waits = state.and_then(Conversation::waiting_transfer);
                let named = ask.queue.as_ref().or(waits.map(|transfer| &transfer.queue));
                let queue = named.cloned().map_or(QueueOf::Default, QueueOf::Named);
                // The previous holder gets the conversation back and is told so at its endpoint.
                let back = waits.map(|it| Directory::Named(vec![it.terms.previous.clone()]));
                let names_one = ask.queue.is_some() || back.is_some();
                let graph = state.and_then(|state| state.setup.graph.clone());
                let graph = graph.filter(|_| names_one);
                let (queue, settings) = (Some(queue), true);
                Needs { queue, directory: back, graph, settings, ..Needs::default() }
            }
            Command::Settle(_) => {
                let open = state.and_then(|conversation| conversation.callback.as_deref());
                let queue = open.map(|callback| QueueOf::Named(callback.queue.clone()));
                Needs { caller: true, queue, ..Needs::default() }
            }
        }
    }
}
