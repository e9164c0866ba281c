//! One conversation: what its customer, its bot, the other agents and a person do.

use engine::loops::connections::OpenConnection;
use engine::ports::clock::Clock;
use engine::ports::store::Sequenced;
use protocol::agent::{self, Kind, Presence, Profile};
use protocol::caller::{Caller, Principal};
use protocol::conversation::command::{Open, Say};
use protocol::conversation::state::customer_name;
use protocol::conversation::turn_delivery::REACHED_WITHIN;
use protocol::conversation::{self, Conversation, Event};
use protocol::ids::{AgentId, ConversationId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step::{self, Command, State};
use protocol::time::{Span, Time};
use protocol::transfer;
use protocol::transfer::command::Act;
use serde_json::json;

use super::super::Server;
use super::{Bot, Help, PICKED_UP_AFTER, settle};
use crate::support::{self, id};

pub struct Chat {
    pub bot: Bot,
    pub help: Help,
    /// Whether the customer writes a second message.
    pub writes_again: bool,
    id: ConversationId,
    /// Who picks it up.
    person: Option<AgentId>,
}

impl Chat {
    /// Opens it, and the customer asks.
    pub async fn begin(server: &Server, bot: Bot, help: Help, writes_again: bool) -> Self {
        let id = server.engine.new_conversation_id();
        let chat = Self { bot, help, writes_again, id, person: None };
        let graph = Some(bot.name().parse().expect("a name"));
        let open = Open { graph, ..Open::default() };
        let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
        let operator = chat.caller(support::operator().principal);
        server.engine.submit_new(&operator, chat.stream(), open, None).await.expect("it is new");
        chat.customer_says(server, "Where is my parcel?").await;
        chat
    }

    /// Where people help, each customer has a person of their own, who stays connected.
    pub async fn person_arrives(
        &mut self,
        server: &Server,
        number: usize,
    ) -> Option<OpenConnection> {
        if self.help != Help::People {
            return None;
        }
        let name = id(&format!("hana-{number}"));
        let stream = Stream { subject: Subject::Agent(name.clone()), ..self.stream() };
        let register = agent::Command::Register { kind: Kind::Human, profile: Profile::default() };
        let says = agent::Command::SetPresence { presence: Presence::Available };
        for (who, command) in
            [(support::operator().principal, register), (Principal::Agent(name.clone()), says)]
        {
            let (caller, command) = (self.caller(who), Command::Agent(command));
            let done = server.engine.submit(&caller, stream.clone(), command, None).await;
            done.expect("they may");
        }
        let connection = server.engine.queues().connection_opened(&self.teamspace(), &name);
        settle(server).await;
        self.person = Some(name);
        Some(connection)
    }

    pub fn teamspace(&self) -> TeamspaceId {
        self.help.teamspace()
    }

    pub fn stream(&self) -> Stream {
        Stream { teamspace: self.teamspace(), subject: Subject::Conversation(self.id) }
    }

    fn caller(&self, principal: Principal) -> Caller {
        Caller { teamspace: self.teamspace(), principal, ..support::operator() }
    }

    /// Whether it was accepted. A bot may be too late, and is then refused.
    pub async fn submit(
        &self,
        server: &Server,
        principal: Principal,
        command: conversation::Command,
    ) -> bool {
        let (caller, command) = (self.caller(principal), Command::Conversation(command));
        server.engine.submit(&caller, self.stream(), command, None).await.is_ok()
    }

    pub fn customer(&self) -> Principal {
        Principal::Customer(customer_name(self.id))
    }

    async fn customer_says(&self, server: &Server, text: &str) {
        let say = json!({ "parts": [{ "type": "text", "text": text }] });
        let say: Say = serde_json::from_value(say).expect("a message");
        let is_heard = self.submit(server, self.customer(), conversation::Command::Say(say)).await;
        assert!(is_heard, "a customer may always speak");
    }

    /// In reply to what the customer said last.
    async fn says(&self, server: &Server, agent: &AgentId, epoch: u64, text: &str) {
        let asked = self.state(server).await.turn.number;
        let parts = json!([{ "type": "text", "text": text }]);
        let say = json!({ "parts": parts, "epoch": epoch, "in_reply_to": asked });
        let say: Say = serde_json::from_value(say).expect("a message");
        let principal = Principal::Agent(agent.clone());
        self.submit(server, principal, conversation::Command::Say(say)).await;
    }

    pub async fn state(&self, server: &Server) -> Conversation {
        let state = server.engine.read().current(&self.stream()).await.expect("it can be read");
        state.as_deref().and_then(State::as_conversation).expect("it is there").clone()
    }

    /// What all of them do so long after the first message.
    pub async fn act(&self, server: &Server, passed: Span) {
        let seconds = passed.as_millis() / 1_000;
        if self.writes_again && seconds == 30 {
            self.customer_says(server, "Hello?").await;
        }
        let conversation = self.state(server).await;
        let (holder, epoch) = (&conversation.holder, conversation.epoch);
        if self.bot == Bot::Late && seconds == 90 {
            self.says(server, &id("bob"), 1, "Hello?").await;
        }
        let is_open = conversation.turn.open().is_some();
        if holder.as_str() == self.bot.name() {
            self.bot_acts(server, &conversation, seconds).await;
        } else if self.help == Help::Agent && is_open {
            self.says(server, holder, epoch, "It is on its way.").await;
        } else if let Some(person) = &self.person {
            self.person_acts(server, person, &conversation).await;
        }
    }

    async fn bot_acts(&self, server: &Server, conversation: &Conversation, seconds: i64) {
        let (holder, epoch) = (&conversation.holder, conversation.epoch);
        match self.bot {
            Bot::Answers if conversation.turn.open().is_some() => {
                self.says(server, holder, epoch, "It is on its way.").await;
            }
            Bot::Promises if seconds == 10 => {
                let text = "I can't look that up, so I am transferring you to a colleague.";
                self.says(server, holder, epoch, text).await;
            }
            Bot::Types => {
                let sign = conversation::Command::ShowProgress { epoch: Some(epoch) };
                self.submit(server, Principal::Agent(holder.clone()), sign).await;
            }
            Bot::OutOfReach => {
                let piece = conversation.told.telling.as_ref();
                let due = piece.filter(|it| it.since.plus(REACHED_WITHIN) <= server.clock.now());
                let Some(through) = due.map(|piece| piece.through) else { return };
                let detail = "it cannot be reached".to_owned();
                let failed = conversation::Command::NotDelivered { epoch, through, detail };
                self.submit(server, Principal::System, failed).await;
            }
            Bot::Answers | Bot::Never | Bot::Late | Bot::Promises | Bot::Vanishes => {}
        }
    }

    /// Picks it up after a while, and answers.
    async fn person_acts(&self, server: &Server, person: &AgentId, conversation: &Conversation) {
        let Some(open) = conversation.open_transfer() else { return };
        let (epoch, waits_since) = (conversation.epoch, open.terms.requested_at);
        if open.answering().is_some() {
            if conversation.turn.open().is_some() {
                self.says(server, person, epoch, "I have it here.").await;
            }
        } else if waits_since.plus(PICKED_UP_AFTER) <= server.clock.now() {
            let (transfer, act) = (open.id, Act::Pickup { accept: true });
            let act = transfer::Command::Act { transfer, epoch: Some(epoch), act };
            let act = conversation::Command::Transfer(act);
            let picked_up = self.submit(server, Principal::Agent(person.clone()), act).await;
            assert!(picked_up, "a person of the queue may");
        }
    }

    /// What happened, oldest first, and when.
    pub async fn record(&self, server: &Server) -> Vec<(Time, Event)> {
        let read = server.engine.read();
        let mut entries =
            read.history(&self.stream(), u64::MAX, usize::MAX).await.expect("a history");
        entries.reverse();
        entries.iter().map(recorded).collect()
    }
}

fn recorded(kept: &Sequenced) -> (Time, Event) {
    let entry = &kept.entry;
    let body = entry.body.text().expect("nothing was erased");
    let event = protocol::codec::decode(&entry.name, entry.version, body).expect("an event");
    let step::Event::Conversation(event) = event else { panic!("of no conversation: {event:?}") };
    (entry.at, event)
}
