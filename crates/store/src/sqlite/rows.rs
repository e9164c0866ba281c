//! The read side: the queries of single rows and of streams, and how rows become values again.

use std::collections::VecDeque;

use engine::ports::store::{
    KeyScope, List, Listed, RecordedOutcome, Sequenced, Snapshot, within_read,
};
use protocol::canonical::Hash;
use protocol::ids::{InvalidId, TeamspaceId};
use protocol::ledger::{Body, Entry, Stream, Subject};
use protocol::step::HoldState;
use protocol::time::Time;
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Result, Row, ffi, params};

pub const ENTRY_COLUMNS: &str = "seq, teamspace, subject, position, name, version, actor, at, \
                                 salt, body, commitment, hash, prev_seq";

/// One entry by its sequence number.
const ENTRY: &str = "SELECT seq, teamspace, subject, position, name, version, actor, at, salt, \
                     body, commitment, hash, prev_seq FROM entries WHERE seq = ?1";

pub fn newest(connection: &Connection) -> Result<u64> {
    connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM entries")?
        .query_row([], |row| row.get(0))
}

pub fn load(connection: &Connection, stream: &Stream) -> Result<Option<Snapshot>> {
    let read = |row: &Row<'_>| {
        Ok(Snapshot {
            state_text: row.get(0)?,
            position: row.get(1)?,
            head: row.get(2)?,
            at: time(row, 3)?,
            last_seq: row.get(4)?,
            mac: row.get(5)?,
        })
    };
    match &stream.subject {
        Subject::Handoff(id) => connection
            .prepare_cached(
                "SELECT state, position, head, at, last_seq, mac FROM handoffs
                 WHERE id = ?1 AND teamspace = ?2",
            )?
            .query_row(params![id.to_string(), stream.teamspace.as_str()], read)
            .optional(),
        Subject::Message(id) => {
            let found = connection
                .prepare_cached(
                    "SELECT state, position, head, at, last_seq, mac FROM messages
                     WHERE id = ?1 AND teamspace = ?2",
                )?
                .query_row(params![id.to_string(), stream.teamspace.as_str()], read)
                .optional()?;
            // A purged message is kept with the other streams.
            match found {
                Some(found) => Ok(Some(found)),
                None => load_stream(connection, stream, read),
            }
        }
        Subject::Conversation(id) => connection
            .prepare_cached(
                "SELECT state, position, head, at, last_seq, mac FROM conversations
                 WHERE id = ?1 AND teamspace = ?2",
            )?
            .query_row(params![id.to_string(), stream.teamspace.as_str()], read)
            .optional(),
        Subject::Teamspace => {
            let is_set = has_settings(connection, &stream.teamspace)?;
            match load_stream(connection, stream, read)? {
                None if is_set => {
                    Err(corrupt(format!("the settings of {} were deleted", stream.teamspace)))
                }
                found => Ok(found),
            }
        }
        Subject::Agent(_)
        | Subject::Token(_)
        | Subject::Graph(_)
        | Subject::Subscription(_)
        | Subject::Session(_)
        | Subject::File(_)
        | Subject::Webhook(_)
        | Subject::Question(_)
        | Subject::Ledger => load_stream(connection, stream, read),
    }
}

/// The snapshot of a stream, if its last entry is the newest of the stream. One that was put back
/// as it was at an earlier time is an error: a commit on it would take positions that are taken.
pub fn load_newest(connection: &Connection, stream: &Stream) -> Result<Option<Snapshot>> {
    let is_newest = |found: &Option<Snapshot>| match found {
        Some(found) => ends_with(connection, found.last_seq, &found.head),
        None => Ok(true),
    };
    let found = load(connection, stream)?;
    if is_newest(&found)? {
        return Ok(found);
    }
    // A commit between the two reads looks the same, so both are done again at one moment.
    let moment = connection.unchecked_transaction()?;
    let found = load(connection, stream)?;
    let is_newest = is_newest(&found)?;
    moment.commit()?;
    if is_newest { Ok(found) } else { Err(corrupt(put_back(stream))) }
}

/// Whether an entry is the newest of its stream, and has this hash.
pub fn ends_with(connection: &Connection, last_seq: u64, head: &Hash) -> Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM entries WHERE seq = ?1 AND hash = ?2
               AND NOT EXISTS (SELECT 1 FROM entries WHERE prev_seq = ?1 AND prev_seq > 0)",
        )?
        .exists(params![last_seq, head])
}

/// What is wrong with a snapshot whose last entry is not the newest of its stream. It is logged,
/// because callers are told only that the server failed.
pub fn put_back(stream: &Stream) -> String {
    let Stream { teamspace, subject } = stream;
    let what =
        format!("the snapshot of {subject} in {teamspace} does not end with its newest entry");
    tracing::error!("{what}; see tasuki audit verify");
    what
}

fn corrupt(what: String) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(what))
}

/// Whether there is an entry about a teamspace. Without one it has the default settings.
fn has_settings(connection: &Connection, teamspace: &TeamspaceId) -> Result<bool> {
    connection
        .prepare_cached(
            "SELECT 1 FROM entries
             WHERE teamspace = ?1 AND position = 1 AND subject = 'teamspace/self'",
        )?
        .exists([teamspace.as_str()])
}

fn load_stream(
    connection: &Connection,
    stream: &Stream,
    read: impl FnOnce(&Row<'_>) -> Result<Snapshot>,
) -> Result<Option<Snapshot>> {
    connection
        .prepare_cached(
            "SELECT state, position, head, at, last_seq, mac FROM streams
             WHERE teamspace = ?1 AND subject = ?2",
        )?
        .query_row(params![stream.teamspace.as_str(), stream.subject.to_string()], read)
        .optional()
}

pub fn token_stream(connection: &Connection, secret_hash: &str) -> Result<Option<Stream>> {
    connection
        .prepare_cached("SELECT teamspace, subject FROM streams WHERE secret_hash = ?1")?
        .query_row([secret_hash], |row| stream(row, 0))
        .optional()
}

pub fn hold(connection: &Connection, teamspace: &TeamspaceId, key: &str) -> Result<HoldState> {
    let found = connection
        .prepare_cached("SELECT holder, value FROM holds WHERE teamspace = ?1 AND key = ?2")?
        .query_row(params![teamspace.as_str(), key], |row| {
            Ok(HoldState { holder: row.get(0)?, value: row.get(1)? })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

/// Occupied keys with this prefix. Keys are compared byte by byte, so keys with the same prefix are
/// adjacent, and no key continues with the last character of Unicode.
pub fn held(
    connection: &Connection,
    teamspace: &TeamspaceId,
    prefix: &str,
    limit: usize,
) -> Result<Vec<String>> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    connection
        .prepare_cached(
            "SELECT key FROM holds
             WHERE teamspace = ?1 AND key >= ?2 AND key < ?2 || char(1114111)
               AND holder IS NOT NULL
             ORDER BY key LIMIT ?3",
        )?
        .query_map(params![teamspace.as_str(), prefix, limit], |row| row.get(0))?
        .collect()
}

/// The document that came with an entry, if it is the one that is asked for.
pub fn document_at(connection: &Connection, seq: u64, hash: &str) -> Result<Option<String>> {
    let found = connection
        .prepare_cached("SELECT text FROM documents WHERE seq = ?1 AND hash = ?2")?
        .query_row(params![seq, hash], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

/// The document a stream has now, if it is the one that is asked for.
pub fn document(connection: &Connection, stream: &Stream, hash: &str) -> Result<Option<String>> {
    let (sql, name) = match &stream.subject {
        // The text of a graph came with its last entry, unless that says that it was removed.
        Subject::Graph(_) => (
            "SELECT d.text FROM streams s JOIN documents d ON d.seq = s.last_seq
             WHERE s.subject = ?1 AND s.teamspace = ?2 AND d.hash = ?3",
            stream.subject.to_string(),
        ),
        Subject::Handoff(_)
        | Subject::Agent(_)
        | Subject::Token(_)
        | Subject::Message(_)
        | Subject::Conversation(_)
        | Subject::Session(_)
        | Subject::Teamspace
        | Subject::Subscription(_)
        | Subject::File(_)
        | Subject::Webhook(_)
        | Subject::Question(_)
        | Subject::Ledger => (
            "SELECT d.text FROM handoffs h JOIN documents d ON d.seq = h.document_seq
             WHERE h.id = ?1 AND h.teamspace = ?2 AND d.hash = ?3",
            stream.subject.id(),
        ),
    };
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![name, stream.teamspace.as_str(), hash], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

pub fn outcome(connection: &Connection, scope: &KeyScope) -> Result<Option<RecordedOutcome>> {
    connection
        .prepare_cached(
            "SELECT fingerprint, outcome, mac FROM outcomes
             WHERE teamspace = ?1 AND caller = ?2 AND key = ?3",
        )?
        .query_row(params![scope.teamspace.as_str(), scope.caller, scope.key], |row| {
            Ok(RecordedOutcome { fingerprint: row.get(0)?, outcome: row.get(1)?, mac: row.get(2)? })
        })
        .optional()
}

pub fn entries(connection: &Connection, after: u64, limit: usize) -> Result<Vec<Sequenced>> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {ENTRY_COLUMNS} FROM entries WHERE seq > ?1 ORDER BY seq LIMIT ?2"
    ))?;
    within_read(statement.query_map(params![number(after), count(limit)], sequenced)?)
}

/// The entry at a position of a stream, if there is one.
pub fn find(connection: &Connection, stream: &Stream, position: u64) -> Result<Option<Sequenced>> {
    let found = history(connection, stream, position.saturating_add(1), 1)?.pop();
    Ok(found.filter(|found| found.entry.position == position))
}

/// The entries of a stream before a position, newest first.
pub fn history(
    connection: &Connection,
    stream: &Stream,
    before: u64,
    limit: usize,
) -> Result<Vec<Sequenced>> {
    let mut statement = connection.prepare_cached(ENTRY)?;
    let mut seqs = Vec::new();
    walk_back(connection, stream, |seq, position| {
        if position < before {
            seqs.push(seq);
        }
        seqs.len() < limit
    })?;
    within_read(seqs.into_iter().map(|seq| statement.query_row([seq], sequenced)))
}

/// The entries of a stream from a position on, in order.
pub fn history_from(
    connection: &Connection,
    stream: &Stream,
    from: u64,
    limit: usize,
) -> Result<Vec<Sequenced>> {
    let mut statement = connection.prepare_cached(ENTRY)?;
    let mut seqs = VecDeque::new();
    walk_back(connection, stream, |seq, position| {
        if position >= from {
            seqs.push_front(seq);
            seqs.truncate(limit);
        }
        position > from
    })?;
    within_read(seqs.into_iter().map(|seq| statement.query_row([seq], sequenced)))
}

/// Walks a stream backwards along its links, from the newest entry, while it is wanted. Bodies are
/// not read; the cost is the entries walked, not the ledger.
pub fn walk_back(
    connection: &Connection,
    stream: &Stream,
    mut goes_on: impl FnMut(u64, u64) -> bool,
) -> Result<()> {
    let mut link =
        connection.prepare_cached("SELECT position, prev_seq FROM entries WHERE seq = ?1")?;
    let mut seq = load(connection, stream)?.map_or(0, |snapshot| snapshot.last_seq);
    while seq != 0 {
        let (position, before) =
            link.query_row([seq], |row| Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?)))?;
        if !goes_on(seq, position) {
            return Ok(());
        }
        seq = before;
    }
    Ok(())
}

/// One step of the index for each teamspace, however much is in it.
pub fn teamspaces(
    connection: &Connection,
    after: Option<&TeamspaceId>,
    limit: usize,
) -> Result<Vec<TeamspaceId>> {
    let mut next = connection.prepare_cached(
        "SELECT teamspace FROM streams WHERE teamspace > ?1 ORDER BY teamspace LIMIT 1",
    )?;
    let mut last = after.map(ToString::to_string).unwrap_or_default();
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(name) = next.query_row([&last], |row| row.get::<_, String>(0)).optional()? else {
            break;
        };
        found.push(name.parse().map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::<InvalidId>::new(error))
        })?);
        last = name;
    }
    Ok(found)
}

/// The rows that can be read. One that cannot was written past the server, or is damaged: it is
/// logged and left out, so that it does not keep the others from being read.
pub fn readable<T>(rows: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut found = Vec::new();
    for row in rows {
        match row {
            Ok(row) => found.push(row),
            Err(
                error @ (rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::IntegralValueOutOfRange(..)
                | rusqlite::Error::Utf8Error(..)),
            ) => tracing::error!(%error, "a row cannot be read; see tasuki audit verify"),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

pub fn row_below(list: &List) -> Value {
    Value::from(list.before.map_or(i64::MAX, number))
}

pub fn listed(row: &Row<'_>) -> Result<Listed> {
    Ok(Listed {
        row: row.get(0)?,
        stream: stream(row, 1)?,
        state_text: row.get(3)?,
        position: row.get(4)?,
        last_seq: row.get(5)?,
        at: time(row, 6)?,
        head: row.get(7)?,
        mac: row.get(8)?,
    })
}

pub fn sequenced(row: &Row<'_>) -> Result<Sequenced> {
    let salt: Option<[u8; 16]> = row.get(8)?;
    let text: Option<String> = row.get(9)?;
    let commitment: Option<Hash> = row.get(10)?;
    let body = match (salt, text, commitment) {
        (Some(salt), Some(text), None) => Body::Kept { salt, text },
        (None, None, Some(commitment)) => Body::Erased { commitment },
        // An incomplete body is damage. An impossible commitment makes the check of the chain fail.
        (_, _, _) => Body::Erased { commitment: [0; 32] },
    };
    Ok(Sequenced {
        seq: row.get(0)?,
        entry: Entry {
            stream: stream(row, 1)?,
            position: row.get(3)?,
            name: row.get::<_, String>(4)?.into(),
            version: row.get(5)?,
            actor: row.get(6)?,
            at: time(row, 7)?,
            body,
            hash: row.get(11)?,
        },
    })
}

pub fn stream(row: &Row<'_>, column: usize) -> Result<Stream> {
    Ok(Stream { teamspace: parsed(row, column)?, subject: parsed(row, column + 1)? })
}

/// Parses a value that is stored as text.
pub fn parsed<T>(row: &Row<'_>, column: usize) -> Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

pub fn time(row: &Row<'_>, column: usize) -> Result<Time> {
    row.get(column).map(Time::from_millis)
}

pub fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// A cursor from a caller may be beyond every number of the database.
pub fn number(place: u64) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX)
}
