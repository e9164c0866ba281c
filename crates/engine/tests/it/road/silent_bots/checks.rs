//! What must hold in each conversation: something happens in time, nothing twice, and what the
//! customer was told last is true.

use std::collections::BTreeSet;

use protocol::conversation::answer_within::ANSWER_WITHIN_DEFAULT;
use protocol::conversation::customer_text::of_silence;
use protocol::conversation::event::{Fallback, HolderSilent, Speaker};
use protocol::conversation::wait::EXTENDED_MAX;
use protocol::conversation::{self, Conversation, Event};
use protocol::ids::AgentId;
use protocol::time::{Span, Time};
use protocol::transfer;
use protocol::transfer::command::Request;

use super::super::Server;
use super::chat::Chat;
use super::{Bot, Help, PICKED_UP_AFTER, STEP, WAIT};

/// The customer's wait, while the record is read.
#[derive(Debug, Default)]
struct Wait {
    /// Until when the customer must hear something.
    due: Option<Time>,
    /// The messages that were answered, and who was asked since an answer.
    answered: BTreeSet<u64>,
    asked: BTreeSet<AgentId>,
    n_answers: usize,
    n_failures: usize,
    n_refused: usize,
    n_extended: usize,
}

pub async fn record_is_in_order(server: &Server, chat: &Chat) {
    let record = chat.record(server).await;
    let mut wait = Wait::default();
    for (at, event) in &record {
        wait.read(chat, *at, event);
    }
    let context = || format!("{:?} {:?} {}: {record:#?}", chat.bot, chat.help, chat.writes_again);
    assert!(wait.due.is_none(), "{} still waits for {:?}", context(), wait.due);
    let is_silent = chat.bot != Bot::Answers;
    let n_failures = if is_silent { chat.help.n_failures() } else { 0 };
    assert_eq!(wait.n_failures, n_failures, "{}", context());
    let is_helped = is_silent && matches!(chat.help, Help::People | Help::Agent);
    // A late answer is heard only if the bot still has the conversation.
    let is_alone = matches!(chat.help, Help::Nothing | Help::ClosedQueue);
    let is_late = chat.bot == Bot::Late;
    let n_own = match chat.bot {
        Bot::Answers => 1 + usize::from(chat.writes_again),
        Bot::Late => usize::from(is_alone),
        Bot::Never | Bot::Types | Bot::Promises | Bot::Vanishes | Bot::OutOfReach => 0,
    };
    assert_eq!(wait.n_answers, n_own + usize::from(is_helped), "{}", context());
    assert_eq!(wait.n_refused, usize::from(is_late && !is_alone), "{}", context());
    assert_eq!(wait.n_extended > 0, chat.bot == Bot::Types, "{}", context());
}

impl Wait {
    fn read(&mut self, chat: &Chat, at: Time, event: &Event) {
        let within = |span: Span| Some(at.plus(span));
        match event {
            Event::Said(said) if said.by == Speaker::Customer => {
                self.due = self.due.or_else(|| within(patience(chat, &said.holder)));
            }
            Event::Said(said) => {
                self.is_in_time(chat, at);
                self.due = said.answer_within.and_then(within);
                if said.answer_within.is_none() {
                    let number = said.in_reply_to.expect("they say what they answer");
                    assert!(self.answered.insert(number), "#{number} was answered twice");
                    self.n_answers += 1;
                    self.asked.clear();
                }
            }
            Event::HolderSilent(silent) => {
                self.is_in_time(chat, at);
                self.fails(chat, at, &silent.next);
            }
            Event::Unreached(unreached) => {
                let Some(next) = &unreached.next else { return };
                self.is_in_time(chat, at);
                self.fails(chat, at, next);
            }
            Event::Transfer(transfer::Event::Connected(_)) => {
                self.is_in_time(chat, at);
                self.due = within(STEP);
            }
            Event::Transfer(transfer::Event::Over(over)) => {
                self.is_in_time(chat, at);
                self.due = within(patience(chat, &over.to));
            }
            Event::NotHeard(_) => self.n_refused += 1,
            Event::Extended(_) => self.n_extended += 1,
            Event::Opened(_)
            | Event::Routed(_)
            | Event::Updated(_)
            | Event::SignalsObserved(_)
            | Event::Delivered(_)
            | Event::ReplyOverdue(_)
            | Event::Closed(_)
            | Event::Transfer(_)
            | Event::Callback(_) => {}
        }
    }

    fn is_in_time(&self, chat: &Chat, at: Time) {
        let is_late = self.due.is_some_and(|due| at > due.plus(STEP));
        assert!(!is_late, "{:?} {:?}: {at} is later than {:?}", chat.bot, chat.help, self.due);
    }

    fn fails(&mut self, chat: &Chat, at: Time, next: &Fallback) {
        self.n_failures += 1;
        if let Some(asked) = next.asked() {
            assert!(self.asked.insert(asked.clone()), "{asked} was asked twice");
        }
        self.due = match next {
            Fallback::Agent(agent) => Some(at.plus(patience(chat, agent))),
            Fallback::Queue(_) if chat.help == Help::People => Some(at.plus(PICKED_UP_AFTER)),
            Fallback::Queue(_) => Some(at.plus(WAIT)),
            Fallback::Nothing => None,
        };
    }
}

/// How long the customer of an agent waits at most.
fn patience(chat: &Chat, agent: &AgentId) -> Span {
    match chat.bot {
        _ if agent.as_str() != chat.bot.name() => ANSWER_WITHIN_DEFAULT,
        Bot::Types => Span::from_millis(ANSWER_WITHIN_DEFAULT.as_millis() * EXTENDED_MAX),
        Bot::OutOfReach => super::OUT_OF_REACH_WITHIN,
        Bot::Answers | Bot::Never | Bot::Late | Bot::Promises | Bot::Vanishes => {
            ANSWER_WITHIN_DEFAULT
        }
    }
}

pub async fn what_was_told_last_is_true(server: &Server, chat: &Chat) {
    let record = chat.record(server).await;
    let conversation = chat.state(server).await;
    let Some(is_true) = record.iter().rev().find_map(|(_, told)| truth(chat, told, &conversation))
    else {
        return;
    };
    assert!(is_true, "{:?} {:?}: {record:#?}", chat.bot, chat.help);
}

/// Whether an event is true for the customer who was told last of it; `None` if it tells them
/// nothing.
fn truth(chat: &Chat, told: &Event, conversation: &Conversation) -> Option<bool> {
    let holds = |agent: &AgentId| conversation.holder == *agent;
    let waits = conversation.waiting_transfer().is_some();
    match told {
        Event::Said(said) if said.by == Speaker::Customer => None,
        Event::Said(said) => Some(holds(&said.holder)),
        Event::Routed(routed) => Some(holds(&routed.to)),
        Event::HolderSilent(silent) => {
            let text = text(silent);
            let asks = text.contains("ask for a person") == chat.help.has_open_queue();
            let is_end = silent.next == Fallback::Nothing && text.contains("write again");
            Some(is_end && asks && holds(&silent.holder) && !waits)
        }
        Event::Transfer(transfer::Event::Requested(_)) => Some(waits),
        Event::Transfer(transfer::Event::Connected(it)) => Some(holds(&it.agent)),
        Event::Transfer(transfer::Event::Over(it)) => Some(holds(&it.to) && !waits),
        Event::Opened(_)
        | Event::NotHeard(_)
        | Event::Updated(_)
        | Event::SignalsObserved(_)
        | Event::Delivered(_)
        | Event::Unreached(_)
        | Event::Extended(_)
        | Event::ReplyOverdue(_)
        | Event::Closed(_)
        | Event::Transfer(_)
        | Event::Callback(_) => None,
    }
}

fn text(silent: &HolderSilent) -> String {
    of_silence(silent, None, "Bob", "Carol")
}

/// A customer who was told so can ask for a person, and the others cannot.
pub async fn a_person_can_be_asked_as_told(server: &Server, chat: &Chat) {
    let record = chat.record(server).await;
    let last = record.iter().rev().find_map(|(_, told)| {
        let Event::HolderSilent(silent) = told else { return None };
        (silent.next == Fallback::Nothing).then(|| text(silent))
    });
    let Some(told) = last else { return };
    let (transfer, request) = (server.engine.new_transfer_id(), Box::<Request>::default());
    let request = transfer::Command::Request { transfer, request };
    let request = conversation::Command::Transfer(request);
    let is_asked = chat.submit(server, chat.customer(), request).await;
    assert_eq!(is_asked, told.contains("ask for a person"), "{:?} {told}", chat.help);
}
