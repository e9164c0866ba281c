//! What an open transfer or callback waits for, as answers tell a caller: customers learn that they
//! wait, until when, and what happens then, and no name of a colleague.

use protocol::callback::Callback;
use protocol::conversation::reader::Reader;
use protocol::transfer::waits::{Wait, Waiter, waits};
use protocol::transfer::{Record, Transfer};
use schemars::JsonSchema;
use serde::Serialize;

/// One thing that a transfer or a callback waits for.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TransferWaitView {
    /// `queue:ID`, a person of this queue, or `agent:ID`; customers see `person` instead of an
    /// agent.
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
    /// customer stays with the person who answers), or `nothing`.
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
        Waiter::Queue(_) => wait.who.describe(),
        Waiter::Agent(_) => "person".to_owned(),
    };
    TransferWaitView { who, actions: &[], to: None, ..view(wait) }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(leg: &u16) -> bool {
    *leg == 0
}
