//! The server's indexes over all states, which save it a scan: deadlines, effects, and who takes
//! part in messages. All of it follows from the states, and is compared with them. The holds are in
//! [`super::holds`].

use std::collections::HashSet;

use engine::loops::destinations::RETRY_AFTER_MAX;
use engine::ports::clock::{Clock, SystemClock};
use engine::ports::store::{Due, StoreError};
use protocol::ledger::Stream;
use protocol::message::Message;
use protocol::step::{self, State};
use protocol::time::Time;
use store::sqlite::{OutboxRow, PartyRow, ReadOnly};

use super::holds;
use super::report::Findings;

/// Rows of one read.
pub const PAGE_ROWS_MAX: usize = 512;

/// The index rows of a state that are not as they should be.
pub fn difference(
    database: &ReadOnly,
    stream: &Stream,
    state: &State,
) -> Result<Option<String>, StoreError> {
    for deadline in step::deadlines(state) {
        if !database.has_deadline(stream, &deadline)? {
            let what = format!("the deadline {} at {} is missing", deadline.name, deadline.due);
            return Ok(Some(what));
        }
    }
    for effect in step::effects(state) {
        if !database.has_effect(stream, &effect.name)? {
            return Ok(Some(format!("the effect {} is missing", effect.name)));
        }
    }
    if let State::Message(message) = state {
        for (agent, part, status) in parties(message) {
            if database.party(stream, &agent)? != Some((part.to_owned(), status)) {
                let what = format!("the part of {agent} is not in the mailboxes as it should be");
                return Ok(Some(what));
            }
        }
    }
    holds::difference(database, stream, state)
}

/// Who takes part in a message, with part and status. A purged one is in no mailbox.
fn parties(message: &Message) -> Vec<(String, &'static str, String)> {
    if message.purged {
        return Vec::new();
    }
    let recipients = message.recipients.iter();
    let mut parties: Vec<_> =
        recipients.map(|(agent, it)| (agent.to_string(), "to", it.to_string())).collect();
    let from = &message.sent.from;
    if !message.recipients.contains_key(from) {
        parties.push((from.to_string(), "from", message.status().to_string()));
    }
    parties
}

/// After the last entry: no index row may exist that follows from no state. The states of
/// `doubtful` streams were already reported as wrong. Returns how many holds are of sessions.
pub fn check_rows(
    database: &ReadOnly,
    doubtful: &HashSet<Stream>,
    findings: &mut Findings,
) -> Result<u64, StoreError> {
    check_deadlines(database, doubtful, findings)?;
    check_outbox(database, doubtful, findings)?;
    check_parties(database, doubtful, findings)?;
    check_places(database, findings)?;
    holds::check_rows(database, doubtful, findings)
}

/// The current state of a stream, if there is one that can be read.
pub fn state_of(database: &ReadOnly, stream: &Stream) -> Result<Option<State>, StoreError> {
    let snapshot = database.load(stream)?;
    Ok(snapshot.and_then(|snapshot| State::from_text(&snapshot.state_text).ok()))
}

fn check_deadlines(
    database: &ReadOnly,
    doubtful: &HashSet<Stream>,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut last = None;
    loop {
        let page = database.deadline_rows(last.as_ref(), PAGE_ROWS_MAX)?;
        for due in page.iter().filter(|due| !doubtful.contains(&due.stream)) {
            if let Some(problem) = deadline_problem(database, due)? {
                findings.general(problem);
            }
        }
        last = page.into_iter().next_back();
        if last.is_none() {
            return Ok(());
        }
    }
}

pub fn deadline_problem(database: &ReadOnly, due: &Due) -> Result<Option<String>, StoreError> {
    let Stream { teamspace, subject } = &due.stream;
    let state = state_of(database, &due.stream)?;
    let is_wanted = state.is_some_and(|state| step::deadlines(&state).contains(&due.deadline));
    let name = &due.deadline.name;
    Ok((!is_wanted)
        .then(|| format!("the deadline {name} of {subject} in {teamspace} follows from nothing")))
}

fn check_outbox(
    database: &ReadOnly,
    doubtful: &HashSet<Stream>,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let now = SystemClock.now();
    let mut last = None;
    loop {
        let page = database.outbox_rows(last.as_ref(), PAGE_ROWS_MAX)?;
        for row in page.iter().filter(|row| !doubtful.contains(&row.stream)) {
            if let Some(problem) = effect_problem(database, row, now)? {
                findings.general(problem);
            }
        }
        last = page.into_iter().next_back();
        if last.is_none() {
            return Ok(());
        }
    }
}

pub fn effect_problem(
    database: &ReadOnly,
    row: &OutboxRow,
    now: Time,
) -> Result<Option<String>, StoreError> {
    let Stream { teamspace, subject } = &row.stream;
    let what = outbox_problem(database, row, now)?;
    Ok(what.map(|what| format!("the effect {} of {subject} in {teamspace} {what}", row.name)))
}

fn outbox_problem(
    database: &ReadOnly,
    row: &OutboxRow,
    now: Time,
) -> Result<Option<&'static str>, StoreError> {
    // Every retry is due within this time, and a lease is shorter.
    let latest = now.plus(RETRY_AFTER_MAX).plus(RETRY_AFTER_MAX);
    let state = state_of(database, &row.stream)?;
    let wants = |state: State| step::effects(&state).iter().any(|it| it.name == row.name);
    if !state.is_some_and(wants) {
        return Ok(Some("follows from nothing"));
    }
    if row.leased_until > latest || row.due.is_some_and(|due| due > latest) {
        return Ok(Some("is put off for longer than the server puts anything off"));
    }
    let is_given_up_without_try = row.due.is_none() && !row.has_error;
    Ok(is_given_up_without_try.then_some("was given up without a failure"))
}

fn check_parties(
    database: &ReadOnly,
    doubtful: &HashSet<Stream>,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut last = None;
    loop {
        let page = database.party_rows(last.as_ref(), PAGE_ROWS_MAX)?;
        for row in &page {
            let is_doubtful = row.stream.as_ref().is_some_and(|it| doubtful.contains(it));
            if !is_doubtful && let Some(problem) = party_problem(database, row)? {
                findings.general(problem);
            }
        }
        last = page.into_iter().next_back();
        if last.is_none() {
            return Ok(());
        }
    }
}

pub fn party_problem(database: &ReadOnly, row: &PartyRow) -> Result<Option<String>, StoreError> {
    let PartyRow { agent, teamspace, .. } = row;
    let is_party = is_party(database, row)?;
    Ok((!is_party).then(|| {
        format!("a message in the mailbox of {agent} in {teamspace} follows from nothing")
    }))
}

fn is_party(database: &ReadOnly, row: &PartyRow) -> Result<bool, StoreError> {
    let Some(stream) = &row.stream else { return Ok(false) };
    let Some(State::Message(message)) = state_of(database, stream)? else { return Ok(false) };
    let own = |(agent, part, status): &(String, &str, String)| {
        *agent == row.agent && *part == row.part && *status == row.status
    };
    Ok(stream.teamspace.as_str() == row.teamspace && parties(&message).iter().any(own))
}

/// A cursor that was moved back repeats what is safe to repeat. One that was moved forward skips
/// entries, which cannot be told from having done them; but none is past the end.
fn check_places(database: &ReadOnly, findings: &mut Findings) -> Result<(), StoreError> {
    let newest = database.newest()?;
    for (follower, seq) in database.place_rows()? {
        if !u64::try_from(seq).is_ok_and(|seq| seq <= newest) {
            findings.general(format_args!("the cursor of {follower} is not within the ledger"));
        }
    }
    Ok(())
}
