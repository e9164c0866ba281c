//! One conversation, and a script that runs against it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::agent::{Agent, Kind, Profile};
use crate::caller::{Caller, Principal, Role};
use crate::codec;
use crate::conversation::command::{Command, ObserveSignals, Open, Route, Say};
use crate::conversation::graph::TurnFacts;
use crate::conversation::state::{Conversation, customer_name};
use crate::graph::Ready;
use crate::ids::{AgentId, ConversationId, TeamspaceId};
use crate::ledger::{Recorded, Stream, Subject};
use crate::rejection::Rejection;
use crate::signal::hear;
use crate::step::{self, Change, Context, Directory, Facts, State};
use crate::teamspace::Settings;
use crate::time::{Span, Time};
use crate::transfer::command::{self as transfer, Act};

pub struct World {
    pub state: Option<State>,
    /// The graph of the teamspace, if there is one.
    pub graph: Option<Arc<Ready>>,
    /// The events that the last line recorded, and its rejection.
    pub recorded: Vec<&'static str>,
    pub bodies: Vec<Value>,
    pub detail: String,
    pub now: Time,
    /// The queue of people; `None` if no person can be asked.
    pub queue: Option<Agent>,
    /// The limits of agents that have one of their own.
    pub limits: BTreeMap<AgentId, Span>,
    pub settings: Settings,
    /// The lines of the transcript, by number.
    lines: BTreeMap<u64, step::Event>,
}

impl World {
    pub fn new() -> Self {
        let now = "2026-02-21T14:00:00Z".parse().expect("a time");
        Self {
            state: None,
            graph: None,
            recorded: Vec::new(),
            bodies: Vec::new(),
            detail: String::new(),
            now,
            queue: None,
            limits: BTreeMap::new(),
            settings: Settings::default(),
            lines: BTreeMap::new(),
        }
    }

    /// A world in which people can be asked for.
    pub fn with_people() -> Self {
        let queue = "default".parse().expect("a name");
        Self { queue: Some(Agent::new(queue, Kind::Queue, Profile::default())), ..Self::new() }
    }

    pub fn conversation(&self) -> &Conversation {
        match &self.state {
            Some(State::Conversation(conversation)) => conversation,
            other => panic!("not a conversation: {other:?}"),
        }
    }

    /// Saves a new version of the graph.
    pub fn save(&mut self, graph: &Value) {
        let version = self.graph.as_ref().map_or(1, |graph| graph.version + 1);
        let id = "support".parse().expect("a name");
        let ready = Ready::new(id, version, &graph.to_string()).expect("a sound graph");
        self.graph = Some(Arc::new(ready));
    }

    pub fn check(&mut self, line: &str) {
        let (asked, expected) = line.split_once(" => ").expect("a line of the script");
        assert_eq!(self.line(asked), expected, "{asked}");
    }

    /// Runs one line; returns the result, or the code of the rejection.
    pub fn line(&mut self, line: &str) -> String {
        let mut words = line.split(' ');
        let (who, verb) = (words.next().expect("a caller"), words.next().expect("a verb"));
        let mut fields = json!({});
        for word in words {
            let (name, value) = word.split_once('=').expect("field=value");
            let is_text = ["graph", "goto", "agent", "text"].contains(&name);
            let value = if is_text { json!(value) } else { value.parse().expect("JSON") };
            fields[name] = value;
        }
        let command = match verb {
            "open" => Command::Open(Box::new(read::<Open>(fields))),
            "say" => {
                // Words of a line have no spaces.
                let text = fields.as_object_mut().expect("fields").remove("text");
                let text = text.and_then(|text| text.as_str().map(|text| text.replace('_', " ")));
                let text = text.unwrap_or_else(|| "x".to_owned());
                fields["parts"] = json!([{ "type": "text", "text": text }]);
                Command::Say(read::<Say>(fields))
            }
            "route" => Command::Route(Box::new(read::<Route>(fields))),
            "score" => Command::ObserveSignals(read::<ObserveSignals>(fields)),
            "select" => Command::Select { agent: read(fields["agent"].take()) },
            "close" => Command::Close { reason: None },
            "delivered" => Command::Delivered {
                epoch: read(fields["epoch"].take()),
                through: read(fields["through"].take()),
            },
            "not_delivered" => Command::NotDelivered {
                epoch: read(fields["epoch"].take()),
                through: read(fields["through"].take()),
                detail: "down".to_owned(),
            },
            "show_progress" => {
                let epoch = fields.get("epoch").and_then(Value::as_u64);
                Command::ShowProgress { epoch }
            }
            "miss_answer" => {
                let until = self.conversation().wait.owed.map_or(self.now, |owed| owed.until);
                // The deadline that the timer has read may be that of an earlier state.
                let is_earlier = !fields["of_earlier_state"].is_null();
                let due = if is_earlier { until.plus(Span::from_millis(-1)) } else { until };
                Command::MissAnswer { due }
            }
            "cancel" => {
                let transfer = self.conversation().open_transfer().expect("a transfer").id;
                let (epoch, act) = (Some(self.conversation().epoch), Act::Cancel { reason: None });
                Command::Transfer(transfer::Command::Act { transfer, epoch, act })
            }
            "erase" => {
                let position = read(fields["position"].take());
                let erase = step::Command::Erase { position, reason: "asked".to_owned() };
                return self.shown(who, erase);
            }
            other => panic!("no such verb: {other}"),
        };
        self.shown(who, step::Command::Conversation(command))
    }

    fn shown(&mut self, who: &str, command: step::Command) -> String {
        self.recorded.clear();
        let change = match self.submit(who, command) {
            Ok(change) => change,
            Err(rejection) => {
                self.detail = rejection.to_string();
                return rejection.code().to_owned();
            }
        };
        self.recorded = change.events.iter().map(|event| event.name).collect();
        let bodies = change.events.iter().map(|event| serde_json::from_str(&event.body));
        self.bodies = bodies.collect::<Result<_, _>>().expect("a body is JSON");
        let numbered = change.transcript.first().map(|line| line.number);
        assert_eq!(numbered, change.outcome.number);
        if change.events.is_empty() {
            return "nothing".to_owned();
        }
        let shown = change.events.iter().map(|event| self.shown_event(event, &change));
        shown.collect::<Vec<_>>().join(" ")
    }

    fn shown_event(&mut self, event: &Recorded, change: &Change) -> String {
        let conversation = self.conversation();
        assert_eq!(change.outcome.epoch, Some(conversation.epoch));
        let place = format!("{}@{}", conversation.holder, conversation.epoch);
        let body: Value = serde_json::from_str(&event.body).expect("a body is JSON");
        let number = &body["number"];
        match event.name {
            "conversation.opened" => place,
            "conversation.said" => {
                let name = body["escalation"]["rule"].as_str();
                let called = name.map(|name| format!(" called_by={name}")).unwrap_or_default();
                let outcome = body["route"]["outcome"].as_str();
                let route = outcome.map(|outcome| format!(" {outcome}")).unwrap_or_default();
                format!("#{number}{called}{route}")
            }
            "conversation.not_heard" => {
                let refused = change.outcome.refused.as_ref().expect("it was refused");
                self.detail = refused.detail.clone();
                refused.code.clone()
            }
            "conversation.routed" => {
                let how = match body["how"].as_str().expect("a word") {
                    "agent_handoff" => String::new(),
                    // Shown only where it matters.
                    how => format!(" {how}"),
                };
                let instead = body.get("instead_of").and_then(Value::as_str);
                let instead = instead.map(|to| format!(" instead_of={to}")).unwrap_or_default();
                let deliver = body.get("deliver").map(|_| " told").unwrap_or_default();
                format!("{place} #{number}{how}{instead}{deliver}")
            }
            "transfer.requested" => {
                let instead = body.get("instead_of").and_then(Value::as_str);
                assert_eq!(change.outcome.instead_of().map(AgentId::as_str), instead);
                assert!(change.outcome.transfer().is_some());
                let instead = instead.map(|to| format!(" instead_of={to}")).unwrap_or_default();
                format!("{place} #{number} requested{instead}")
            }
            "transfer.queued" => "queued".to_owned(),
            "transfer.over" => format!("{place} #{number} over"),
            "conversation.signals_observed" => {
                let name = body["escalation"]["rule"].as_str();
                let called = name.map(|name| format!(" called_by={name}")).unwrap_or_default();
                format!("scored #{}{called}", body["message"])
            }
            "conversation.updated" => format!("updated {}", body["update"]),
            "conversation.closed" => "closed".to_owned(),
            "conversation.delivered" => "delivered".to_owned(),
            "conversation.holder_silent" => {
                let alone = body.get("no_person").map(|_| " alone").unwrap_or_default();
                let (owed, next) = (&body["owed"], &body["next"]);
                format!("{place} #{number} silent owed={owed} next={next}{alone}")
            }
            "conversation.extended" => "extended".to_owned(),
            "conversation.unreached" => "unreached".to_owned(),
            "ledger.erased" => "erased".to_owned(),
            other => panic!("{other}"),
        }
    }

    /// Also checks that replaying the events gives the same state.
    pub fn submit(&mut self, who: &str, command: step::Command) -> Result<Change, Rejection> {
        let caller = caller(who);
        let needs = step::needs(self.state.as_ref(), &command);
        let graph = self.graph.clone().filter(|_| needs.graph.is_some());
        let first = graph.as_ref().and_then(|graph| graph.compiled().first().cloned());
        let agent = needs.agent.or(first).and_then(known);
        let limits = &self.limits;
        let known = |id: AgentId| {
            let mut agent = known(id)?;
            agent.profile.answer_within = limits.get(&agent.id).copied();
            Some(agent)
        };
        let agent = agent.and_then(|agent| known(agent.id));
        let turn = needs.turn.filter(|_| who == "customer").map(|asked| {
            let graph = self.graph.clone().filter(|_| asked.graph.is_some());
            let answer = graph.map(|graph| asked.answered_by(graph, &|| false));
            let target = answer.as_ref().and_then(|answer| answer.agent().cloned());
            let (target, holder) = (target.and_then(known), known(asked.holder.clone()));
            let heard = hear(&asked.text, asked.language.as_deref());
            Box::new(TurnFacts { answer, heard, target, holder })
        });
        let named = match needs.directory {
            Some(Directory::Named(names)) => names,
            Some(Directory::Everyone) | None => Vec::new(),
        };
        let named: Vec<_> = named.into_iter().filter_map(known).collect();
        let limited =
            named.iter().filter_map(|it| Some((it.id.clone(), it.profile.answer_within?)));
        let answer_within = limited.collect();
        let kinds = named.iter().map(|it| (it.id.clone(), it.kind)).collect();
        let named = named.into_iter();
        let at_endpoint = named.filter(|it| it.endpoint.is_some()).map(|it| it.id).collect();
        let queue = self.queue.clone().filter(|_| needs.queue.is_some() || turn.is_some());
        let steps = graph.iter().flat_map(|graph| graph.fallbacks());
        let named_fallbacks = needs.fallbacks.unwrap_or_default();
        let fallbacks: Vec<Agent> =
            steps.chain(named_fallbacks).filter_map(known).chain(self.queue.clone()).collect();
        let asked = needs.customer_queues.unwrap_or_default().into_iter().filter_map(known);
        let customer_queues: Vec<Agent> = asked.chain(self.queue.clone()).collect();
        let settings = self.settings;
        let line = needs.line.and_then(|number| self.lines.get(&number).cloned()).map(Box::new);
        let facts = Facts { agent, graph, turn, at_endpoint, kinds, queue, ..Facts::default() };
        let facts = Facts { answer_within, fallbacks, customer_queues, settings, line, ..facts };
        let now = self.now;
        let context = Context { caller: &caller, now, facts: &facts };
        let teamspace = TeamspaceId::default_teamspace();
        let stream = Stream { teamspace, subject: Subject::Conversation(conversation_id(1)) };
        let change = step::step(&stream, self.state.as_ref(), &command, context)?;
        let mut replayed = self.state.clone();
        for event in &change.events {
            let event =
                codec::decode(event.name, event.version, &event.body).expect("it was written");
            replayed = Some(step::evolve(&stream, replayed, &event, now).expect("it follows"));
            if let step::Event::Conversation(said) = &event
                && let Some(number) = said.number()
            {
                self.lines.insert(number, event);
            }
        }
        assert_eq!(replayed.as_ref(), Some(&change.state));
        let text = serde_json::to_string(&change.state).expect("plain data");
        assert_eq!(serde_json::from_str::<State>(&text).expect("a state"), change.state);
        self.state = Some(change.state.clone());
        Ok(change)
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the fields of a command")
}

fn known(id: AgentId) -> Option<Agent> {
    let kind = match id.as_str() {
        "router" => Kind::System,
        "hana" => Kind::Human,
        "default" | "billing" => Kind::Queue,
        // `human` stands for a person, unless an agent has had the id for long.
        "nobody" | "ghost" | "human" => return None,
        _ => Kind::Worker,
    };
    let user_selectable = ["bob", "carol", "erin", "hana", "router"].contains(&id.as_str());
    let profile = Profile { user_selectable, ..Profile::default() };
    let endpoint = ["erin", "eve"].contains(&id.as_str());
    let endpoint = endpoint.then(|| "https://agents.example/turns".to_owned());
    let undeclared = id.as_str() == "fresh";
    Some(Agent { endpoint, undeclared, ..Agent::new(id, kind, profile) })
}

fn conversation_id(number: u32) -> ConversationId {
    format!("01938c2e-0000-7000-8000-{number:012}").parse().expect("a UUID")
}

fn caller(who: &str) -> Caller {
    let principal = match who {
        "operator" => Principal::Operator("root".parse().expect("a name")),
        "customer" => Principal::Customer(customer_name(conversation_id(1))),
        "stranger" => Principal::Customer(customer_name(conversation_id(2))),
        "system" => Principal::System,
        name => Principal::Agent(name.parse().expect("a name")),
    };
    let roles = if who == "coord" { BTreeSet::from([Role::Coordinator]) } else { BTreeSet::new() };
    let teamspace = TeamspaceId::default_teamspace();
    Caller { teamspace, principal, roles, session: "test".to_owned() }
}
