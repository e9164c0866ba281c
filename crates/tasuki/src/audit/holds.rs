//! The holds: which agent holds which task, which slots are taken, which sessions ask, which
//! conversation a transfer belongs to, and how many messages a thread has. All of it follows from
//! the states, but for the count of a thread, which is bounded by the messages that there are.

use std::collections::HashSet;

use engine::ports::store::StoreError;
use protocol::codec;
use protocol::handoff::derive;
use protocol::ids::ThreadId;
use protocol::ledger::Stream;
use protocol::message::thread::{self, MESSAGES_MAX, Thread};
use protocol::step::{self, Event, HoldState, State};
use protocol::{conversation, transfer};
use store::sqlite::{HoldRow, ReadOnly};

use super::derived_rows::{PAGE_ROWS_MAX, state_of};
use super::report::Findings;
use super::session_holds;

/// The holds of a state that are not as they should be.
pub fn difference(
    database: &ReadOnly,
    stream: &Stream,
    state: &State,
) -> Result<Option<String>, StoreError> {
    for (key, own) in step::holds_left(stream, state) {
        let found = database.hold(&stream.teamspace, &key)?;
        let is_right = match (&own.holder, &own.value) {
            (Some(_), _) => found == own,
            // A transfer is never of another conversation.
            (None, Some(_)) if key.starts_with(TRANSFER) => found == own,
            // Once this stream no longer holds it, another may.
            (None, Some(_)) => found.value.is_some() && found.holder != Some(stream.subject.id()),
            (None, None) => found.holder != Some(stream.subject.id()),
        };
        if !is_right {
            return Ok(Some(format!("{key} is held otherwise than follows from the state")));
        }
    }
    if let State::Message(message) = state
        && !message.purged
        && database.hold(&stream.teamspace, &thread::key(&message.sent.thread_id))?.value.is_none()
    {
        return Ok(Some(format!("the thread {} has no count", message.sent.thread_id)));
    }
    Ok(None)
}

/// Every hold must follow from a state. Returns how many are of sessions, which follow from
/// entries.
pub fn check_rows(
    database: &ReadOnly,
    doubtful: &HashSet<Stream>,
    findings: &mut Findings,
) -> Result<u64, StoreError> {
    let mut last = None;
    let mut n_of_sessions = 0;
    loop {
        let page = database.hold_rows(last.as_ref(), PAGE_ROWS_MAX)?;
        for row in &page {
            if session_holds::KINDS.contains(&row.key.split('/').next().unwrap_or_default()) {
                n_of_sessions += 1;
            } else if !follows(database, row, doubtful)? {
                findings.general(follows_from_nothing(row));
            }
        }
        last = page.into_iter().next_back();
        if last.is_none() {
            return Ok(n_of_sessions);
        }
    }
}

fn follows_from_nothing(HoldRow { teamspace, key, .. }: &HoldRow) -> String {
    format!("what is held of {key} in {teamspace} follows from nothing")
}

/// What is wrong with a hold that is held, or that is of a task. The others say what was, which
/// takes a look at more than a few rows.
pub fn row_problem(database: &ReadOnly, row: &HoldRow) -> Result<Option<String>, StoreError> {
    let decides = row.hold.holder.is_some() || row.key.starts_with(derive::TASK);
    let is_wrong = decides && !follows(database, row, &HashSet::new())?;
    Ok(is_wrong.then(|| follows_from_nothing(row)))
}

const TRANSFER: &str = "transfer/";

fn follows(
    database: &ReadOnly,
    row: &HoldRow,
    doubtful: &HashSet<Stream>,
) -> Result<bool, StoreError> {
    let HoldRow { teamspace, key, hold } = row;
    if let Some(task_id) = key.strip_prefix(derive::TASK) {
        let handoffs = database.handoffs_of_task(teamspace, task_id)?;
        return Ok(handoffs.iter().any(|(stream, text)| {
            doubtful.contains(stream)
                || State::from_text(text)
                    .is_ok_and(|state| step::holds_left(stream, &state).contains(&own(row)))
        }));
    }
    if let Some(id) = key.strip_prefix("thread/") {
        return is_count(database, row, id);
    }
    if *hold == HoldState::default() {
        // As if it had never been taken.
        return Ok(holder_kind(key).is_some());
    }
    let holder = match (hold.holder.as_ref(), hold.value.as_ref()) {
        (Some(holder), _) => holder,
        (None, Some(conversation)) if key.starts_with(TRANSFER) => conversation,
        (None, _) => return Ok(false),
    };
    let subject = holder_kind(key).and_then(|kind| format!("{kind}/{holder}").parse().ok());
    let Some(subject) = subject else { return Ok(false) };
    let stream = Stream { teamspace: teamspace.clone(), subject };
    if doubtful.contains(&stream) {
        return Ok(true);
    }
    let Some(state) = state_of(database, &stream)? else { return Ok(false) };
    if step::holds_left(&stream, &state).contains(&own(row)) {
        return Ok(true);
    }
    match (key.strip_prefix(TRANSFER), &hold.holder) {
        (Some(id), None) => was_transferred(database, &stream, id),
        (Some(_) | None, _) => Ok(false),
    }
}

fn own(row: &HoldRow) -> (String, HoldState) {
    (row.key.clone(), row.hold.clone())
}

/// The kind of stream that can hold a key.
fn holder_kind(key: &str) -> Option<&'static str> {
    match key.split('/').next()? {
        "transfer" | "slot" => Some("conversation"),
        "listener" => Some("subscription"),
        "webhook" => Some("webhook"),
        "question" => Some("question"),
        "asking" => Some("session"),
        _ => None,
    }
}

/// As many as there are messages of the thread. Purged ones are no longer there, and which threads
/// they were of is not known.
fn is_count(database: &ReadOnly, row: &HoldRow, id: &str) -> Result<bool, StoreError> {
    let is_thread = id.parse::<ThreadId>().is_ok() && row.hold.holder.is_none();
    let value = row.hold.value.as_deref().unwrap_or_default();
    let Ok(thread) = serde_json::from_str::<Thread>(value) else { return Ok(false) };
    let times = database.times_in_thread(&row.teamspace, id)?;
    let n = u64::from(thread.n());
    let is_right = match n.checked_sub(times.len() as u64) {
        Some(0) => thread.has_times(&times),
        Some(n_purged) => n_purged <= database.n_purged(&row.teamspace)?,
        None => false,
    };
    Ok(is_thread && is_right && (1..=MESSAGES_MAX).contains(&thread.n()))
}

/// Whether a conversation had this transfer before its current one.
fn was_transferred(database: &ReadOnly, stream: &Stream, id: &str) -> Result<bool, StoreError> {
    let mut before = u64::MAX;
    loop {
        let page = database.history(stream, before, PAGE_ROWS_MAX)?;
        for sequenced in &page {
            let entry = &sequenced.entry;
            before = entry.position;
            if entry.name != "transfer.requested" {
                continue;
            }
            // An erased one may have been it.
            let Some(text) = entry.body.text() else { return Ok(true) };
            let event = codec::decode(&entry.name, entry.version, text).ok();
            if let Some(Event::Conversation(conversation::Event::Transfer(event))) = event
                && let transfer::Event::Requested(requested) = event
                && requested.transfer.to_string() == id
            {
                return Ok(true);
            }
        }
        if page.is_empty() {
            return Ok(false);
        }
    }
}
