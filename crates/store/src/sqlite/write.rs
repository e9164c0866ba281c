//! The write side: how one commit becomes rows. Everything is compared before it is written, and a
//! conflict is an answer, not an error.

use engine::port::{Commit, CommitError, Committed, Sealed, StoreError};
use protocol::canonical::Hash;
use protocol::handoff::Handoff;
use protocol::ledger::{Body, Entry, GENESIS, Stream, Subject};
use protocol::step::State;
use protocol::time::Time;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::rows;

/// How many outcomes one sweep looks at: more than come in between two sweeps on average, and few
/// enough that no commit waits for it.
const SWEEP_ROWS: usize = 1_024;

/// Writes one commit. `Ok(Err(_))` is a conflict: the caller rolls back to its savepoint.
pub fn write_commit(
    connection: &Connection,
    commit: &Commit,
    next_seq: u64,
) -> Result<std::result::Result<Committed, CommitError>> {
    if let Some(conflict) = write_outcome(connection, commit)? {
        return Ok(Err(conflict));
    }
    let known = place(connection, &commit.stream)?;
    let (position, head) =
        known.as_ref().map_or((0, GENESIS), |place| (place.position, place.head));
    if (position, head) != (commit.expected_position, commit.expected_head) {
        return Ok(Err(CommitError::Moved));
    }
    if let Some(conflict) = write_holds(connection, commit)? {
        return Ok(Err(conflict));
    }
    if let Some(position) = commit.erase
        && !erase(connection, &commit.stream, position)?
    {
        let missing = StoreError::Corrupt("no such position to erase".to_owned());
        return Ok(Err(missing.into()));
    }
    let last_seq = write_entries(
        connection,
        commit,
        next_seq,
        known.as_ref().map_or(0, |known| known.last_seq),
    )?;
    if let Some(document) = &commit.document {
        connection
            .prepare_cached("INSERT INTO documents (seq, hash, text) VALUES (?1, ?2, ?3)")?
            .execute(params![last_seq, document.hash, document.text])?;
    }
    write_deadlines(connection, commit)?;
    write_snapshot(connection, commit, known.as_ref(), last_seq)?;
    Ok(Ok(Committed { last_seq }))
}

/// Where a stream stands: its row, and the end of its chain of entries.
struct Place {
    row: i64,
    position: u64,
    head: Hash,
    last_seq: u64,
}

fn place(connection: &Connection, stream: &Stream) -> Result<Option<Place>> {
    let read = |row: &Row<'_>| {
        Ok(Place {
            row: row.get(0)?,
            position: row.get(1)?,
            head: row.get(2)?,
            last_seq: row.get(3)?,
        })
    };
    match &stream.subject {
        Subject::Handoff(id) => connection
            .prepare_cached(
                "SELECT row, position, head, last_seq FROM handoffs
                 WHERE id = ?1 AND teamspace = ?2",
            )?
            .query_row(params![id.to_string(), stream.teamspace.as_str()], read)
            .optional(),
        Subject::Agent(_) | Subject::Token(_) => connection
            .prepare_cached(
                "SELECT row, position, head, last_seq FROM streams
                 WHERE teamspace = ?1 AND subject = ?2",
            )?
            .query_row(params![stream.teamspace.as_str(), stream.subject.to_string()], read)
            .optional(),
    }
}

fn write_outcome(connection: &Connection, commit: &Commit) -> Result<Option<CommitError>> {
    let Some(key) = &commit.key else { return Ok(None) };
    let inserted = connection
        .prepare_cached(
            "INSERT INTO outcomes (teamspace, caller, key, fingerprint, outcome, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            key.scope.teamspace.as_str(),
            key.scope.caller,
            key.scope.key,
            key.recorded.fingerprint,
            key.recorded.outcome,
            key.at.as_millis(),
        ])?;
    if inserted == 1 {
        return Ok(None);
    }
    Ok(rows::outcome(connection, &key.scope)?.map(CommitError::KeyUsed))
}

fn write_holds(connection: &Connection, commit: &Commit) -> Result<Option<CommitError>> {
    for write in &commit.holds {
        let current = rows::hold(connection, &commit.stream.teamspace, &write.key)?;
        if current != write.expected {
            return Ok(Some(CommitError::HoldTaken { key: write.key.clone(), current }));
        }
        connection
            .prepare_cached(
                "INSERT INTO holds (teamspace, key, holder, value) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (teamspace, key)
                 DO UPDATE SET holder = excluded.holder, value = excluded.value",
            )?
            .execute(params![
                commit.stream.teamspace.as_str(),
                write.key,
                write.next.holder,
                write.next.value,
            ])?;
    }
    Ok(None)
}

fn write_entries(
    connection: &Connection,
    commit: &Commit,
    next_seq: u64,
    mut prev_seq: u64,
) -> Result<u64> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO entries (seq, prev_seq, teamspace, subject, position, name, version, actor,
                              at, salt, body, commitment, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    let subject = commit.stream.subject.to_string();
    let mut position = commit.expected_position;
    for (seq, entry) in (next_seq..).zip(&commit.entries) {
        position += 1;
        assert_eq!(entry.position, position, "the entries of a commit continue their stream");
        let (salt, body, commitment) = match &entry.body {
            Body::Kept { salt, text } => (Some(salt), Some(text), None),
            Body::Erased { commitment } => (None, None, Some(commitment)),
        };
        statement.execute(params![
            seq,
            prev_seq,
            commit.stream.teamspace.as_str(),
            subject,
            entry.position,
            entry.name,
            entry.version,
            entry.actor,
            entry.at.as_millis(),
            salt,
            body,
            commitment,
            entry.hash,
        ])?;
        prev_seq = seq;
    }
    Ok(prev_seq)
}

fn write_deadlines(connection: &Connection, commit: &Commit) -> Result<()> {
    if commit.disarm.is_empty() && commit.arm.is_empty() {
        return Ok(());
    }
    let teamspace = commit.stream.teamspace.as_str();
    let subject = commit.stream.subject.to_string();
    let mut remove = connection.prepare_cached(
        "DELETE FROM deadlines WHERE due = ?1 AND teamspace = ?2 AND subject = ?3 AND name = ?4",
    )?;
    for deadline in &commit.disarm {
        remove.execute(params![deadline.due.as_millis(), teamspace, subject, deadline.name])?;
    }
    let mut add = connection.prepare_cached(
        "INSERT INTO deadlines (due, teamspace, subject, name) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for deadline in &commit.arm {
        add.execute(params![deadline.due.as_millis(), teamspace, subject, deadline.name])?;
    }
    Ok(())
}

fn write_snapshot(
    connection: &Connection,
    commit: &Commit,
    known: Option<&Place>,
    last_seq: u64,
) -> Result<()> {
    match commit.state.as_ref() {
        State::Handoff(handoff) => write_handoff(connection, commit, handoff, known, last_seq),
        State::Agent(_) => write_stream(connection, commit, known, last_seq, None),
        State::Token(token) => {
            write_stream(connection, commit, known, last_seq, Some(&token.secret_hash))
        }
    }
}

fn write_handoff(
    connection: &Connection,
    commit: &Commit,
    handoff: &Handoff,
    known: Option<&Place>,
    last_seq: u64,
) -> Result<()> {
    match (known, &commit.document) {
        (Some(known), None) => move_handoff(connection, commit, handoff, known, last_seq),
        (known, _) => put_handoff(connection, commit, handoff, known, last_seq),
    }
}

/// What was agreed on does not change any more, so only the narrow columns are written.
fn move_handoff(
    connection: &Connection,
    commit: &Commit,
    handoff: &Handoff,
    known: &Place,
    last_seq: u64,
) -> Result<()> {
    let last = last_entry(commit);
    connection
        .prepare_cached(
            "UPDATE handoffs SET status = ?2, resolved_at = ?3, position = ?4, last_seq = ?5,
                    head = ?6, at = ?7, state = ?8, title = ?9 WHERE row = ?1",
        )?
        .execute(params![
            known.row,
            handoff.status().as_str(),
            handoff.resolved_at().map(Time::as_millis),
            last.position,
            last_seq,
            last.hash,
            last.at.as_millis(),
            commit.state_text,
            handoff.title(),
        ])
        .map(|_| ())
}

fn put_handoff(
    connection: &Connection,
    commit: &Commit,
    handoff: &Handoff,
    known: Option<&Place>,
    last_seq: u64,
) -> Result<()> {
    let last = last_entry(commit);
    let document_seq = if commit.document.is_some() { last_seq } else { 0 };
    connection
        .prepare_cached(
            // Only its own row may be replaced: an id or a task that another row has is an error.
            "INSERT INTO handoffs
               (row, teamspace, id, thread_id, task_id, from_agent, to_agent, title, status,
                initiated_at, resolved_at, document_seq, position, last_seq, head, at, state)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
             ON CONFLICT (row) DO UPDATE SET
                thread_id = excluded.thread_id, task_id = excluded.task_id,
                from_agent = excluded.from_agent, to_agent = excluded.to_agent,
                title = excluded.title, status = excluded.status,
                initiated_at = excluded.initiated_at, resolved_at = excluded.resolved_at,
                document_seq = excluded.document_seq, position = excluded.position,
                last_seq = excluded.last_seq, head = excluded.head, at = excluded.at,
                state = excluded.state",
        )?
        .execute(params![
            known.map(|known| known.row),
            commit.stream.teamspace.as_str(),
            handoff.id().to_string(),
            handoff.thread_id().as_str(),
            handoff.task_id().map(|id| id.as_str()),
            handoff.from().as_str(),
            handoff.to().map(|id| id.as_str()),
            handoff.title(),
            handoff.status().as_str(),
            handoff.initiated_at().as_millis(),
            handoff.resolved_at().map(Time::as_millis),
            document_seq,
            last.position,
            last_seq,
            last.hash,
            last.at.as_millis(),
            commit.state_text,
        ])
        .map(|_| ())
}

fn write_stream(
    connection: &Connection,
    commit: &Commit,
    known: Option<&Place>,
    last_seq: u64,
    secret_hash: Option<&str>,
) -> Result<()> {
    let last = last_entry(commit);
    connection
        .prepare_cached(
            "INSERT INTO streams
               (row, teamspace, subject, kind, position, last_seq, head, at, state, secret_hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (row) DO UPDATE SET
                position = excluded.position, last_seq = excluded.last_seq,
                head = excluded.head, at = excluded.at, state = excluded.state,
                secret_hash = excluded.secret_hash",
        )?
        .execute(params![
            known.map(|known| known.row),
            commit.stream.teamspace.as_str(),
            commit.stream.subject.to_string(),
            commit.stream.subject.kind(),
            last.position,
            last_seq,
            last.hash,
            last.at.as_millis(),
            commit.state_text,
            secret_hash,
        ])
        .map(|_| ())
}

fn last_entry(commit: &Commit) -> &Entry {
    commit.entries.last().expect("a commit has entries")
}

/// Replaces a body by its commitment, and the document that came with it by nothing. `false` when
/// the stream has no such position.
fn erase(connection: &Connection, stream: &Stream, position: u64) -> Result<bool> {
    let above = position.saturating_add(1);
    let Some(found) = rows::history(connection, stream, above, 1)?.pop() else {
        return Ok(false);
    };
    if found.entry.position != position {
        return Ok(false);
    }
    connection
        .prepare_cached(
            "UPDATE entries SET salt = NULL, body = NULL, commitment = ?2 WHERE seq = ?1",
        )?
        .execute(params![found.seq, found.entry.body.commitment()])?;
    connection
        .prepare_cached("UPDATE documents SET text = NULL WHERE seq = ?1")?
        .execute(params![found.seq])?;
    Ok(true)
}

pub fn write_sealed(connection: &Connection, sealed: &Sealed) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO sealed (only, size, edge, note) VALUES (1, ?1, ?2, ?3)",
        )?
        .execute(params![sealed.size, sealed.edge, sealed.note])
        .map(|_| ())
}

/// Where a sweep over the outcomes goes on: the last key it looked at.
pub type SweptTo = (String, String, String);

/// Looks at the next few outcomes after `from` and removes those that no retry will ask for any
/// more. Returns where to go on; `None` when the end was reached.
pub fn forget_outcomes(
    connection: &Connection,
    from: Option<&SweptTo>,
    older_than: Time,
) -> Result<Option<SweptTo>> {
    let start = (String::new(), String::new(), String::new());
    let (teamspace, caller, key) = from.unwrap_or(&start);
    let rows: Vec<(SweptTo, i64)> = connection
        .prepare_cached(
            "SELECT teamspace, caller, key, at FROM outcomes
             WHERE (teamspace, caller, key) > (?1, ?2, ?3)
             ORDER BY teamspace, caller, key LIMIT ?4",
        )?
        .query_map(params![teamspace, caller, key, SWEEP_ROWS], |row| {
            Ok(((row.get(0)?, row.get(1)?, row.get(2)?), row.get(3)?))
        })?
        .collect::<Result<_>>()?;
    let mut remove = connection
        .prepare_cached("DELETE FROM outcomes WHERE teamspace = ?1 AND caller = ?2 AND key = ?3")?;
    for ((teamspace, caller, key), _) in rows.iter().filter(|(_, at)| *at < older_than.as_millis())
    {
        remove.execute(params![teamspace, caller, key])?;
    }
    let is_end = rows.len() < SWEEP_ROWS;
    Ok(if is_end { None } else { rows.into_iter().next_back().map(|(place, _)| place) })
}
