//! What an audit reads of the rows that are derived from snapshots: deadlines, holds, effects, and
//! who takes part in messages; and of recorded outcomes and cursors.

use engine::ports::store::{Due, KeyScope, RecordedOutcome};
use protocol::ids::TeamspaceId;
use protocol::ledger::Stream;
use protocol::step::{Deadline, HoldState};
use protocol::time::Time;
use rusqlite::{Connection, OptionalExtension, Result, params};

use super::{row_order, rows};

/// A hold, as stored in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRow {
    pub teamspace: TeamspaceId,
    pub key: String,
    pub hold: HoldState,
}

/// An effect, as stored in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxRow {
    pub stream: Stream,
    pub name: String,
    /// `None` for one that was given up.
    pub due: Option<Time>,
    pub leased_until: Time,
    pub has_error: bool,
}

/// Who takes part in a message, as stored in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartyRow {
    pub teamspace: String,
    pub agent: String,
    message: i64,
    pub part: String,
    pub status: String,
    /// `None` if there is no such message.
    pub stream: Option<Stream>,
}

/// A recorded outcome, as stored in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeRow {
    pub scope: KeyScope,
    pub recorded: RecordedOutcome,
}

pub fn has_deadline(connection: &Connection, stream: &Stream, deadline: &Deadline) -> Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM deadlines
             WHERE due = ?1 AND teamspace = ?2 AND subject = ?3 AND name = ?4",
        )?
        .exists(params![
            deadline.due.as_millis(),
            stream.teamspace.as_str(),
            stream.subject.to_string(),
            deadline.name,
        ])
}

pub fn deadline_rows(
    connection: &Connection,
    after: Option<&Due>,
    limit: usize,
) -> Result<Vec<Due>> {
    let beginning = || (i64::MIN, "", String::new(), "");
    let (due, teamspace, subject, name) = after.map_or_else(beginning, deadline_key);
    let page: Vec<Due> = connection
        .prepare_cached(
            "SELECT teamspace, subject, name, due FROM deadlines
             WHERE (due, teamspace, subject, name) > (?1, ?2, ?3, ?4)
             ORDER BY due, teamspace, subject, name LIMIT ?5",
        )?
        .query_map(
            params![due, teamspace, subject, name, rows::count(limit)],
            super::deadline_rows::due_row,
        )?
        .collect::<Result<_>>()?;
    row_order::check(after.map(deadline_key), &page, deadline_key)?;
    Ok(page)
}

fn deadline_key(row: &Due) -> (i64, &str, String, &str) {
    let Due { stream, deadline } = row;
    let (teamspace, subject) = (stream.teamspace.as_str(), stream.subject.to_string());
    (deadline.due.as_millis(), teamspace, subject, deadline.name.as_ref())
}

/// All holds after one of them, in the order of their keys.
pub fn hold_rows(
    connection: &Connection,
    after: Option<&HoldRow>,
    limit: usize,
) -> Result<Vec<HoldRow>> {
    let (teamspace, key) = after.map_or(("", ""), hold_key);
    let page: Vec<HoldRow> = connection
        .prepare_cached(
            "SELECT teamspace, key, holder, value FROM holds WHERE (teamspace, key) > (?1, ?2)
             ORDER BY teamspace, key LIMIT ?3",
        )?
        .query_map(params![teamspace, key, rows::count(limit)], |row| {
            Ok(HoldRow {
                teamspace: rows::parsed(row, 0)?,
                key: row.get(1)?,
                hold: HoldState { holder: row.get(2)?, value: row.get(3)? },
            })
        })?
        .collect::<Result<_>>()?;
    row_order::check(after.map(hold_key), &page, hold_key)?;
    Ok(page)
}

fn hold_key(row: &HoldRow) -> (&str, &str) {
    (row.teamspace.as_str(), &row.key)
}

pub fn has_effect(connection: &Connection, stream: &Stream, name: &str) -> Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM outbox WHERE teamspace = ?1 AND subject = ?2 AND name = ?3")?
        .exists(params![stream.teamspace.as_str(), stream.subject.to_string(), name])
}

pub fn outbox_rows(
    connection: &Connection,
    after: Option<&OutboxRow>,
    limit: usize,
) -> Result<Vec<OutboxRow>> {
    let beginning = || ("", String::new(), "");
    let (teamspace, subject, name) = after.map_or_else(beginning, outbox_key);
    let page: Vec<OutboxRow> = connection
        .prepare_cached(
            "SELECT teamspace, subject, name, due, leased_until, error IS NOT NULL FROM outbox
             WHERE (teamspace, subject, name) > (?1, ?2, ?3)
             ORDER BY teamspace, subject, name LIMIT ?4",
        )?
        .query_map(params![teamspace, subject, name, rows::count(limit)], |row| {
            Ok(OutboxRow {
                stream: rows::stream(row, 0)?,
                name: row.get(2)?,
                due: row.get::<_, Option<i64>>(3)?.map(Time::from_millis),
                leased_until: rows::time(row, 4)?,
                has_error: row.get(5)?,
            })
        })?
        .collect::<Result<_>>()?;
    row_order::check(after.map(outbox_key), &page, outbox_key)?;
    Ok(page)
}

fn outbox_key(row: &OutboxRow) -> (&str, String, &str) {
    (row.stream.teamspace.as_str(), row.stream.subject.to_string(), &row.name)
}

/// The part and the status of a party of a message.
pub fn party(
    connection: &Connection,
    stream: &Stream,
    agent: &str,
) -> Result<Option<(String, String)>> {
    connection
        .prepare_cached(
            "SELECT p.part, p.status FROM messages m
             JOIN parties p ON p.teamspace = m.teamspace AND p.message = m.row
             WHERE m.teamspace = ?1 AND m.id = ?2 AND p.agent = ?3",
        )?
        .query_row(params![stream.teamspace.as_str(), stream.subject.id(), agent], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()
}

pub fn party_rows(
    connection: &Connection,
    after: Option<&PartyRow>,
    limit: usize,
) -> Result<Vec<PartyRow>> {
    let (teamspace, agent, message) = after.map_or(("", "", i64::MIN), party_key);
    let page: Vec<PartyRow> = connection
        .prepare_cached(
            "SELECT p.teamspace, p.agent, p.message, p.part, p.status, m.teamspace,
                    'message/' || m.id
             FROM parties p LEFT JOIN messages m ON m.row = p.message
             WHERE (p.teamspace, p.agent, p.message) > (?1, ?2, ?3)
             ORDER BY p.teamspace, p.agent, p.message LIMIT ?4",
        )?
        .query_map(params![teamspace, agent, message, rows::count(limit)], |row| {
            let is_known = row.get::<_, Option<String>>(5)?.is_some();
            Ok(PartyRow {
                teamspace: row.get(0)?,
                agent: row.get(1)?,
                message: row.get(2)?,
                part: row.get(3)?,
                status: row.get(4)?,
                stream: is_known.then(|| rows::stream(row, 5)).transpose()?,
            })
        })?
        .collect::<Result<_>>()?;
    row_order::check(after.map(party_key), &page, party_key)?;
    Ok(page)
}

fn party_key(row: &PartyRow) -> (&str, &str, i64) {
    (&row.teamspace, &row.agent, row.message)
}

pub fn outcome_rows(
    connection: &Connection,
    after: Option<&OutcomeRow>,
    limit: usize,
) -> Result<Vec<OutcomeRow>> {
    let (teamspace, caller, key) = after.map_or(("", "", ""), outcome_key);
    let page: Vec<OutcomeRow> = connection
        .prepare_cached(
            "SELECT teamspace, caller, key, fingerprint, outcome, mac FROM outcomes
             WHERE (teamspace, caller, key) > (?1, ?2, ?3)
             ORDER BY teamspace, caller, key LIMIT ?4",
        )?
        .query_map(params![teamspace, caller, key, rows::count(limit)], |row| {
            Ok(OutcomeRow {
                scope: KeyScope {
                    teamspace: rows::parsed(row, 0)?,
                    caller: row.get(1)?,
                    key: row.get(2)?,
                },
                recorded: RecordedOutcome {
                    fingerprint: row.get(3)?,
                    outcome: row.get(4)?,
                    mac: row.get(5)?,
                },
            })
        })?
        .collect::<Result<_>>()?;
    row_order::check(after.map(outcome_key), &page, outcome_key)?;
    Ok(page)
}

fn outcome_key(row: &OutcomeRow) -> (&str, &str, &str) {
    (row.scope.teamspace.as_str(), &row.scope.caller, &row.scope.key)
}

/// The cursors of the loops that follow the ledger.
pub fn place_rows(connection: &Connection) -> Result<Vec<(String, i64)>> {
    connection
        .prepare_cached("SELECT follower, seq FROM places ORDER BY follower")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// The texts of the states of the messages of a thread that were not purged, in the order in which
/// they were sent: of one sender, or of all.
pub fn messages_in_thread(
    connection: &Connection,
    teamspace: &TeamspaceId,
    thread_id: &str,
    sender: Option<&str>,
    mut take: impl FnMut(&str),
) -> Result<()> {
    let mut messages = connection.prepare_cached(
        "SELECT state FROM messages
         WHERE teamspace = ?1 AND thread_id = ?2 AND (?3 IS NULL OR from_agent = ?3)
         ORDER BY row",
    )?;
    let mut rows = messages.query(params![teamspace.as_str(), thread_id, sender])?;
    while let Some(row) = rows.next()? {
        take(row.get_ref(0)?.as_str()?);
    }
    Ok(())
}

/// Purged messages are kept with the other streams.
pub fn n_purged(connection: &Connection, teamspace: &TeamspaceId) -> Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM streams WHERE teamspace = ?1 AND kind = 'message'")?
        .query_row([teamspace.as_str()], |row| row.get(0))
}

/// The handoffs of a task, each with the text of its state.
pub fn handoffs_of_task(
    connection: &Connection,
    teamspace: &TeamspaceId,
    task_id: &str,
) -> Result<Vec<(Stream, String)>> {
    connection
        .prepare_cached(
            "SELECT teamspace, 'handoff/' || id, state FROM handoffs
             WHERE teamspace = ?1 AND task_id = ?2",
        )?
        .query_map(params![teamspace.as_str(), task_id], |row| {
            Ok((rows::stream(row, 0)?, row.get(2)?))
        })?
        .collect()
}
