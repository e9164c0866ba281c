//! The write side: how one commit becomes rows. Everything is compared before it is written, and a
//! conflict is an answer, not an error. What every commit needs is prepared once.

use std::collections::HashMap;
use std::sync::Arc;

use engine::ports::store::{Commit, CommitError, Committed, StoreError};
use protocol::canonical::Hash;
use protocol::handoff::Handoff;
use protocol::ledger::{Body, Entry, GENESIS, Stream, Subject};
use protocol::step::{HoldState, State};
use protocol::time::Time;
use rusqlite::{Connection, OptionalExtension, Result, Row, Statement, params};

use super::document_places::DocumentPlaces;
use super::{conversation_rows, erase, message_rows, rows};

/// How many streams the writer remembers the place of: far more than are in motion at once.
const PLACES_MAX: usize = 4_096;

/// The statements of the writer, on its connection, and its cache.
pub struct Statements<'c> {
    connection: &'c Connection,
    /// The ends of streams that were written lately. Always current: there is no other writer.
    places: HashMap<Stream, StreamEnd>,
    document_places: Arc<DocumentPlaces>,
    document: Statement<'c>,
    place_of_handoff: Statement<'c>,
    place_of_stream: Statement<'c>,
    outcome: Statement<'c>,
    hold: Statement<'c>,
    entry: Statement<'c>,
    disarm: Statement<'c>,
    arm: Statement<'c>,
    move_handoff: Statement<'c>,
    put_handoff: Statement<'c>,
    put_stream: Statement<'c>,
}

/// The end of a stream: its row, and the last entry of its chain.
#[derive(Clone, Copy)]
struct StreamEnd {
    row: i64,
    position: u64,
    head: Hash,
    last_seq: u64,
}

impl<'c> Statements<'c> {
    pub fn prepare(connection: &'c Connection, places: Arc<DocumentPlaces>) -> Result<Self> {
        Ok(Self {
            connection,
            places: HashMap::new(),
            document_places: places,
            document: connection
                .prepare("INSERT INTO documents (seq, hash, text) VALUES (?1, ?2, ?3)")?,
            place_of_handoff: connection.prepare(
                "SELECT row, position, head, last_seq FROM handoffs
                 WHERE id = ?1 AND teamspace = ?2",
            )?,
            place_of_stream: connection.prepare(
                "SELECT row, position, head, last_seq FROM streams
                 WHERE teamspace = ?1 AND subject = ?2",
            )?,
            outcome: connection.prepare(
                "INSERT INTO outcomes (teamspace, caller, key, fingerprint, outcome, at, mac)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            )?,
            hold: connection.prepare(
                "INSERT INTO holds (teamspace, key, holder, value) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (teamspace, key)
                 DO UPDATE SET holder = excluded.holder, value = excluded.value",
            )?,
            entry: connection.prepare(
                "INSERT INTO entries (seq, prev_seq, teamspace, subject, position, name, version,
                                      actor, at, salt, body, commitment, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            )?,
            disarm: connection.prepare(
                "DELETE FROM deadlines
                 WHERE due = ?1 AND teamspace = ?2 AND subject = ?3 AND name = ?4",
            )?,
            arm: connection.prepare(
                "INSERT INTO deadlines (due, teamspace, subject, name) VALUES (?1, ?2, ?3, ?4)",
            )?,
            move_handoff: connection.prepare(
                "UPDATE handoffs SET status = ?2, resolved_at = ?3, position = ?4, last_seq = ?5,
                        head = ?6, at = ?7, state = ?8, title = ?9, mac = ?10 WHERE row = ?1",
            )?,
            put_handoff: connection.prepare(
                // Only its own row may be replaced: an id or a task of another row is an error.
                "INSERT INTO handoffs
                   (row, teamspace, id, thread_id, task_id, from_agent, to_agent, title, status,
                    initiated_at, resolved_at, document_seq, position, last_seq, head, at, state,
                    mac)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                         ?18)
                 ON CONFLICT (row) DO UPDATE SET
                    thread_id = excluded.thread_id, task_id = excluded.task_id,
                    from_agent = excluded.from_agent, to_agent = excluded.to_agent,
                    title = excluded.title, status = excluded.status,
                    initiated_at = excluded.initiated_at, resolved_at = excluded.resolved_at,
                    document_seq = excluded.document_seq, position = excluded.position,
                    last_seq = excluded.last_seq, head = excluded.head, at = excluded.at,
                    state = excluded.state, mac = excluded.mac",
            )?,
            put_stream: connection.prepare(
                "INSERT INTO streams
                   (row, teamspace, subject, kind, position, last_seq, head, at, state, secret_hash,
                    mac)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                 ON CONFLICT (row) DO UPDATE SET
                    position = excluded.position, last_seq = excluded.last_seq,
                    head = excluded.head, at = excluded.at, state = excluded.state,
                    secret_hash = excluded.secret_hash, mac = excluded.mac",
            )?,
        })
    }

    /// Writes one commit. `Ok(Err(_))` is a conflict, and then nothing of it was written:
    /// everything is compared before the first row is.
    pub fn write_commit(
        &mut self,
        commit: &Commit,
        next_seq: u64,
    ) -> Result<std::result::Result<Committed, CommitError>> {
        let known = match self.places.get(&commit.stream) {
            Some(place) => Some(*place),
            None => match self.read_place(&commit.stream)? {
                Some(read) if !rows::ends_with(self.connection, read.last_seq, &read.head)? => {
                    return Ok(Err(StoreError::Corrupt(rows::put_back(&commit.stream)).into()));
                }
                read => read,
            },
        };
        let (position, head) = known.map_or((0, GENESIS), |place| (place.position, place.head));
        let mut conflict =
            match (position, head) == (commit.expected_position, commit.expected_head) {
                true => self.compare_holds(commit)?,
                false => Some(CommitError::Moved),
            };
        let mut erased = None;
        if let (None, Some(position)) = (&conflict, commit.erase) {
            erased = rows::find(self.connection, &commit.stream, position)?;
            let missing = || StoreError::Corrupt("no such position to erase".to_owned()).into();
            conflict = erased.is_none().then(missing);
        }
        if let Some(conflict) = conflict {
            // A retry conflicts with its own changes; it gets the recorded outcome.
            return Ok(Err(used_key(self.connection, commit)?.unwrap_or(conflict)));
        }
        if !self.write_outcome(commit)?
            && let Some(used) = used_key(self.connection, commit)?
        {
            return Ok(Err(used));
        }
        let subject = commit.stream.subject.text();
        self.write_holds(commit)?;
        if let Some(erased) = &erased {
            erase::erase(self.connection, erased)?;
        }
        let prev_seq = known.map_or(0, |known| known.last_seq);
        let last_seq = self.write_entries(commit, &subject, next_seq, prev_seq)?;
        if let Some(document) = &commit.document {
            self.document.execute(params![last_seq, document.hash, document.text])?;
            self.document_places.remember(&commit.stream, last_seq);
        }
        self.write_deadlines(commit, &subject)?;
        self.write_effects(commit, &subject)?;
        let row = self.write_snapshot(commit, known.as_ref(), last_seq)?;
        if erased.is_some() {
            erase::done(self.connection)?;
        }
        self.remember(commit, row, last_seq);
        Ok(Ok(Committed { last_seq }))
    }

    /// Clears the cache after a rollback.
    pub fn forget(&mut self) {
        self.places.clear();
    }

    fn remember(&mut self, commit: &Commit, row: i64, last_seq: u64) {
        if self.places.len() >= PLACES_MAX {
            self.places.clear();
        }
        let Entry { position, hash: head, .. } = *last_entry(commit);
        self.places.insert(commit.stream.clone(), StreamEnd { row, position, head, last_seq });
    }

    fn read_place(&mut self, stream: &Stream) -> Result<Option<StreamEnd>> {
        let read = |row: &Row<'_>| {
            Ok(StreamEnd {
                row: row.get(0)?,
                position: row.get(1)?,
                head: row.get(2)?,
                last_seq: row.get(3)?,
            })
        };
        match &stream.subject {
            Subject::Handoff(id) => self
                .place_of_handoff
                .query_row(params![id.to_string(), stream.teamspace.as_str()], read)
                .optional(),
            Subject::Message(_) | Subject::Conversation(_) => {
                let kind = stream.subject.kind();
                let sql = format!(
                    "SELECT row, position, head, last_seq FROM {kind}s
                     WHERE id = ?1 AND teamspace = ?2"
                );
                let found = self
                    .connection
                    .prepare_cached(&sql)?
                    .query_row(params![stream.subject.id(), stream.teamspace.as_str()], read)
                    .optional()?;
                // A purged message is kept with the other streams.
                let purged = params![stream.teamspace.as_str(), stream.subject.to_string()];
                match found {
                    Some(found) => Ok(Some(found)),
                    None => self.place_of_stream.query_row(purged, read).optional(),
                }
            }
            Subject::Agent(_)
            | Subject::Token(_)
            | Subject::Teamspace
            | Subject::Graph(_)
            | Subject::Subscription(_)
            | Subject::Session(_)
            | Subject::File(_)
            | Subject::Webhook(_)
            | Subject::Question(_)
            | Subject::Ledger => self
                .place_of_stream
                .query_row(params![stream.teamspace.as_str(), stream.subject.to_string()], read)
                .optional(),
        }
    }

    /// `false` when the key is used already.
    fn write_outcome(&mut self, commit: &Commit) -> Result<bool> {
        let Some(key) = &commit.key else { return Ok(true) };
        self.outcome
            .execute(params![
                key.scope.teamspace.as_str(),
                key.scope.caller,
                key.scope.key,
                key.recorded.fingerprint,
                key.recorded.outcome,
                key.at.as_millis(),
                key.recorded.mac,
            ])
            .map(|inserted| inserted == 1)
    }

    fn compare_holds(&mut self, commit: &Commit) -> Result<Option<CommitError>> {
        let own = commit.stream.subject.id();
        for write in &commit.holds {
            // Only the holding stream changes its hold, and its position was compared.
            if write.expected.holder.as_ref() == Some(&own) {
                continue;
            }
            let current = rows::hold(self.connection, &commit.stream.teamspace, &write.key)?;
            if current != write.expected {
                return Ok(Some(CommitError::HoldTaken { key: write.key.clone(), current }));
            }
        }
        Ok(None)
    }

    fn write_holds(&mut self, commit: &Commit) -> Result<()> {
        // Some are only compared.
        for write in commit.holds.iter().filter(|write| write.next != write.expected) {
            let teamspace = commit.stream.teamspace.as_str();
            if write.next == HoldState::default() {
                // Lists of what is held do not read past what was held once.
                let sql = "DELETE FROM holds WHERE teamspace = ?1 AND key = ?2";
                self.connection.prepare_cached(sql)?.execute(params![teamspace, write.key])?;
                continue;
            }
            let HoldState { holder, value } = &write.next;
            self.hold.execute(params![teamspace, write.key, holder, value])?;
        }
        Ok(())
    }

    fn write_entries(
        &mut self,
        commit: &Commit,
        subject: &str,
        next_seq: u64,
        mut prev_seq: u64,
    ) -> Result<u64> {
        let mut position = commit.expected_position;
        for (seq, entry) in (next_seq..).zip(&commit.entries) {
            position += 1;
            assert_eq!(entry.position, position, "the entries of a commit continue their stream");
            let (salt, body, commitment) = match &entry.body {
                Body::Kept { salt, text } => (Some(salt), Some(text), None),
                Body::Erased { commitment } => (None, None, Some(commitment)),
            };
            self.entry.execute(params![
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

    fn write_deadlines(&mut self, commit: &Commit, subject: &str) -> Result<()> {
        let teamspace = commit.stream.teamspace.as_str();
        for deadline in &commit.disarm {
            let due = deadline.due.as_millis();
            self.disarm.execute(params![due, teamspace, subject, deadline.name])?;
        }
        for deadline in &commit.arm {
            let due = deadline.due.as_millis();
            self.arm.execute(params![due, teamspace, subject, deadline.name])?;
        }
        Ok(())
    }

    /// Few commits begin or end an effect, so these statements are not kept prepared.
    fn write_effects(&self, commit: &Commit, subject: &str) -> Result<()> {
        let teamspace = commit.stream.teamspace.as_str();
        for effect in &commit.end {
            self.connection
                .prepare_cached(
                    "DELETE FROM outbox WHERE teamspace = ?1 AND subject = ?2 AND name = ?3",
                )?
                .execute(params![teamspace, subject, effect.name])?;
        }
        for effect in &commit.begin {
            let due = last_entry(commit).at.as_millis();
            self.connection
                .prepare_cached(
                    "INSERT INTO outbox (teamspace, subject, name, due) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![teamspace, subject, effect.name, due])?;
        }
        Ok(())
    }

    /// Returns the row of the stream.
    fn write_snapshot(
        &mut self,
        commit: &Commit,
        known: Option<&StreamEnd>,
        last_seq: u64,
    ) -> Result<i64> {
        match (commit.state.as_ref(), known, &commit.document) {
            (State::Handoff(handoff), Some(known), None) => {
                self.move_handoff(commit, handoff, known, last_seq)?;
            }
            (State::Handoff(handoff), known, _) => {
                self.put_handoff(commit, handoff, known, last_seq)?;
            }
            (State::Message(message), known, _) => {
                let row = known.map(|known| known.row);
                return match message.purged {
                    true => message_rows::purge(self.connection, commit, message, row, last_seq),
                    false => message_rows::put(self.connection, commit, message, row, last_seq),
                };
            }
            (State::Conversation(conversation), known, _) => {
                let (connection, row) = (self.connection, known.map(|known| known.row));
                return conversation_rows::put(connection, commit, conversation, row, last_seq);
            }
            (
                State::Agent(_)
                | State::Ledger(_)
                | State::Teamspace(_)
                | State::Graph(_)
                | State::Subscription(_)
                | State::Session(_)
                | State::File(_)
                | State::Webhook(_)
                | State::Question(_),
                known,
                _,
            ) => {
                self.put_stream(commit, known, last_seq, None)?;
            }
            (State::Token(token), known, _) => {
                self.put_stream(commit, known, last_seq, Some(&token.secret_hash))?;
            }
        }
        Ok(known.map_or_else(|| self.connection.last_insert_rowid(), |known| known.row))
    }

    /// The terms of a handoff no longer change, so only the narrow columns are written.
    fn move_handoff(
        &mut self,
        commit: &Commit,
        handoff: &Handoff,
        known: &StreamEnd,
        last_seq: u64,
    ) -> Result<()> {
        let last = last_entry(commit);
        self.move_handoff
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
                commit.mac,
            ])
            .map(|_| ())
    }

    fn put_handoff(
        &mut self,
        commit: &Commit,
        handoff: &Handoff,
        known: Option<&StreamEnd>,
        last_seq: u64,
    ) -> Result<()> {
        let last = last_entry(commit);
        let document_seq = if commit.document.is_some() { last_seq } else { 0 };
        self.put_handoff
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
                commit.mac,
            ])
            .map(|_| ())
    }

    fn put_stream(
        &mut self,
        commit: &Commit,
        known: Option<&StreamEnd>,
        last_seq: u64,
        secret_hash: Option<&str>,
    ) -> Result<()> {
        let last = last_entry(commit);
        self.put_stream
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
                commit.mac,
            ])
            .map(|_| ())
    }
}

fn used_key(connection: &Connection, commit: &Commit) -> Result<Option<CommitError>> {
    let Some(key) = &commit.key else { return Ok(None) };
    Ok(rows::outcome(connection, &key.scope)?.map(CommitError::KeyUsed))
}

fn last_entry(commit: &Commit) -> &Entry {
    commit.entries.last().expect("a commit has entries")
}
