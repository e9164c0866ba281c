//! Messages in a simulation: sending, answering, looking, reading, wake calls that succeed or not,
//! and purging.

use protocol::agent::{Command as AgentCommand, Presence};
use protocol::caller::Caller;
use protocol::handoff::package::Priority;
use protocol::ledger::{Stream, Subject};
use protocol::message::{Address, Command, Kind, Message, Outgoing};
use protocol::step::{self, State};
use protocol::time::Span;

use super::script::{AGENTS, Act, Script, in_teamspace};
use super::watch::Watch;
use crate::support::{agent, coordinator, id, operator};

const THREADS: [&str; 3] = ["th0", "th1", "th2"];

/// Recent messages that commands still refer to.
const CURRENT_MAX: usize = 12;

impl Script {
    pub fn letter(&mut self, watch: &Watch) -> Act {
        let known = match self.messages.len().min(CURRENT_MAX) {
            n_current if n_current < 3 || self.random.happens(35) => None,
            n_current => {
                let newest = self.messages.len() - n_current;
                let stream = self.messages[newest + self.random.below(n_current)].clone();
                match watch.state(&stream).map(AsRef::as_ref) {
                    Some(State::Message(message)) => Some((stream, message.clone())),
                    Some(_) | None => None,
                }
            }
        };
        match known {
            None => self.send(watch, None),
            Some((stream, message)) if self.random.happens(15) => {
                self.send(watch, Some((stream, &message)))
            }
            Some((stream, message)) => self.about(stream, &message),
        }
    }

    /// A message, or an answer to one.
    fn send(&mut self, watch: &Watch, answered: Option<(Stream, &Message)>) -> Act {
        let teamspace = match &answered {
            Some((stream, _)) => stream.teamspace.clone(),
            None => self.teamspace(),
        };
        let to = (0..=self.random.below(2)).map(|_| self.address()).collect();
        let thread = self.random.happens(70).then(|| *self.random.pick(&THREADS));
        let mut outgoing = Outgoing {
            to,
            thread_id: thread.map(|thread| thread.parse().expect("a thread")),
            kind: (!self.random.happens(3)).then_some(Kind::StatusUpdate),
            priority: *self.random.pick(&[Priority::Normal, Priority::High, Priority::Critical]),
            sequence: self.random.happens(30).then(|| self.random.draw() % 40),
            ..Outgoing::default()
        };
        if self.random.happens(40) {
            outgoing.expires_at = Some(watch.latest().plus(Span::from_hours(2)));
        }
        let mut sender = self.random.pick(&AGENTS[..5]).0.to_owned();
        if let Some((_, message)) = answered {
            let recipients: Vec<_> = message.recipients.keys().cloned().collect();
            sender = self.random.pick(&recipients).to_string();
            outgoing.thread_id = outgoing.thread_id.filter(|_| self.random.happens(10));
            outgoing = outgoing.answering(message);
        }
        let caller = match self.random.below(12) {
            0 => self.caller(),
            1 => coordinator("lead"),
            _ => agent(&sender),
        };
        let stream = Stream { teamspace: teamspace.clone(), subject: self.new_message() };
        let command = step::Command::Message(Command::Send(Box::new(outgoing)));
        self.submit(in_teamspace(caller, &teamspace), stream, command)
    }

    fn address(&mut self) -> Address {
        match self.random.below(20) {
            0 => Address::Everyone,
            1 => Address::Agent(id("ghost")),
            2 => Address::Agent(id("coordinator")),
            _ => Address::Agent(id(self.random.pick(&AGENTS).0)),
        }
    }

    /// A command about a message, mostly by a permitted caller.
    fn about(&mut self, stream: Stream, message: &Message) -> Act {
        let recipients: Vec<_> = message.recipients.keys().cloned().collect();
        let recipient = self.random.pick(&recipients).clone();
        let server = Caller::system(stream.teamspace.clone());
        let (caller, command) = match self.random.below(20) {
            0..8 => (agent(recipient.as_str()), Command::Read),
            8..12 => (agent(recipient.as_str()), Command::Deliver),
            12..15 => (server, Command::Woken { agent: recipient }),
            15..17 => (server, Command::NotWoken { agent: recipient, detail: "no".to_owned() }),
            17 => (server, Command::Elapse { due: message.created_at }),
            _ => {
                let caller = if self.random.happens(80) { operator() } else { self.caller() };
                let position = if self.random.happens(90) { 1 } else { 2 };
                let erase = step::Command::Erase { position, reason: "old".to_owned() };
                return self.submit(in_teamspace(caller, &stream.teamspace), stream, erase);
            }
        };
        let caller = if self.random.happens(10) { self.caller() } else { caller };
        let caller = in_teamspace(caller, &stream.teamspace);
        self.submit(caller, stream, step::Command::Message(command))
    }

    /// Sets or removes an agent's wake URL.
    pub fn set_wake(&mut self) -> AgentCommand {
        let urls = [Some("https://agents.example/wake"), Some("not a URL"), None];
        AgentCommand::SetWake { url: self.random.pick(&urls).map(str::to_owned) }
    }

    /// An agent connects, disconnects or reports its presence; mostly by a permitted caller.
    pub fn presence_command(&mut self, mut stream: Stream) -> Act {
        if self.random.happens(70) {
            stream.subject = Subject::Agent(id("dee"));
        }
        let server = Caller::system(stream.teamspace.clone());
        let presence = *self.random.pick(&Presence::ALL);
        let (caller, command) = match self.random.below(8) {
            0..2 => (server, AgentCommand::Connect),
            2 => (server, AgentCommand::LoseConnection),
            3 => {
                let urls = [Some("https://agents.example/turns"), Some("not a URL"), None];
                let url = self.random.pick(&urls).map(str::to_owned);
                (operator(), AgentCommand::SetEndpoint { url, history: None })
            }
            _ => (operator(), AgentCommand::SetPresence { presence }),
        };
        let caller = if self.random.happens(10) { self.caller() } else { caller };
        let caller = in_teamspace(caller, &stream.teamspace);
        self.submit(caller, stream, step::Command::Agent(command))
    }

    pub fn new_message(&mut self) -> Subject {
        let id = self.new_handoff_id().to_string();
        Subject::Message(id.parse().expect("an id"))
    }
}
