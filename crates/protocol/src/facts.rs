//! The facts that a decision needs besides its own aggregate.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::agent::state::Agent;
use crate::aggregate::Event;
use crate::caller::Caller;
use crate::conversation::graph::TurnFacts;
use crate::conversation::state::Conversation;
use crate::graph::ready::Ready;
use crate::ids::AgentId;
use crate::message::state::Message;
use crate::needs::SlotOf;
use crate::session::event::Said;
use crate::stored::HoldState;
use crate::teamspace::Settings;
use crate::time::{Span, Time};
use crate::warning::Kinds;
use aaep::machine::Audience;

/// Everything a decision may look at besides its own aggregate.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    pub caller: &'a Caller,
    pub now: Time,
    pub facts: &'a Facts,
}

/// The facts that a decision needs besides its own aggregate. They are read before and passed in.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    pub agent: Option<Agent>,
    /// The caller's entry in the directory.
    pub caller: Option<Agent>,
    /// Empty as long as all holds are assumed to be free.
    pub holds: Holds,
    pub document: Option<String>,
    /// The requested agents that exist in the directory.
    pub directory: Vec<AgentId>,
    /// The kinds of the agents that were requested by name.
    pub kinds: Kinds,
    /// Those of them that have a wake URL.
    pub wakeable: Vec<AgentId>,
    /// Those of them that get turns at an endpoint.
    pub at_endpoint: Vec<AgentId>,
    /// How long those of them have to answer a customer that have a limit of their own.
    pub answer_within: BTreeMap<AgentId, Span>,
    /// Who may be asked when a holder is silent or out of reach: the agents and queues that the
    /// graph names, the supervisor and the default queue, as far as they exist.
    pub fallbacks: Vec<Agent>,
    /// The queues that the customer may ask, as far as they exist.
    pub customer_queues: Vec<Agent>,
    pub message: Option<Message>,
    /// The settings of the teamspace.
    pub settings: Settings,
    /// The lowest free slot for each that was requested; missing if none is free, or if any number
    /// is allowed.
    pub slots: BTreeMap<SlotOf, u16>,
    /// The requested queue.
    pub queue: Option<Agent>,
    pub graph: Option<Arc<Ready>>,
    pub turn: Option<Box<TurnFacts>>,
    /// The related conversation; shared, not copied.
    pub conversation: Option<Arc<Conversation>>,
    /// Whether a listener could have answered the question whose time is over.
    pub audience: Audience,
    /// Whether the caller may read one of the requested things.
    pub may_read_any: bool,
    /// What the entry records that is to be erased; `None` if it was erased before.
    pub entry: Option<Box<Event>>,
    /// The requested line of the transcript; `None` if there is none, or if it was erased.
    pub line: Option<Box<Event>>,
}

impl Facts {
    pub fn slot(&self, of: &SlotOf) -> Option<u16> {
        self.slots.get(of).copied()
    }
}

/// The holds that were read for a decision, and the entries of its stream that they name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Holds {
    /// By key; a free one is missing.
    pub taken: HashMap<String, HoldState>,
    /// The events of a session's entries that they name, by position; an erased one is missing.
    pub announced: HashMap<u64, Vec<Said>>,
}

impl Facts {
    /// How long an agent has to answer a customer, if it has a limit of its own.
    pub fn answer_within(&self, agent: &AgentId) -> Option<Span> {
        let turn = self.turn.as_deref();
        let of_turn = turn.into_iter().flat_map(|it| it.target.iter().chain(&it.holder));
        let mut known = self.agent.iter().chain(&self.fallbacks).chain(of_turn);
        let known = known.find(|known| known.id == *agent);
        known.map_or_else(
            || self.answer_within.get(agent).copied(),
            |known| known.profile.answer_within,
        )
    }
}

impl Holds {
    pub fn get(&self, key: &str) -> &HoldState {
        static FREE: HoldState = HoldState { holder: None, value: None };
        self.taken.get(key).unwrap_or(&FREE)
    }

    pub fn is_taken(&self, key: &str) -> bool {
        self.taken.contains_key(key)
    }
}
