//! The holds: which agent holds which task, which slots are taken, which sessions ask, which
//! conversation a transfer belongs to, and how many messages a sender has sent in a thread. All of
//! it follows from the states, but for these counts, which are bounded by the messages that there
//! are.

use std::collections::HashSet;

use engine::ports::store::StoreError;
use protocol::codec;
use protocol::handoff::derive;
use protocol::ids::{AgentId, ThreadId};
use protocol::ledger::Stream;
use protocol::message::state::SERVER;
use protocol::message::thread::{self, Count, MESSAGES_MAX};
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
    {
        let key = thread::key_of(&message.sent);
        let is_counted = database.hold(&stream.teamspace, &key)?.value.is_some();
        return Ok((!is_counted).then(|| format!("{key} has no count")));
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
    if let Some((sender, thread_id)) = counted(key) {
        return is_count(database, row, sender, thread_id);
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

/// Whose messages a key counts, and in which thread. Earlier versions counted those of all senders
/// together.
fn counted(key: &str) -> Option<(Option<&str>, &str)> {
    match key.strip_prefix(thread::SENT) {
        Some(rest) => rest.split_once('/').map(|(sender, thread_id)| (Some(sender), thread_id)),
        None => key.strip_prefix(thread::WHOLE).map(|thread_id| (None, thread_id)),
    }
}

/// As many as there are messages that count there, which each message says itself. Purged ones are
/// no longer there, and where they counted is not known. The limit is that of agents: neither the
/// server's own messages nor those of a thread as a whole have one.
fn is_count(
    database: &ReadOnly,
    row: &HoldRow,
    sender: Option<&str>,
    thread_id: &str,
) -> Result<bool, StoreError> {
    let is_name = sender.is_none_or(|id| id.parse::<AgentId>().is_ok());
    let is_free = row.hold.holder.is_none();
    if !is_name || !is_free || thread_id.parse::<ThreadId>().is_err() {
        return Ok(false);
    }
    let value = row.hold.value.as_deref().unwrap_or_default();
    let Ok(count) = serde_json::from_str::<Count>(value) else { return Ok(false) };
    let mut left = Count::default();
    database.messages_in_thread(&row.teamspace, thread_id, sender, |text| {
        if let Ok(State::Message(message)) = State::from_text(text)
            && thread::key_of(&message.sent) == row.key
        {
            left = std::mem::take(&mut left).with(&message.sent, message.created_at);
        }
    })?;
    let n_max = match sender {
        Some(SERVER) | None => u32::MAX,
        Some(_) => MESSAGES_MAX,
    };
    let is_right = match count.n_beyond(&left) {
        Some(0) => true,
        Some(n_purged) => u64::from(n_purged) <= database.n_purged(&row.teamspace)?,
        None => false,
    };
    Ok(is_right && (1..=n_max).contains(&count.n()))
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
