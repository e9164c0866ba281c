//! Conversations in a simulation: the requests of customers, holders and late bots, and the
//! promises about them, checked from the entries alone: one holder at a time, an epoch for each, no
//! agent heard out of turn, and a transcript without gaps.

use std::collections::BTreeMap;

use engine::ports::store::{Sequenced, StoreReads};
use protocol::agent::{Command as AgentCommand, Kind, Profile};
use protocol::caller::{Caller, Principal};
use protocol::codec;
use protocol::conversation::command::{Open, Route, Say};
use protocol::conversation::event::{Event as ChatEvent, Speaker};
use protocol::conversation::not_heard::Why;
use protocol::conversation::part::{Part, Text};
use protocol::conversation::state::customer_name;
use protocol::conversation::topology::{Level, Topology};
use protocol::conversation::{Command, Conversation};
use protocol::ids::{AgentId, ConversationId};
use protocol::ledger::{Stream, Subject};
use protocol::step::{self, Event, State};

use super::script::{Act, Script, in_teamspace};
use super::side::Side;
use super::watch::Watch;
use crate::support::{agent, id, operator};

/// Conversations that are active at once.
const CURRENT_MAX: usize = 4;

/// How many transcripts are read again, the newest first.
const READ_MAX: usize = 6;

const WORKERS: [&str; 3] = ["ann", "bob", "cy"];

impl Script {
    pub fn chat(&mut self, watch: &Watch) -> Act {
        let n_current = self.chats.len().min(CURRENT_MAX);
        if n_current < 2 || self.random.happens(6) {
            return self.open();
        }
        let newest = self.chats.len() - n_current;
        let stream = self.chats[newest + self.random.below(n_current)].clone();
        match watch.state(&stream).map(AsRef::as_ref) {
            Some(State::Conversation(chat)) => {
                let chat = chat.clone();
                let n_entries = watch.position(&stream);
                self.in_chat(stream, &chat, n_entries)
            }
            Some(_) | None => self.open(),
        }
    }

    fn open(&mut self) -> Act {
        let teamspace = self.teamspace();
        let topology = match self.random.below(4) {
            0 => Topology::Supervisor {
                supervisor: id(self.random.pick::<&str>(&["router", "cy"])),
                workers: vec![id("ann"), id("bob")],
            },
            1 => Topology::Swarm { members: WORKERS.map(id).to_vec(), default_agent: id("ann") },
            _ => Topology::Free,
        };
        let agent_id = self.random.happens(80).then(|| id(self.random.pick::<&str>(&WORKERS)));
        let hops_max = Some(*self.random.pick(&[1, 8]));
        let open = Open { topology, agent: agent_id, hops_max, ..Open::default() };
        let caller = if self.random.happens(90) { agent("bob") } else { self.caller() };
        let conversation: ConversationId =
            self.new_handoff_id().to_string().parse().expect("an id");
        let subject = Subject::Conversation(conversation);
        let stream = Stream { teamspace: teamspace.clone(), subject };
        let command = step::Command::Conversation(Command::Open(Box::new(open)));
        self.submit(in_teamspace(caller, &teamspace), stream, command)
    }

    /// A command in a conversation, mostly by a permitted caller.
    fn in_chat(&mut self, stream: Stream, chat: &Conversation, n_entries: u64) -> Act {
        let principal = Principal::Customer(customer_name(chat.id));
        let customer = Caller { principal, ..agent("ann") };
        let holder = agent(chat.holder.as_str());
        let server = Caller::system(stream.teamspace.clone());
        let worker = id(self.random.pick::<&str>(&WORKERS));
        // A bot that does not know that the conversation has changed hands.
        let epoch = Some(chat.epoch.saturating_sub(u64::from(self.random.happens(15))));
        let late = agent(chat.held[self.random.below(chat.held.len())].as_str());
        let answered = self.random.happens(60).then_some(chat.turn.number.max(1));
        let (told, through) = (chat.epoch, chat.told.telling.as_ref().map_or(1, |it| it.through));
        let (caller, command) = match self.random.below(40) {
            0..10 => (customer, say(None, None)),
            10..18 => (holder, say(epoch, answered)),
            18..21 => (late, say(epoch, answered)),
            21..28 => {
                let graph = *self.random.pick(&[Level::Here, Level::Parent]);
                let caller = if self.random.happens(20) { late } else { holder };
                (caller, Command::Route(Box::new(route(worker, epoch, graph))))
            }
            28..30 => (customer, Command::Select { agent: worker }),
            30..33 => (server, Command::Delivered { epoch: told, through }),
            33..36 => {
                let detail = "down".to_owned();
                (server, Command::NotDelivered { epoch: told, through, detail })
            }
            36 => (customer, Command::Close { reason: None }),
            37 => return self.prepare(&stream, worker),
            38 => {
                let position = 1 + self.random.draw() % n_entries;
                let erase = step::Command::Erase { position, reason: "asked".to_owned() };
                return self.submit(in_teamspace(operator(), &stream.teamspace), stream, erase);
            }
            _ => (self.caller(), say(epoch, None)),
        };
        let caller = in_teamspace(caller, &stream.teamspace);
        self.submit(caller, stream, step::Command::Conversation(command))
    }

    /// A worker that customers may choose, or one with an endpoint.
    fn prepare(&mut self, stream: &Stream, worker: AgentId) -> Act {
        let command = match self.random.happens(50) {
            true => {
                let profile = Profile { user_selectable: true, ..Profile::default() };
                AgentCommand::Register { kind: Kind::Worker, profile }
            }
            false => {
                let url = Some("https://agents.example/".to_owned());
                AgentCommand::SetEndpoint { url, history: None }
            }
        };
        let teamspace = stream.teamspace.clone();
        let caller = in_teamspace(operator(), &teamspace);
        let stream = Stream { teamspace, subject: Subject::Agent(worker) };
        self.submit(caller, stream, step::Command::Agent(command))
    }
}

fn say(epoch: Option<u64>, in_reply_to: Option<u64>) -> Command {
    let parts = vec![Part::Text(Text { text: "hello".to_owned() })];
    Command::Say(Say { parts, epoch, in_reply_to })
}

fn route(goto: AgentId, epoch: Option<u64>, graph: Level) -> Route {
    let update = Default::default();
    let (reason, customer_text, context) = (None, None, None);
    let goto = Some(goto);
    Route { goto, update, graph, reason, customer_text, context, epoch, ..Route::default() }
}

/// Every conversation, as its entries tell.
#[derive(Default)]
pub struct Chats {
    known: BTreeMap<Stream, Chat>,
}

#[derive(Debug)]
struct Chat {
    holder: AgentId,
    epoch: u64,
    /// The sequence numbers of its lines.
    lines: Vec<u64>,
    is_closed: bool,
}

impl Chats {
    pub fn look_at(&mut self, kept: &Sequenced) -> Result<(), String> {
        let entry = &kept.entry;
        let Subject::Conversation(_) = entry.stream.subject else { return Ok(()) };
        let body = entry.body.text().ok_or("an entry was erased before it was seen")?;
        let event = codec::decode(&entry.name, entry.version, body).map_err(|it| it.to_string())?;
        let wrong = || format!("{} cannot be {}: {body}", entry.stream.subject, entry.name);
        let event = match event {
            Event::Conversation(event) => event,
            Event::Erased(_) => return Ok(()),
            Event::Handoff(_)
            | Event::Agent(_)
            | Event::Token(_)
            | Event::Message(_)
            | Event::Teamspace(_)
            | Event::Graph(_)
            | Event::Subscription(_)
            | Event::File(_)
            | Event::Webhook(_)
            | Event::Question(_)
            | Event::Session(_)
            | Event::Forked(_) => return Err(wrong()),
        };
        match (self.known.get_mut(&entry.stream), event) {
            (None, ChatEvent::Opened(opened)) => {
                let (holder, epoch) = (opened.holder, 1);
                let chat = Chat { holder, epoch, lines: Vec::new(), is_closed: false };
                self.known.insert(entry.stream.clone(), chat);
                Ok(())
            }
            (Some(chat), event) if !chat.is_closed => {
                chat.move_on(kept.seq, &event).ok_or_else(wrong)
            }
            (_, _) => Err(wrong()),
        }
    }

    /// The state must match the entries.
    pub fn look_at_state(&self, stream: &Stream, state: &Conversation) -> Result<(), String> {
        let chat = &self.known[stream];
        let is_same = state.holder == chat.holder
            && state.epoch == chat.epoch
            && state.transcript.count == chat.lines.len() as u64
            && state.closed.is_some() == chat.is_closed;
        match is_same {
            true => Ok(()),
            false => Err(format!("{} is {state:?}, and was {chat:?}", stream.subject)),
        }
    }

    /// The lines of a transcript are the message entries, in order.
    pub async fn look_at_transcripts(&self, side: &Side) -> Result<(), String> {
        for (stream, chat) in self.known.iter().rev().take(READ_MAX) {
            let mut found: Vec<u64> = Vec::new();
            loop {
                let page = side.store.transcript(stream, found.len() as u64, usize::MAX).await;
                let page = page.map_err(|error| error.to_string())?;
                if page.is_empty() {
                    break;
                }
                found.extend(page.iter().map(|line| line.seq));
            }
            if found != chat.lines {
                return Err(format!("the transcript of {} is {found:?}", stream.subject));
            }
        }
        Ok(())
    }
}

impl Chat {
    /// `None` if the event is not possible here.
    fn move_on(&mut self, seq: u64, event: &ChatEvent) -> Option<()> {
        let next = self.lines.len() as u64 + 1;
        let is_now = |holder: &AgentId, epoch: u64| *holder == self.holder && epoch == self.epoch;
        match event {
            // There is no person in this script to ask for.
            ChatEvent::Opened(_) | ChatEvent::Transfer(_) | ChatEvent::Callback(_) => return None,
            ChatEvent::Said(said) => {
                let is_heard = match &said.by {
                    Speaker::Customer => true,
                    Speaker::Agent(agent) => *agent == self.holder,
                };
                (is_heard && is_now(&said.holder, said.epoch) && said.number == next)
                    .then_some(())?;
                self.lines.push(seq);
            }
            ChatEvent::NotHeard(not_heard) => {
                let in_turn = is_now(&not_heard.agent, not_heard.epoch);
                let answered = not_heard.why == Why::AlreadyAnswered;
                return (in_turn == answered && is_now(&not_heard.holder, not_heard.current))
                    .then_some(());
            }
            ChatEvent::Routed(routed) => {
                let follows = is_now(&routed.holder, routed.epoch - 1) && routed.number == next;
                (follows && routed.to != self.holder).then_some(())?;
                self.lines.push(seq);
                (self.holder, self.epoch) = (routed.to.clone(), routed.epoch);
            }
            ChatEvent::Updated(it) => return is_now(&it.holder, it.epoch).then_some(()),
            ChatEvent::SignalsObserved(it) => return is_now(&it.holder, it.epoch).then_some(()),
            ChatEvent::Delivered(told) => return is_now(&told.holder, told.epoch).then_some(()),
            ChatEvent::Unreached(told) => return is_now(&told.holder, told.epoch).then_some(()),
            ChatEvent::HolderSilent(silent) => {
                let follows = is_now(&silent.holder, silent.epoch) && silent.number == next;
                follows.then_some(())?;
                self.lines.push(seq);
            }
            ChatEvent::Extended(it) => return is_now(&it.holder, it.epoch).then_some(()),
            ChatEvent::ReplyOverdue(it) => return is_now(&it.holder, it.epoch).then_some(()),
            ChatEvent::Closed(_) => self.is_closed = true,
        }
        Some(())
    }
}
