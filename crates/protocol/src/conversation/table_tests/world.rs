//! One conversation, and lines of a script that happen to it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::agent::{Agent, Kind, Profile};
use crate::caller::{Caller, Principal, Role};
use crate::codec;
use crate::conversation::command::{Command, Open, Route, Say};
use crate::conversation::state::{Conversation, customer_name};
use crate::handoff::decide::Context;
use crate::ids::{AgentId, ConversationId, TeamspaceId};
use crate::ledger::{Stream, Subject};
use crate::rejection::Rejection;
use crate::step::{self, Change, Directory, Facts, State};
use crate::time::Time;

pub struct World {
    pub state: Option<State>,
    /// The events that the last line recorded, and how it was refused.
    pub recorded: Vec<&'static str>,
    pub detail: String,
    pub now: Time,
}

impl World {
    pub fn new() -> Self {
        let now = "2026-02-21T14:00:00Z".parse().expect("a time");
        Self { state: None, recorded: Vec::new(), detail: String::new(), now }
    }

    pub fn conversation(&self) -> &Conversation {
        match &self.state {
            Some(State::Conversation(conversation)) => conversation,
            other => panic!("not a conversation: {other:?}"),
        }
    }

    pub fn check(&mut self, line: &str) {
        let (asked, expected) = line.split_once(" => ").expect("a line of the script");
        assert_eq!(self.line(asked), expected, "{asked}");
    }

    /// Does what a line says; what came of it, or the code of the refusal.
    fn line(&mut self, line: &str) -> String {
        let mut words = line.split(' ');
        let (who, verb) = (words.next().expect("a caller"), words.next().expect("a verb"));
        let mut fields = json!({});
        for word in words {
            let (name, value) = word.split_once('=').expect("field=value");
            let is_json = name == "graph" || name == "goto" || name == "agent";
            let value = if is_json { json!(value) } else { value.parse().expect("JSON") };
            fields[name] = value;
        }
        let command = match verb {
            "open" => Command::Open(Box::new(read::<Open>(fields))),
            "say" => {
                fields["parts"] = json!([{ "type": "text", "text": "x" }]);
                Command::Say(read::<Say>(fields))
            }
            "route" => Command::Route(Box::new(read::<Route>(fields))),
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
        let (before, event) = match change.events.as_slice() {
            [] => return "nothing".to_owned(),
            [event] => (String::new(), event),
            [first, event] => (format!("{} ", first.name), event),
            more => panic!("{more:?}"),
        };
        let numbered: Vec<_> = change.transcript.iter().map(|line| line.number).collect();
        assert_eq!(numbered, Vec::from_iter(change.outcome.number));
        let conversation = self.conversation();
        assert_eq!(change.outcome.epoch, Some(conversation.epoch));
        let number = conversation.transcript.count;
        let place = format!("{}@{}", conversation.holder, conversation.epoch);
        match event.name {
            "conversation.opened" => place,
            "conversation.said" => format!("#{number}"),
            "conversation.not_heard" => {
                let refused = change.outcome.refused.expect("it was refused");
                self.detail = refused.detail;
                refused.code
            }
            "conversation.routed" => {
                let body: Value = serde_json::from_str(&event.body).expect("a body is JSON");
                let how = match body["how"].as_str().expect("a word") {
                    "agent_handoff" => String::new(),
                    // Said where it matters.
                    how => format!(" {how}"),
                };
                let instead = body.get("instead_of").and_then(Value::as_str);
                let instead = instead.map(|to| format!(" instead_of={to}")).unwrap_or_default();
                let deliver = body.get("deliver").map(|_| " told").unwrap_or_default();
                format!("{before}{place} #{number}{how}{instead}{deliver}")
            }
            "conversation.closed" => "closed".to_owned(),
            "conversation.delivered" => "delivered".to_owned(),
            "conversation.unreached" => "unreached".to_owned(),
            "ledger.erased" => "erased".to_owned(),
            other => panic!("{other}"),
        }
    }

    /// What happened is also what is read back from the record.
    pub fn submit(&mut self, who: &str, command: step::Command) -> Result<Change, Rejection> {
        let caller = caller(who);
        let needs = step::needs(self.state.as_ref(), &command);
        let named = match needs.directory {
            Some(Directory::Named(names)) => names,
            Some(Directory::Everyone) | None => Vec::new(),
        };
        let named = named.into_iter().filter_map(known);
        let at_endpoint = named.filter(|it| it.endpoint.is_some()).map(|it| it.id).collect();
        let agent = needs.agent.and_then(known);
        let facts = Facts { agent, at_endpoint, ..Facts::default() };
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
        "nobody" => return None,
        _ => Kind::Worker,
    };
    let user_selectable = ["bob", "carol", "erin", "hana", "router"].contains(&id.as_str());
    let profile = Profile { user_selectable, ..Profile::default() };
    let endpoint = ["erin", "eve"].contains(&id.as_str());
    let endpoint = endpoint.then(|| "https://agents.example/turns".to_owned());
    Some(Agent { endpoint, ..Agent::new(id, kind, profile) })
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
