//! The write side: how one commit becomes rows. Everything is compared before it is written, and a
//! conflict is an answer, not an error.

use engine::port::{Commit, CommitError, Committed, Sealed, Sequenced, StoreError};
use protocol::canonical::Hash;
use protocol::handoff::Handoff;
use protocol::ledger::{Body, Entry, GENESIS, Stream, Subject};
use protocol::step::State;
use protocol::time::Time;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::rows;

/// Writes one commit. `Ok(Err(_))` is a conflict, and then nothing of it was written: everything is
/// compared before the first row is.
pub fn write_commit(
    connection: &Connection,
    commit: &Commit,
    next_seq: u64,
) -> Result<std::result::Result<Committed, CommitError>> {
    let known = place(connection, &commit.stream)?;
    let (position, head) =
        known.as_ref().map_or((0, GENESIS), |place| (place.position, place.head));
    let has_moved = (position, head) != (commit.expected_position, commit.expected_head);
    let mut conflict = has_moved.then_some(CommitError::Moved);
    if conflict.is_none() {
        conflict = compare_holds(connection, commit)?;
    }
    let mut erased = None;
    if let (None, Some(position)) = (&conflict, commit.erase) {
        erased = find(connection, &commit.stream, position)?;
        if erased.is_none() {
            let missing = StoreError::Corrupt("no such position to erase".to_owned());
            conflict = Some(missing.into());
        }
    }
    if let Some(conflict) = conflict {
        // A retry of what was done meets its own changes; that it was done is the answer to it.
        return Ok(Err(used_key(connection, commit)?.unwrap_or(conflict)));
    }
    if !write_outcome(connection, commit)?
        && let Some(used) = used_key(connection, commit)?
    {
        return Ok(Err(used));
    }
    write_holds(connection, commit)?;
    if let Some(erased) = &erased {
        erase(connection, erased)?;
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

/// `false` when the key is used already.
fn write_outcome(connection: &Connection, commit: &Commit) -> Result<bool> {
    let Some(key) = &commit.key else { return Ok(true) };
    connection
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
        ])
        .map(|inserted| inserted == 1)
}

fn used_key(connection: &Connection, commit: &Commit) -> Result<Option<CommitError>> {
    let Some(key) = &commit.key else { return Ok(None) };
    Ok(rows::outcome(connection, &key.scope)?.map(CommitError::KeyUsed))
}

fn compare_holds(connection: &Connection, commit: &Commit) -> Result<Option<CommitError>> {
    for write in &commit.holds {
        let current = rows::hold(connection, &commit.stream.teamspace, &write.key)?;
        if current != write.expected {
            return Ok(Some(CommitError::HoldTaken { key: write.key.clone(), current }));
        }
    }
    Ok(None)
}

fn write_holds(connection: &Connection, commit: &Commit) -> Result<()> {
    for write in &commit.holds {
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
    Ok(())
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

/// The entry at a position of a stream, if there is one.
fn find(connection: &Connection, stream: &Stream, position: u64) -> Result<Option<Sequenced>> {
    let found = rows::history(connection, stream, position.saturating_add(1), 1)?.pop();
    Ok(found.filter(|found| found.entry.position == position))
}

/// Replaces a body by its commitment, and the document that came with it by nothing.
fn erase(connection: &Connection, erased: &Sequenced) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE entries SET salt = NULL, body = NULL, commitment = ?2 WHERE seq = ?1",
        )?
        .execute(params![erased.seq, erased.entry.body.commitment()])?;
    connection
        .prepare_cached("UPDATE documents SET text = NULL WHERE seq = ?1")?
        .execute(params![erased.seq])
        .map(|_| ())
}

pub fn write_sealed(connection: &Connection, sealed: &Sealed) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO sealed (only, size, edge, note) VALUES (1, ?1, ?2, ?3)",
        )?
        .execute(params![sealed.size, sealed.edge, sealed.note])
        .map(|_| ())
}
