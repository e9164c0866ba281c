//! One conversation with its queues and people, and a script that runs against it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::agent::presence::{Presence, Reach};
use crate::agent::{Agent, Kind, Profile, free_slot, slot_prefix};
use crate::caller::{Caller, Principal, Role};
use crate::conversation::command::{Command as Asked, Open, Say};
use crate::conversation::silence::REPLY;
use crate::conversation::state::{Conversation, customer_name};
use crate::ids::{AgentId, ConversationId, TeamspaceId, TransferId};
use crate::ledger::{Stream, Subject};
use crate::rejection::Rejection;
use crate::step::{
    self, Change, Context, Deadline, Directory, Facts, HoldState, QueueOf, SlotOf, State,
};
use crate::time::{Span, Time};
use crate::transfer::command::{Act, Command, Request, Transfer};
use crate::{callback, codec, queue};

pub struct World {
    pub state: Option<State>,
    pub now: Time,
    pub recorded: Vec<&'static str>,
    pub bodies: Vec<Value>,
    pub holds: BTreeMap<String, HoldState>,
    deadlines: Vec<Deadline>,
    n_transfers: u32,
}

impl World {
    pub fn new() -> Self {
        Self {
            state: None,
            now: "2026-02-21T14:00:00Z".parse().expect("a time"),
            recorded: Vec::new(),
            bodies: Vec::new(),
            holds: BTreeMap::new(),
            deadlines: Vec::new(),
            n_transfers: 0,
        }
    }

    pub fn script(lines: &[&str]) -> Self {
        let mut world = Self::new();
        for line in lines {
            world.check(line);
        }
        world
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

    /// The occupied slots.
    pub fn slots(&self) -> Vec<&str> {
        let taken = self.holds.iter().filter(|(_, state)| state.holder.is_some());
        taken.filter_map(|(key, _)| key.strip_prefix("slot/")).collect()
    }

    /// Runs one line. Returns the status of the transfer and the holder of the conversation, or the
    /// code of the rejection.
    pub fn line(&mut self, line: &str) -> String {
        let mut words = line.split(' ');
        let (who, verb) = (words.next().expect("a caller"), words.next().expect("a verb"));
        if who == "wait" {
            return self.wait(verb.parse().expect("a span"));
        }
        let mut fields = json!({});
        for word in words {
            let (name, value) = word.split_once('=').expect("field=value");
            fields[name] = value.parse().unwrap_or_else(|_| json!(value));
        }
        let command = self.command(verb, fields);
        let submitted = self.submit(who, command);
        self.shown(submitted)
    }

    fn wait(&mut self, span: Span) -> String {
        self.now = self.now.plus(span);
        let mut due: Vec<_> =
            self.deadlines.iter().filter(|deadline| deadline.due <= self.now).cloned().collect();
        due.sort_by_key(|deadline| deadline.due);
        let mut shown = "nothing".to_owned();
        for deadline in due {
            let due = deadline.due;
            let command = match deadline.name == REPLY {
                true => Asked::RemindPerson { due },
                false => Asked::Transfer(Command::Elapse { due }),
            };
            let submitted = self.submit("system", command);
            shown = self.shown(submitted);
        }
        shown
    }

    fn command(&mut self, verb: &str, mut fields: Value) -> Asked {
        let epoch = fields["epoch"].as_u64();
        let text = |name: &str| fields[name].as_str().map(str::to_owned);
        let act = match verb {
            "open" => return Asked::Open(Box::new(read::<Open>(fields))),
            "say" => {
                fields["parts"] = json!([{ "type": "text", "text": "x" }]);
                return Asked::Say(read::<Say>(fields));
            }
            "close" => return Asked::Close { reason: None },
            "delivered" => {
                let through = fields["through"].as_u64().expect("a number");
                return Asked::Delivered { epoch: epoch.expect("an epoch"), through };
            }
            "not_delivered" => {
                let through = fields["through"].as_u64().expect("a number");
                let (epoch, detail) = (epoch.expect("an epoch"), "down".to_owned());
                return Asked::NotDelivered { epoch, through, detail };
            }
            "show_progress" => return Asked::ShowProgress { epoch },
            "select" => return Asked::Select { agent: read(fields["agent"].take()) },
            "route" => return Asked::Route(Box::new(read(fields))),
            "request" => {
                self.n_transfers += 1;
                let transfer = transfer_id(self.n_transfers);
                let request = Box::new(read::<Request>(fields));
                return Asked::Transfer(Command::Request { transfer, request });
            }
            "ring" => {
                let (transfer, agent) = (self.transfer(), read(fields["agent"].take()));
                return Asked::Transfer(Command::Ring { transfer, agent });
            }
            "lose" => {
                let agent = read(fields["agent"].take());
                return Asked::Transfer(Command::Lose { agent });
            }
            "callback" => return Asked::Callback(callback::Command::Ask(Box::new(read(fields)))),
            "called" => return Asked::Callback(callback::Command::Settle(read(fields))),
            "pickup" => Act::Pickup { accept: false },
            "answer" => Act::Pickup { accept: true },
            "accept" => Act::Accept,
            "decline" => Act::Decline { reason: text("reason") },
            "hold" => Act::Hold,
            "resume" => Act::Resume,
            "transfer" => Act::Transfer(Box::new(read::<Transfer>(fields.clone()))),
            "complete" => {
                let to = text("to").map(|to| to.parse().expect("a name"));
                let disposition = text("disposition").map(|code| code.parse().expect("a code"));
                Act::Complete { summary: text("summary"), disposition, to }
            }
            "end" => Act::End { reason: None },
            "cancel" => Act::Cancel { reason: text("reason") },
            "fail" => Act::Fail { reason: "r".to_owned() },
            "note" => Act::Note { text: text("text").unwrap_or("t".to_owned()) },
            "whisper" => Act::Whisper { text: "t".to_owned() },
            "rate" => {
                let score = fields["score"].as_u64().expect("a score");
                let score = u8::try_from(score).expect("a small one");
                Act::Rate { score, comment: None }
            }
            other => panic!("no such verb: {other}"),
        };
        let transfer = match fields["of"].as_u64() {
            Some(number) => transfer_id(u32::try_from(number).expect("a small number")),
            None => self.transfer(),
        };
        Asked::Transfer(Command::Act { transfer, epoch, act })
    }

    fn transfer(&self) -> TransferId {
        let transfer = match &self.state {
            Some(State::Conversation(conversation)) => conversation.transfer.as_ref(),
            Some(_) | None => None,
        };
        transfer.map_or(transfer_id(99), |transfer| transfer.id)
    }

    fn shown(&mut self, submitted: Result<Change, Rejection>) -> String {
        let change = match submitted {
            Ok(change) => change,
            Err(Rejection::AlreadyClaimed { by }) => return format!("claimed by {by}"),
            Err(Rejection::SchemaInvalid { field, .. }) => {
                return format!("invalid {}", field.split('[').next().unwrap_or(&field));
            }
            Err(rejection) => return rejection.code().to_owned(),
        };
        if change.events.is_empty() {
            return "nothing".to_owned();
        }
        if let Some(refused) = change.outcome.refused {
            return refused.code;
        }
        let conversation = self.conversation();
        let status = conversation.transfer.as_ref().map_or("idle", |it| it.status().as_str());
        let place = format!("{status} {}@{}", conversation.holder, conversation.epoch);
        match conversation.closed {
            Some(_) => format!("{place} closed"),
            None => place,
        }
    }

    pub fn erase(&mut self, position: u64) {
        let erase = step::Command::Erase { position, reason: "asked".to_owned() };
        self.step("operator", erase).expect("an operator may");
    }

    fn submit(&mut self, who: &str, command: Asked) -> Result<Change, Rejection> {
        self.step(who, step::Command::Conversation(command))
    }

    /// Also checks that replaying the events gives the same state.
    fn step(&mut self, who: &str, command: step::Command) -> Result<Change, Rejection> {
        self.recorded.clear();
        let caller = caller(who);
        let facts = self.facts(&caller, &command);
        let context = Context { caller: &caller, now: self.now, facts: &facts };
        let teamspace = TeamspaceId::default_teamspace();
        let stream = Stream { teamspace, subject: Subject::Conversation(conversation_id()) };
        let change = step::step(&stream, self.state.as_ref(), &command, context)?;
        let mut replayed = self.state.clone();
        for event in &change.events {
            let event =
                codec::decode(event.name, event.version, &event.body).expect("it was written");
            replayed = Some(step::evolve(&stream, replayed, &event, self.now).expect("it follows"));
        }
        assert_eq!(replayed.as_ref().unwrap_or(&change.state), &change.state);
        let text = serde_json::to_string(&change.state).expect("plain data");
        assert_eq!(serde_json::from_str::<State>(&text).expect("a state"), change.state);
        for write in &change.holds {
            let known = self.holds.get(&write.key).cloned().unwrap_or_default();
            assert_eq!(known, write.expected, "{}", write.key);
            self.holds.insert(write.key.clone(), write.next.clone());
        }
        self.deadlines.retain(|deadline| !change.disarm.contains(deadline));
        self.deadlines.extend(change.arm.clone());
        self.recorded = change.events.iter().map(|event| event.name).collect();
        let bodies = change.events.iter().map(|event| serde_json::from_str(&event.body));
        self.bodies = bodies.collect::<Result<_, _>>().expect("a body is JSON");
        if !change.events.is_empty() {
            self.state = Some(change.state.clone());
        }
        Ok(change)
    }

    fn facts(&self, caller: &Caller, command: &step::Command) -> Facts {
        let needs = step::needs(self.state.as_ref(), command);
        let queue = match &needs.queue {
            Some(QueueOf::Named(id)) => known(id),
            Some(QueueOf::Default | QueueOf::Graph) => known(&name("support")),
            None => None,
        };
        let slots = needs.slots.iter().filter_map(|of| {
            let agent = match of {
                SlotOf::Agent(id) => id,
                SlotOf::Caller => caller.agent()?,
                SlotOf::Listener | SlotOf::Webhook => return None,
            };
            Some((of.clone(), self.free_slot(agent)?))
        });
        let at_endpoint = match &needs.directory {
            Some(Directory::Named(names)) => {
                names.iter().filter(|name| name.as_str() == "erin").cloned().collect()
            }
            Some(Directory::Everyone) | None => Vec::new(),
        };
        let fallbacks = needs.fallbacks.iter().flat_map(|named| named.iter().filter_map(known));
        let fallbacks =
            fallbacks.chain(needs.fallbacks.iter().filter_map(|_| known(&name("support"))));
        Facts {
            agent: needs.agent.as_ref().and_then(known),
            caller: caller.agent().filter(|_| needs.caller).and_then(known),
            slots: slots.collect(),
            queue,
            at_endpoint,
            fallbacks: fallbacks.collect(),
            ..Facts::default()
        }
    }

    fn free_slot(&self, id: &AgentId) -> Option<u16> {
        let agent = known(id)?;
        let taken = self
            .holds
            .iter()
            .filter(|(key, state)| key.starts_with(&slot_prefix(id)) && state.holder.is_some());
        let taken: Vec<_> = taken.map(|(key, _)| key.clone()).collect();
        free_slot(id, agent.capacity()?, &taken)
    }
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

pub fn name(text: &str) -> AgentId {
    text.parse().expect("a name")
}

/// `hana`, `ivan` and `sue` (of the team `bills`) are people; `olga` is away, `paul` offline.
/// `support`, `bills` (of the team `bills`), `night` (closed at this time) and `slow` (overflows
/// into `support`) are queues. So are `brief`, `shy` and `stuck`, which give up after two rings:
/// they overflow into `support`, nowhere, and into `night`; `ping` and `pong` into each other.
/// `prompt` reminds people after two minutes.
/// `tireless` rings on and on.
fn known(id: &AgentId) -> Option<Agent> {
    let kind = match id.as_str() {
        "hana" | "ivan" | "sue" | "olga" | "paul" => Kind::Human,
        "support" | "bills" | "night" | "slow" | "brief" | "shy" | "stuck" | "ping" | "pong"
        | "prompt" | "tireless" => Kind::Queue,
        "router" => Kind::System,
        "nobody" | "ghost" | "human" => return None,
        _ => Kind::Worker,
    };
    let team = if id.as_str() == "sue" { "bills" } else { "" };
    let profile = Profile {
        capacity: (kind == Kind::Human).then_some(1),
        user_selectable: kind == Kind::Worker,
        team: team.to_owned(),
        ..Profile::default()
    };
    let mut agent = Agent::new(id.clone(), kind, profile);
    agent.endpoint = (id.as_str() == "erin").then(|| "https://agents.example/turns".to_owned());
    agent.attendance.reach = Reach::Connected;
    agent.attendance.said = match id.as_str() {
        "olga" => Presence::Away,
        "paul" => Presence::Offline,
        _ => Presence::Available,
    };
    let settings = match id.as_str() {
        "bills" => json!({ "wanted": { "team": "bills" } }),
        "night" => json!({ "hours": { "monday": [{ "from": "01:00", "to": "02:00" }] } }),
        "slow" => json!({ "patience": { "overflow": [
            { "after": "2m", "to": "support" }, { "after": "4m", "to": "bills" }] } }),
        "brief" => json!({ "rings": 2, "patience": { "overflow": [
            { "after": "1h", "to": "support" }] } }),
        "shy" => json!({ "rings": 2 }),
        "prompt" => json!({ "reply_target": "2m" }),
        "stuck" => json!({ "rings": 2, "patience": { "overflow": [
            { "after": "1h", "to": "night" }] } }),
        "ping" => json!({ "rings": 1, "ring": "1s", "wait": "24h", "patience": { "overflow": [
            { "after": "20h", "to": "pong" }] } }),
        "pong" => json!({ "rings": 1, "ring": "1s", "wait": "24h", "patience": { "overflow": [
            { "after": "20h", "to": "ping" }] } }),
        "tireless" => json!({ "rings": 3_000, "ring": "1s", "wait": "24h" }),
        _ => return Some(agent),
    };
    agent.queue = Some(read::<queue::Settings>(settings).into());
    Some(agent)
}

fn conversation_id() -> ConversationId {
    "01938c2e-0000-7000-8000-000000000001".parse().expect("a UUID")
}

fn transfer_id(number: u32) -> TransferId {
    format!("01938c2e-0000-7000-9000-{number:012}").parse().expect("a UUID")
}

fn caller(who: &str) -> Caller {
    let principal = match who {
        "operator" => Principal::Operator(name("root")),
        "customer" => Principal::Customer(customer_name(conversation_id())),
        "system" => Principal::System,
        who => Principal::Agent(name(who)),
    };
    let roles = if who == "coord" { BTreeSet::from([Role::Coordinator]) } else { BTreeSet::new() };
    let teamspace = TeamspaceId::default_teamspace();
    Caller { teamspace, principal, roles, session: "test".to_owned() }
}
