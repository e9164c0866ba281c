//! What the customer of a conversation waits for: a person of a queue, the end of a hold, or the
//! answer of the holder.

use super::Conversation;
use super::wait::OwedKind;
use crate::transfer;
use crate::transfer::Record;
use crate::transfer::state::Stage;
use crate::waiting::{Then, Wait, Waiter};

/// What it waits for; `None` if it is closed, or the customer waits for nothing. The record is that
/// of the open transfer, and knows since when the customer waits for a person.
pub fn waits(conversation: &Conversation, record: Option<&Record>) -> Option<Wait> {
    if conversation.closed.is_some() {
        return None;
    }
    let held = conversation.open_transfer().filter(|it| matches!(it.stage, Stage::OnHold { .. }));
    if let Some(transfer) = conversation.waiting_transfer().or(held) {
        return transfer::waits::waits(transfer, record).into_iter().next();
    }
    let wait = &conversation.wait;
    let (asked, owed) = (wait.unanswered.map(|it| it.since), wait.owed);
    let since = asked.or(owed.map(|owed| owed.since))?;
    let is_with_person = conversation.open_transfer().is_some();
    let (until, then) = match (is_with_person, owed, wait.reply_at) {
        (true, _, Some(at)) => (Some(at), Then::Reminds),
        (false, Some(owed), _) => (Some(owed.until), Then::FallsBack),
        (true, _, None) | (false, None, _) => (None, Then::Nothing),
    };
    let actions: &[_] = match owed.map(|owed| owed.what) {
        Some(OwedKind::Transfer) if !is_with_person => &["transfer"],
        Some(OwedKind::Answer | OwedKind::Transfer) | None => &["answer"],
    };
    let who = Waiter::Agent(conversation.holder.clone());
    Some(Wait { who, actions, leg: 0, since: Some(since), until, then })
}
