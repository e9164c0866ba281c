//! What a conversation and an open transfer or callback wait for, as answers tell a caller:
//! customers learn that they wait, until when, and what happens then, and no name of a colleague.

use protocol::callback::Callback;
use protocol::conversation::reader::Reader;
use protocol::conversation::{self, Conversation};
use protocol::transfer::waits::waits;
use protocol::transfer::{Record, Transfer};
use protocol::waiting::{Then, Wait, Waiter};
use schemars::JsonSchema;
use serde::Serialize;

/// One thing that a conversation, a transfer or a callback waits for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TransferWaitView {
    /// `queue:ID`, a person of this queue, or `agent:ID`; customers see `person` or
    /// `agent` instead of an agent.
    pub who: String,
    /// The actions that they can take; none for customers.
    #[serde(rename = "for")]
    pub actions: &'static [&'static str],
    /// The number of the leg, if it is about a further person who is asked in.
    #[serde(skip_serializing_if = "is_zero")]
    pub leg: u16,
    /// `null` if that is not recorded.
    pub since: Option<String>,
    pub until: Option<String>,
    /// What happens then: `overflows` to another queue, `fails` (who held the conversation before
    /// answers again), `returns_to_queue` for the next person, `hold_ends`, `invitation_ends` (the
    /// customer stays with the person who answers), `falls_back` (the next fallback of a silent bot
    /// gets the conversation), `reminds` (the person is reminded), or `nothing`.
    pub then: &'static str,
    /// The queue to which it overflows, unless that is closed by then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

pub fn of_transfer(
    reader: Reader,
    transfer: &Transfer,
    record: Option<&Record>,
) -> Vec<TransferWaitView> {
    let all = waits(transfer, record);
    match reader {
        Reader::Person | Reader::Program => all.iter().map(view).collect(),
        Reader::Customer => {
            // Customers are not told of colleagues who are asked in.
            let own = all.iter().filter(|wait| wait.leg == 0);
            own.map(customer_view).collect()
        }
    }
}

/// What the customer waits for now. The record is that of the open transfer.
pub fn of_conversation(
    reader: Reader,
    conversation: &Conversation,
    record: Option<&Record>,
) -> Vec<TransferWaitView> {
    let wait = conversation::waits::waits(conversation, record);
    let view = |wait: &Wait| match (reader, &wait.who) {
        (Reader::Person | Reader::Program, _) => view(wait),
        // Customers speak with a bot, unless a transfer is open.
        (Reader::Customer, Waiter::Agent(_)) if conversation.open_transfer().is_none() => {
            TransferWaitView { who: "agent".to_owned(), ..customer_view(wait) }
        }
        (Reader::Customer, _) => customer_view(wait),
    };
    wait.as_ref().map(view).into_iter().collect()
}

pub fn of_callback(reader: Reader, callback: &Callback) -> Vec<TransferWaitView> {
    let actions: &[_] = match reader {
        Reader::Person | Reader::Program => &["settle"],
        Reader::Customer => &[],
    };
    vec![TransferWaitView {
        who: Waiter::Queue(callback.queue.clone()).describe(),
        actions,
        leg: 0,
        since: Some(callback.due().to_string()),
        until: None,
        then: "nothing",
        to: None,
    }]
}

fn view(wait: &Wait) -> TransferWaitView {
    TransferWaitView {
        who: wait.who.describe(),
        actions: wait.actions,
        leg: wait.leg,
        since: wait.since.map(|since| since.to_string()),
        until: wait.until.map(|until| until.to_string()),
        then: wait.then.as_str(),
        to: wait.then.to().map(ToString::to_string),
    }
}

fn customer_view(wait: &Wait) -> TransferWaitView {
    let who = match &wait.who {
        Waiter::Queue(_) | Waiter::Worker => wait.who.describe(),
        Waiter::Agent(_) => "person".to_owned(),
    };
    let shown = TransferWaitView { who, actions: &[], to: None, ..view(wait) };
    match wait.then {
        // A reminder is between colleagues.
        Then::Reminds => TransferWaitView { until: None, then: Then::Nothing.as_str(), ..shown },
        Then::Nothing
        | Then::Overflows(_)
        | Then::Fails
        | Then::ReturnsToQueue
        | Then::HoldEnds
        | Then::InvitationEnds
        | Then::FallsBack
        | Then::Defaults
        | Then::EndsUnanswered
        | Then::ClaimLapses => shown,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(leg: &u16) -> bool {
    *leg == 0
}
