//! The commands of a conversation.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::customer_text::CUSTOMER_TEXT_BYTES_MAX;
use super::part::{PARTS_MAX, Part};
use super::state::{Conversation, Customer};
use super::topology::{HOPS_MAX_MAX, Level, Topology};
use crate::agent::{Agent, Kind};
use crate::conversation::loop_guard::is_stopped;
use crate::conversation::state::ATTRIBUTES_MAX;
use crate::conversation::turn_asked::TurnAsked;
use crate::ids::{AgentId, GraphId};
use crate::json::INTEGER_MAX;
use crate::needs::{Directory, Needs, QueueOf};
use crate::notes::NOTES_BYTES_MAX;
use crate::route::graph::{CUSTOMER_QUEUES_MAX, HUMAN, Scalar};
use crate::route::limits::LABEL_BYTES_MAX;
use crate::signal::{EscalationRules, SignalKind, SignalScore};
use crate::time::Time;
use crate::warning::Named;
use crate::{callback, form, transfer};

#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Open(Box<Open>),
    Say(Say),
    /// The holder hands it on, changes what the agents share, or ends it.
    Route(Box<Route>),
    /// The customer chooses the agent.
    Select {
        agent: AgentId,
    },
    Close {
        reason: Option<String>,
    },
    /// A program outside scores how a message of the customer sounds.
    ObserveSignals(ObserveSignals),
    /// A command about a transfer to a person.
    Transfer(transfer::Command),
    /// A command about a callback.
    Callback(callback::Command),
    /// The holder got all messages up to this number at its endpoint.
    Delivered {
        epoch: u64,
        through: u64,
    },
    /// The delivery to the endpoint failed.
    NotDelivered {
        epoch: u64,
        through: u64,
        detail: String,
    },
    /// The holder shows that it is working on its answer.
    ShowProgress {
        epoch: Option<u64>,
    },
    /// The time of the bot that holds it is over.
    MissAnswer {
        due: Time,
    },
    /// The time of the person who answers is over.
    RemindPerson {
        due: Time,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    #[serde(default)]
    pub customer: Customer,
    /// The first holder. When absent: the one that the topology or the graph names.
    #[serde(default)]
    pub agent: Option<AgentId>,
    #[serde(default)]
    pub topology: Topology,
    /// The graph that routes each message of the customer, instead of a topology.
    #[serde(default)]
    pub graph: Option<GraphId>,
    /// Values that the rules of a graph can test, by name.
    #[serde(default)]
    #[schemars(transform = attributes)]
    pub attributes: BTreeMap<String, Scalar>,
    /// The queues that the customer may name, besides those of the graph; none when absent.
    #[serde(default)]
    #[schemars(transform = form::items(0, CUSTOMER_QUEUES_MAX))]
    pub customer_queues: Vec<AgentId>,
    /// When a person is called because of how the customer sounds, in a conversation without a
    /// graph.
    #[serde(default)]
    pub signals: EscalationRules,
    /// How often it may change hands until the customer speaks again; 8 when absent.
    #[serde(default)]
    #[schemars(transform = form::range(1, HOPS_MAX_MAX))]
    pub hops_max: Option<u16>,
}

impl Open {
    /// All agents that it names besides the holder. Kinds never change, so an agent of the wrong
    /// kind can never work.
    pub fn named(&self) -> Vec<Named> {
        let mut named = self.topology.named();
        let numbered = self.customer_queues.iter().enumerate();
        named.extend(numbered.map(|(index, queue)| Named {
            field: format!("customer_queues[{index}]"),
            agent: queue.clone(),
            wanted: &[Kind::Queue],
        }));
        named
    }
}

fn attributes(schema: &mut Schema) {
    form::names(ATTRIBUTES_MAX, form::bytes_from(1, LABEL_BYTES_MAX))(schema);
    form::each_value(form::scalar(LABEL_BYTES_MAX))(schema);
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Say {
    #[schemars(transform = form::items(1, PARTS_MAX))]
    pub parts: Vec<Part>,
    /// The epoch for which an agent speaks. Customers have none.
    #[serde(default)]
    pub epoch: Option<u64>,
    /// The message that it answers. Each is answered once.
    #[serde(default)]
    #[schemars(transform = form::range(1, INTEGER_MAX))]
    pub in_reply_to: Option<u64>,
}

/// How a message of the customer sounds, by a program outside.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ObserveSignals {
    /// The number of the message.
    #[schemars(transform = form::range(1, INTEGER_MAX))]
    pub message: u64,
    /// The scores, each signal at most once. The others keep the score that they have.
    #[schemars(transform = form::items(1, SignalKind::ALL.len()))]
    pub signals: Vec<SignalScore>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The agent that gets the conversation, or `human` for a person. When absent, the holder
    /// keeps it.
    #[serde(default)]
    pub goto: Option<AgentId>,
    /// With `human`: the queue where the customer waits; the teamspace's default queue when
    /// absent.
    #[serde(default)]
    pub queue: Option<AgentId>,
    /// Said to the customer first, as a message of the holder.
    #[serde(default)]
    #[schemars(transform = form::items(0, PARTS_MAX))]
    pub parts: Vec<Part>,
    /// Whether the conversation ends. Not together with `goto`.
    #[serde(default)]
    pub end: bool,
    /// Changes to the data that the agents share, by name; `null` removes a name.
    #[serde(default)]
    pub update: Map<String, Value>,
    #[serde(default)]
    pub graph: Level,
    /// Why, for colleagues.
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub reason: Option<String>,
    /// What the customer is told instead; a sentence in their language when absent.
    #[serde(default)]
    #[schemars(transform = form::text(CUSTOMER_TEXT_BYTES_MAX))]
    pub customer_text: Option<String>,
    /// What the next agent must know.
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub context: Option<String>,
    #[serde(default)]
    pub epoch: Option<u64>,
    /// The message that `parts` answer, if the holder keeps the conversation.
    #[serde(default)]
    #[schemars(transform = form::range(1, INTEGER_MAX))]
    pub in_reply_to: Option<u64>,
    /// Asks for a person also where an agent is called `human`.
    #[serde(skip)]
    pub is_for_person: bool,
}

/// What the endpoint of a holder answers to a turn: a message, and what else the holder does.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TurnAnswer {
    #[serde(default)]
    #[schemars(transform = form::items(0, PARTS_MAX))]
    pub parts: Vec<Part>,
    #[serde(default)]
    pub goto: Option<AgentId>,
    #[serde(default)]
    pub queue: Option<AgentId>,
    #[serde(default)]
    pub end: bool,
    #[serde(default)]
    pub update: Map<String, Value>,
    #[serde(default)]
    pub graph: Level,
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub reason: Option<String>,
    #[serde(default)]
    #[schemars(transform = form::text(CUSTOMER_TEXT_BYTES_MAX))]
    pub customer_text: Option<String>,
    #[serde(default)]
    #[schemars(transform = form::bytes(NOTES_BYTES_MAX))]
    pub context: Option<String>,
}

impl TurnAnswer {
    /// The command of the holder for this epoch.
    pub fn command(self, epoch: u64, in_reply_to: Option<u64>) -> Command {
        let TurnAnswer { parts, goto, queue, end, update, .. } = self;
        let TurnAnswer { graph, reason, customer_text, context, .. } = self;
        let about = [&reason, &customer_text, &context];
        let does_more = goto.is_some() || queue.is_some() || end || !update.is_empty();
        if !does_more && about.iter().all(|text| text.is_none()) {
            let say = Say { parts, epoch: Some(epoch), in_reply_to };
            return Command::Say(say);
        }
        Command::Route(Box::new(Route {
            goto,
            queue,
            parts,
            end,
            update,
            graph,
            reason,
            customer_text,
            context,
            epoch: Some(epoch),
            in_reply_to,
            is_for_person: false,
        }))
    }
}

impl Route {
    /// Whether it asks for a person, if this is the agent that `goto` names.
    pub fn asks_for_person(&self, named: Option<&Agent>) -> bool {
        self.is_for_person || (self.names_person() && named.is_none())
    }

    /// The queue where the customer may wait. A loop that is stopped ends with a person.
    fn queue_in(&self, state: Option<&Conversation>) -> Option<QueueOf> {
        let conversation = state?;
        if self.names_person() {
            return Some(self.queue.clone().map_or(QueueOf::Default, QueueOf::Named));
        }
        let is_stopped = self.goto.as_ref().is_some_and(|to| is_stopped(conversation, to));
        is_stopped.then_some(QueueOf::Default)
    }

    /// The supervisor that steps in where it hands the conversation round too often.
    fn supervisor_in<'c>(&self, state: Option<&'c Conversation>) -> Option<&'c AgentId> {
        let conversation = state?;
        let is_too_much = self.goto.as_ref().is_some_and(|to| conversation.is_too_much(to));
        is_too_much.then(|| conversation.setup.topology.supervisor()).flatten()
    }

    /// Whether it may ask for a person.
    fn names_person(&self) -> bool {
        self.is_for_person || self.goto.as_ref().is_some_and(|goto| goto.as_str() == HUMAN)
    }
}

impl Command {
    pub fn name(&self) -> &'static str {
        match self {
            Command::Open(_) => "open",
            Command::Say(_) => "say",
            Command::Route(_) => "route",
            Command::Select { .. } => "select_agent",
            Command::Close { .. } => "close_conversation",
            Command::ObserveSignals(_) => "observe_signals",
            Command::Transfer(command) => command.name(),
            Command::Callback(command) => command.name(),
            Command::Delivered { .. } => "delivered",
            Command::NotDelivered { .. } => "not_delivered",
            Command::ShowProgress { .. } => "show_progress",
            Command::MissAnswer { .. } => "miss_answer",
            Command::RemindPerson { .. } => "remind_person",
        }
    }

    /// The facts it needs besides the conversation: the next holder, the graph's answer, the limits
    /// of bots, and whether turns reach at an endpoint the agent that must be told.
    pub fn needs(&self, state: Option<&Conversation>) -> Needs {
        let told = |agent: Option<&AgentId>| Some(Directory::Named(vec![agent?.clone()]));
        let graph = || state.and_then(|conversation| conversation.setup.graph.clone());
        // Who is asked when the holder fails, besides those whom the graph names.
        let fallbacks = || {
            let supervisor = state?.setup.topology.supervisor();
            Some(supervisor.into_iter().cloned().collect())
        };
        let needs = match self {
            Command::Open(open) => {
                let agent = open.agent.clone().or_else(|| open.topology.first().cloned());
                let named = open.named().into_iter().map(|named| named.agent).collect();
                let directory = Some(Directory::Named(named));
                Needs { agent, graph: open.graph.clone(), directory, ..Needs::default() }
            }
            Command::Say(say) => {
                let turn = state.and_then(|conversation| TurnAsked::about(conversation, say));
                // The graph has words by which a bot promises a transfer.
                let graph = say.epoch.and_then(|_| graph());
                let directory = told(state.map(|it| &it.holder));
                Needs { turn, graph, directory, ..Needs::default() }
            }
            Command::Route(route) => {
                let (agent, queue) = (route.goto.clone(), route.queue_in(state));
                // Its words are those of the holder, who has a limit of its own.
                let holder = state.map(|it| &it.holder);
                let named = route.supervisor_in(state).into_iter().chain(holder);
                let directory = Some(Directory::Named(named.cloned().collect()));
                Needs { agent, queue, directory, graph: graph(), ..Needs::default() }
            }
            Command::Select { agent } => {
                Needs { agent: Some(agent.clone()), graph: graph(), ..Needs::default() }
            }
            Command::Transfer(command) => return needs_of_transfer(command, state),
            Command::Callback(command) => return command.needs(state),
            Command::ObserveSignals(observe) => {
                let line = Some(observe.message);
                let queue = state.map(|_| QueueOf::Graph);
                let directory = told(state.map(|it| &it.holder));
                Needs { queue, directory, line, graph: graph(), ..Needs::default() }
            }
            Command::NotDelivered { .. } => {
                Needs { fallbacks: fallbacks(), graph: graph(), ..Needs::default() }
            }
            Command::MissAnswer { .. } => {
                let customer_queues = state.map(|it| it.setup.customer_queues.clone());
                let (fallbacks, graph) = (fallbacks(), graph());
                Needs { fallbacks, customer_queues, graph, ..Needs::default() }
            }
            Command::Delivered { .. }
            | Command::ShowProgress { .. }
            | Command::RemindPerson { .. }
            | Command::Close { .. } => Needs::default(),
        };
        Needs { settings: true, ..needs }
    }
}

/// What a command about a transfer needs. A bot that gets the conversation back has a limit.
fn needs_of_transfer(command: &transfer::Command, state: Option<&Conversation>) -> Needs {
    let transfer = state.and_then(Conversation::open_transfer);
    let overflow = transfer.and_then(|it| it.overflow.as_ref()).map(|it| &it.to);
    let last = state.and_then(|conversation| conversation.transfer.as_deref());
    let waits_in = last.map(|it| it.waiting().map_or(&it.queue, |waiting| waiting.queue));
    let ended = transfer.filter(|_| command.may_end_it());
    let directory = ended.map(|it| Directory::Named(vec![it.terms.previous.clone()]));
    let graph = command.queue().and_then(|_| state?.setup.graph.clone());
    let graph = graph.or_else(|| ended.and_then(|_| state?.setup.graph.clone()));
    let needs = command.needs(overflow, waits_in);
    Needs { directory, graph, settings: true, ..needs }
}
