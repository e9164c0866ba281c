//! The server's indexes over all states, which save it a scan: which deadlines there are, and which
//! agent holds which task. All of it follows from the states, and is compared with them.

use std::collections::HashSet;

use engine::ports::store::{Due, StoreError};
use protocol::handoff::derive;
use protocol::ledger::Stream;
use protocol::step::{self, HoldState, State};
use store::sqlite::{ReadOnly, TaskHoldRow};

use super::report::Findings;

/// Rows of one read.
const PAGE_ROWS_MAX: usize = 512;

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
    let Some((key, own)) = task_hold(stream, state) else { return Ok(None) };
    let found = database.hold(&stream.teamspace, &key)?;
    // Once this handoff no longer holds the task, another may.
    let is_right = match &own.holder {
        Some(_) => found == own,
        None => found.value.is_some() && found.holder != Some(stream.subject.id()),
    };
    Ok((!is_right).then(|| format!("{key} is held otherwise than follows from the state")))
}

/// After the last entry: no index row may exist that follows from no state. The states of
/// `doubtful` streams were already reported as wrong.
pub fn check_rows(
    database: &ReadOnly,
    doubtful: &HashSet<Stream>,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let mut last: Option<Due> = None;
    loop {
        let page = database.deadline_rows(last.as_ref(), PAGE_ROWS_MAX)?;
        for Due { stream, deadline } in &page {
            let state = database.load(stream)?.map(|snapshot| snapshot.state_text);
            let follows = state.is_some_and(|text| {
                State::from_text(&text)
                    .is_ok_and(|state| step::deadlines(&state).contains(deadline))
            });
            if !follows && !doubtful.contains(stream) {
                let Stream { teamspace, subject } = stream;
                findings.general(format_args!(
                    "the deadline {} of {subject} in {teamspace} follows from nothing",
                    deadline.name
                ));
            }
        }
        last = page.into_iter().next_back();
        if last.is_none() {
            break;
        }
    }
    let mut last: Option<TaskHoldRow> = None;
    loop {
        let page = database.task_hold_rows(last.as_ref(), PAGE_ROWS_MAX)?;
        for row in &page {
            check_hold(database, row, doubtful, findings)?;
        }
        last = page.into_iter().next_back();
        if last.is_none() {
            return Ok(());
        }
    }
}

/// The hold of a task is what one of its handoffs left it as.
fn check_hold(
    database: &ReadOnly,
    row: &TaskHoldRow,
    doubtful: &HashSet<Stream>,
    findings: &mut Findings,
) -> Result<(), StoreError> {
    let TaskHoldRow { teamspace, key, hold } = row;
    let task_id = key.strip_prefix(derive::TASK).unwrap_or(key);
    let handoffs = database.handoffs_of_task(teamspace, task_id)?;
    let follows = handoffs.iter().any(|(stream, text)| {
        let left = State::from_text(text).ok().and_then(|state| task_hold(stream, &state));
        doubtful.contains(stream) || left.is_some_and(|(_, left)| left == *hold)
    });
    if !follows {
        findings.general(format_args!("what is held of {key} in {teamspace} follows from nothing"));
    }
    Ok(())
}

/// The key of the task, and what a handoff leaves there.
fn task_hold(stream: &Stream, state: &State) -> Option<(String, HoldState)> {
    let State::Handoff(handoff) = state else { return None };
    let hold = derive::hold(handoff)?;
    let holder = hold.occupied.then(|| stream.subject.id());
    Some((hold.key, HoldState { holder, value: hold.value }))
}
