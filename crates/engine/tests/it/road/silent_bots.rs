//! Bots that never answer, answer late, vanish, or promise a transfer and do not do it, while the
//! server restarts: each customer is served or told something true within the time, and none twice.

use protocol::agent::{self, Kind, Profile};
use protocol::caller::{Caller, Principal};
use protocol::conversation::command::{Open, Say};
use protocol::conversation::event::Speaker;
use protocol::conversation::silence::{ANSWER_WITHIN_DEFAULT, EXTENDED_MAX};
use protocol::conversation::state::customer_name;
use protocol::conversation::{self, Event};
use protocol::ids::{ConversationId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step::{self, Command};
use protocol::time::{Span, Time};
use serde_json::json;

use super::Server;
use crate::support::{self, id, register_as};

/// Conversations in a full run, and in a usual one.
const CONVERSATIONS_FULL: usize = 1_000;
const CONVERSATIONS: usize = 60;

/// The time that passes at once, and the time between two restarts.
const STEP: Span = Span::from_millis(5_000);
const STEPS_PER_RESTART: usize = 7;

/// A bot that types until it vanishes has its limit ten times.
const STEPS: usize = 12 * 12;

/// What a bot does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bot {
    Never,
    Late,
    /// Shows that it is working, for ever.
    Types,
    Promises,
    Answers,
}

const BOTS: [Bot; 5] = [Bot::Never, Bot::Late, Bot::Types, Bot::Promises, Bot::Answers];

/// A conversation with one message of its customer.
struct Chat {
    bot: Bot,
    teamspace: TeamspaceId,
    id: ConversationId,
    asked_at: Time,
    /// Whether there is a queue that can be asked.
    has_queue: bool,
}

impl Chat {
    fn stream(&self) -> Stream {
        let subject = Subject::Conversation(self.id);
        Stream { teamspace: self.teamspace.clone(), subject }
    }

    fn caller(&self, principal: Principal) -> Caller {
        Caller { teamspace: self.teamspace.clone(), principal, ..support::operator() }
    }

    async fn ask(&self, server: &Server, caller: &Caller, command: conversation::Command) {
        let command = Command::Conversation(command);
        // A bot may be too late, and is then refused.
        let _ = server.engine.submit(caller, self.stream(), command, None).await;
    }

    async fn bot_says(&self, server: &Server, text: &str) {
        let parts = json!([{ "type": "text", "text": text }]);
        let say = json!({ "parts": parts, "epoch": 1, "in_reply_to": 1 });
        let say: Say = serde_json::from_value(say).expect("a message");
        let bot = self.caller(Principal::Agent(id("bob")));
        self.ask(server, &bot, conversation::Command::Say(say)).await;
    }

    /// What its bot does so long after the message.
    async fn bot_acts(&self, server: &Server, after: Span) {
        let seconds = after.as_millis() / 1_000;
        match (self.bot, seconds) {
            (Bot::Answers, 10) => self.bot_says(server, "It is on its way.").await,
            (Bot::Promises, 10) => {
                self.bot_says(server, "I am transferring you to a colleague.").await;
            }
            (Bot::Late, 90) => self.bot_says(server, "Hello?").await,
            (Bot::Types, _) => {
                let bot = self.caller(Principal::Agent(id("bob")));
                let sign = conversation::Command::ShowProgress { epoch: Some(1) };
                self.ask(server, &bot, sign).await;
            }
            (Bot::Never | Bot::Late | Bot::Promises | Bot::Answers, _) => {}
        }
    }
}

#[tokio::test]
async fn no_customer_of_a_silent_bot_is_forgotten_or_served_twice() {
    let is_full = std::env::var_os("TASUKI_TEST_FULL").is_some();
    let n_chats = if is_full { CONVERSATIONS_FULL } else { CONVERSATIONS };
    let mut server = Server::start();
    let teamspaces = [("default", true), ("bare", false)];
    for (name, has_queue) in teamspaces {
        set_up(&server, &name.parse().expect("a teamspace"), has_queue).await;
    }
    let mut chats = Vec::new();
    for number in 0..n_chats {
        let (name, has_queue) = teamspaces[number / BOTS.len() % teamspaces.len()];
        let teamspace = name.parse().expect("a teamspace");
        chats.push(begin(&server, teamspace, has_queue, BOTS[number % BOTS.len()]).await);
    }
    for step in 1..=STEPS {
        server.clock.advance(STEP);
        if step % STEPS_PER_RESTART == 0 {
            server = server.restart();
        }
        while server.engine.fire_due_deadlines().await.expect("the store works") > 0 {}
        let after = Span::from_millis(STEP.as_millis() * i64::try_from(step).expect("few"));
        for chat in &chats {
            chat.bot_acts(&server, after).await;
        }
    }
    for chat in &chats {
        check(&server, chat).await;
    }
}

async fn set_up(server: &Server, teamspace: &TeamspaceId, has_queue: bool) {
    let operator = Caller { teamspace: teamspace.clone(), ..support::operator() };
    let queue = agent::Command::Register { kind: Kind::Queue, profile: Profile::default() };
    let queue = has_queue.then_some(("default", Command::Agent(queue)));
    for (name, register) in [("bob", register_as("bob"))].into_iter().chain(queue) {
        let stream = Stream { teamspace: teamspace.clone(), subject: Subject::Agent(id(name)) };
        let done = server.engine.submit(&operator, stream, register, None).await;
        done.expect("an operator may register an agent");
    }
}

async fn begin(server: &Server, teamspace: TeamspaceId, has_queue: bool, bot: Bot) -> Chat {
    let id_of_chat = server.engine.new_conversation_id();
    let asked_at = support::start();
    let chat = Chat { bot, teamspace, id: id_of_chat, asked_at, has_queue };
    let open = Open { agent: Some(id("bob")), ..Open::default() };
    let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
    let operator = chat.caller(support::operator().principal);
    server.engine.submit_new(&operator, chat.stream(), open, None).await.expect("it is new");
    let say = json!({ "parts": [{ "type": "text", "text": "Where is my parcel?" }] });
    let say: Say = serde_json::from_value(say).expect("a message");
    let customer = chat.caller(Principal::Customer(customer_name(chat.id)));
    chat.ask(server, &customer, conversation::Command::Say(say)).await;
    chat
}

/// What the record says about a conversation.
#[derive(Debug, Default, PartialEq, Eq)]
struct Record {
    n_answers: usize,
    n_refused: usize,
    n_told: usize,
    n_asked_person: usize,
    n_extended: usize,
    /// Until the customer first heard something.
    first: Option<Span>,
    /// Until the customer was told that the bot was silent.
    told: Option<Span>,
}

async fn check(server: &Server, chat: &Chat) {
    let record = record(server, chat).await;
    let limit = ANSWER_WITHIN_DEFAULT.as_millis();
    let within = |span: Option<Span>, limit: i64| {
        span.is_some_and(|span| span.as_millis() <= limit + STEP.as_millis())
    };
    let is_silent = chat.bot != Bot::Answers;
    let first_limit = if chat.bot == Bot::Types { EXTENDED_MAX * limit } else { limit };
    assert!(within(record.first, first_limit), "{:?}: {record:?}", chat.bot);
    assert_eq!(record.n_told, usize::from(is_silent), "{:?}: {record:?}", chat.bot);
    assert_eq!(record.n_asked_person, usize::from(is_silent && chat.has_queue), "{record:?}");
    // A late answer is heard only if the bot still has the conversation.
    let (answers, refused) = match (chat.bot, chat.has_queue) {
        (Bot::Never | Bot::Types, _) => (0, 0),
        (Bot::Promises | Bot::Answers, _) | (Bot::Late, false) => (1, 0),
        (Bot::Late, true) => (0, 1),
    };
    assert_eq!((record.n_answers, record.n_refused), (answers, refused), "{:?}", chat.bot);
    match chat.bot {
        Bot::Promises => assert!(within(record.told, 10_000 + limit), "{record:?}"),
        Bot::Types => assert!((1..=20).contains(&record.n_extended), "{record:?}"),
        Bot::Never | Bot::Late | Bot::Answers => assert_eq!(record.n_extended, 0, "{record:?}"),
    }
}

async fn record(server: &Server, chat: &Chat) -> Record {
    let stream = chat.stream();
    let mut entries =
        server.engine.read().history(&stream, u64::MAX, usize::MAX).await.expect("a history");
    entries.reverse();
    let mut record = Record::default();
    for kept in entries {
        let entry = kept.entry;
        let body = entry.body.text().expect("nothing was erased");
        let event = protocol::codec::decode(&entry.name, entry.version, body).expect("an event");
        let after = entry.at.since(chat.asked_at);
        if let step::Event::Conversation(Event::Said(said)) = &event
            && said.by != Speaker::Customer
        {
            record.n_answers += 1;
            record.first.get_or_insert(after);
        }
        let count = |name: &str| usize::from(entry.name == name);
        let n_told = count("conversation.holder_silent");
        if n_told > 0 {
            record.first.get_or_insert(after);
            record.told.get_or_insert(after);
        }
        record.n_told += n_told;
        record.n_refused += count("conversation.not_heard");
        record.n_extended += count("conversation.extended");
        record.n_asked_person += count("transfer.requested");
    }
    record
}

#[tokio::test]
async fn a_worker_that_only_has_a_token_takes_conversations_while_it_is_connected() {
    let server = Server::start();
    let teamspace = TeamspaceId::default_teamspace();
    let introduce = async |name: &str, command: agent::Command| {
        let command = Command::Agent(command);
        let stream = support::agent_stream(name);
        server.engine.submit(&support::operator(), stream, command, None).await.expect("it may");
    };
    let opens = async || {
        let subject = Subject::Conversation(server.engine.new_conversation_id());
        let stream = Stream { teamspace: teamspace.clone(), subject };
        let open = Open { agent: Some(id("bob")), ..Open::default() };
        let open = Command::Conversation(conversation::Command::Open(Box::new(open)));
        server.engine.submit_new(&support::operator(), stream, open, None).await.is_ok()
    };
    let settle = async || {
        server.engine.queues().settle_connections().await.expect("the store works");
    };
    introduce("bob", agent::Command::Introduce).await;
    assert!(!opens().await, "no one has said that it takes conversations");
    let connection = server.engine.queues().connection_opened(&teamspace, &id("bob"));
    settle().await;
    assert!(opens().await, "it is connected");
    drop(connection);
    settle().await;
    assert!(!opens().await, "it is gone");
    let url = Some("https://bots.example/turns".to_owned());
    introduce("bob", agent::Command::SetEndpoint { url, history: None }).await;
    assert!(opens().await, "it has an endpoint");
    introduce("bob", agent::Command::SetEndpoint { url: None, history: None }).await;
    assert!(!opens().await, "it has none any more");
    introduce("bob", agent::Command::Introduce).await;
    assert!(!opens().await, "another token changes nothing");
    let (kind, profile) = (Kind::Worker, Profile::default());
    introduce("bob", agent::Command::Register { kind, profile }).await;
    assert!(opens().await, "it was declared");
}
