//! What an audit reads. Unlike the other queries these do not trust the rows: an invalid row is
//! reported, and the rows around it are still read.

use protocol::canonical::Hash;
use protocol::ledger::{Entry, Stream};
use protocol::row_mac::Mac;
use protocol::time::Time;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::{row_order, rows};

/// One row of the ledger, as far as it can be read.
#[derive(Debug)]
pub struct LedgerRow {
    pub seq: i64,
    /// The row of the entry before it in its stream.
    pub prev_seq: i64,
    /// Or what is wrong with it.
    pub entry: std::result::Result<Entry, String>,
}

#[derive(Debug)]
pub struct DocumentRow {
    /// The entry that names it.
    pub seq: i64,
    pub hash: String,
    /// `None` once erased.
    pub text: Option<String>,
}

/// Where to find a snapshot. Sorts by the last entry that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapshotPlace {
    pub last_seq: i64,
    table: Table,
    row: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Table {
    Handoffs,
    Streams,
    Messages,
    Conversations,
}

#[derive(Debug)]
pub struct SnapshotRow {
    pub stream: Stream,
    pub position: u64,
    pub head: Hash,
    pub at: Time,
    pub state_text: String,
    pub mac: Option<Mac>,
    pub columns: Columns,
}

/// The columns beside the state that lists filter by; all are derived from the state.
#[derive(Debug)]
pub enum Columns {
    Handoff(HandoffColumns),
    Stream { kind: String, secret_hash: Option<String> },
    Message(MessageColumns),
    Conversation(ConversationColumns),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationColumns {
    pub holder: String,
    pub status: String,
    pub opened_at: i64,
    pub waits_in: Option<String>,
    pub waits_order: Option<i64>,
    pub asked: Option<String>,
    pub calls_in: Option<String>,
    pub calls_at: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageColumns {
    pub thread_id: String,
    pub from_agent: String,
    pub kind: String,
    pub topic: Option<String>,
    pub status: String,
    pub created_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffColumns {
    pub thread_id: String,
    pub task_id: Option<String>,
    pub from_agent: String,
    pub to_agent: Option<String>,
    pub title: Option<String>,
    pub status: String,
    pub initiated_at: i64,
    pub resolved_at: Option<i64>,
    /// The hash of the document that it points at.
    pub document_hash: Option<String>,
}

/// Rows from a number on, at most `limit`. If damage ends a page early, the next read from there
/// reports it.
pub fn ledger_rows(connection: &Connection, from: i64, limit: usize) -> Result<Vec<LedgerRow>> {
    let columns = rows::ENTRY_COLUMNS;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {columns} FROM entries WHERE seq >= ?1 ORDER BY seq LIMIT ?2"
    ))?;
    let mut found = statement.query(params![from, rows::count(limit)])?;
    let mut page = Vec::new();
    loop {
        let row = match found.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(page),
            Err(error) if page.is_empty() => return Err(error),
            Err(_) => return Ok(page),
        };
        let seq = row.get(0)?;
        if seq < page.last().map_or(from, |last: &LedgerRow| last.seq.saturating_add(1)) {
            return if page.is_empty() { Err(row_order::broken()) } else { Ok(page) };
        }
        page.push(LedgerRow {
            seq,
            prev_seq: row.get(12)?,
            entry: entry(row).map_err(|error| error.to_string()),
        });
    }
}

pub fn document_rows(connection: &Connection, from: i64, limit: usize) -> Result<Vec<DocumentRow>> {
    let page: Vec<DocumentRow> = connection
        .prepare_cached(
            "SELECT seq, hash, CAST(text AS BLOB) FROM documents WHERE seq >= ?1 ORDER BY seq
             LIMIT ?2",
        )?
        .query_map(params![from, rows::count(limit)], |row| {
            let text: Option<Vec<u8>> = row.get(2)?;
            Ok(DocumentRow {
                seq: row.get(0)?,
                hash: lossy(row, 1)?,
                // Text that is not UTF-8 is not the text that was hashed, so the hash will not
                // match.
                text: text.map(|text| String::from_utf8_lossy(&text).into_owned()),
            })
        })?
        .collect::<Result<_>>()?;
    row_order::check(from.checked_sub(1), &page, |row| row.seq)?;
    Ok(page)
}

/// A line of a transcript, and which entry it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptRow {
    conversation: i64,
    pub number: i64,
    pub seq: i64,
    /// `None` if there is no such conversation.
    pub stream: Option<Stream>,
}

impl TranscriptRow {
    /// Whether both are lines of the same conversation.
    pub fn is_beside(&self, other: &Self) -> bool {
        self.conversation == other.conversation
    }
}

pub fn transcript_seq(
    connection: &Connection,
    stream: &Stream,
    number: u64,
) -> Result<Option<i64>> {
    connection
        .prepare_cached(
            "SELECT t.seq FROM conversations c JOIN transcript t ON t.conversation = c.row
             WHERE c.teamspace = ?1 AND c.id = ?2 AND t.number = ?3",
        )?
        .query_row(params![stream.teamspace.as_str(), stream.subject.id(), number], |row| {
            row.get(0)
        })
        .optional()
}

pub fn transcript_rows(
    connection: &Connection,
    after: Option<&TranscriptRow>,
    limit: usize,
) -> Result<Vec<TranscriptRow>> {
    let key = |row: &TranscriptRow| (row.conversation, row.number);
    let (conversation, number) = after.map_or((i64::MIN, i64::MIN), key);
    let page: Vec<TranscriptRow> = connection
        .prepare_cached(
            "SELECT t.conversation, t.number, t.seq, c.teamspace, 'conversation/' || c.id
             FROM transcript t LEFT JOIN conversations c ON c.row = t.conversation
             WHERE (t.conversation, t.number) > (?1, ?2)
             ORDER BY t.conversation, t.number LIMIT ?3",
        )?
        .query_map(params![conversation, number, rows::count(limit)], |row| {
            let is_known = row.get::<_, Option<String>>(3)?.is_some();
            Ok(TranscriptRow {
                conversation: row.get(0)?,
                number: row.get(1)?,
                seq: row.get(2)?,
                stream: is_known.then(|| rows::stream(row, 3)).transpose()?,
            })
        })?
        .collect::<Result<_>>()?;
    row_order::check(after.map(key), &page, key)?;
    Ok(page)
}

/// Whether any row carries a MAC.
pub fn has_signed_rows(connection: &Connection) -> Result<bool> {
    let any = |table: &str| {
        let sql = format!("SELECT 1 FROM {table} WHERE mac IS NOT NULL");
        connection.prepare(&sql)?.exists([])
    };
    for table in ["streams", "handoffs", "messages", "conversations", "outcomes"] {
        if any(table)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Every snapshot, by the last entry it knows.
pub fn snapshot_places(connection: &Connection) -> Result<Vec<SnapshotPlace>> {
    let mut places = Vec::new();
    let tables = [
        (Table::Handoffs, "SELECT last_seq, row FROM handoffs"),
        (Table::Streams, "SELECT last_seq, row FROM streams"),
        (Table::Messages, "SELECT last_seq, row FROM messages"),
        (Table::Conversations, "SELECT last_seq, row FROM conversations"),
    ];
    for (table, sql) in tables {
        let mut statement = connection.prepare(sql)?;
        let found = statement.query_map([], |row| {
            Ok(SnapshotPlace { last_seq: row.get(0)?, table, row: row.get(1)? })
        })?;
        for place in found {
            places.push(place?);
        }
    }
    places.sort_unstable();
    Ok(places)
}

pub fn snapshot_row(connection: &Connection, place: SnapshotPlace) -> Result<Option<SnapshotRow>> {
    match place.table {
        Table::Handoffs => connection
            .prepare_cached(
                "SELECT h.teamspace, 'handoff/' || h.id, h.position, h.head, h.at, h.state,
                        h.thread_id, h.task_id, h.from_agent, h.to_agent, h.title, h.status,
                        h.initiated_at, h.resolved_at, d.hash, h.mac
                 FROM handoffs h LEFT JOIN documents d ON d.seq = h.document_seq
                 WHERE h.row = ?1",
            )?
            .query_row([place.row], |row| {
                let columns = HandoffColumns {
                    thread_id: row.get(6)?,
                    task_id: row.get(7)?,
                    from_agent: row.get(8)?,
                    to_agent: row.get(9)?,
                    title: row.get(10)?,
                    status: row.get(11)?,
                    initiated_at: row.get(12)?,
                    resolved_at: row.get(13)?,
                    document_hash: row.get(14)?,
                };
                snapshot(row, Columns::Handoff(columns))
            })
            .optional(),
        Table::Messages => connection
            .prepare_cached(
                "SELECT teamspace, 'message/' || id, position, head, at, state, thread_id,
                        from_agent, type, topic, status, created_at, mac
                 FROM messages WHERE row = ?1",
            )?
            .query_row([place.row], |row| {
                let columns = MessageColumns {
                    thread_id: row.get(6)?,
                    from_agent: row.get(7)?,
                    kind: row.get(8)?,
                    topic: row.get(9)?,
                    status: row.get(10)?,
                    created_at: row.get(11)?,
                };
                snapshot(row, Columns::Message(columns))
            })
            .optional(),
        Table::Conversations => conversation_row(connection, place),
        Table::Streams => connection
            .prepare_cached(
                "SELECT teamspace, subject, position, head, at, state, kind, secret_hash, mac
                 FROM streams WHERE row = ?1",
            )?
            .query_row([place.row], |row| {
                snapshot(row, Columns::Stream { kind: row.get(6)?, secret_hash: row.get(7)? })
            })
            .optional(),
    }
}

fn conversation_row(connection: &Connection, place: SnapshotPlace) -> Result<Option<SnapshotRow>> {
    connection
        .prepare_cached(
            "SELECT teamspace, 'conversation/' || id, position, head, at, state, holder,
                        status, opened_at, waits_in, waits_order, asked, calls_in, calls_at,
                        mac
                 FROM conversations WHERE row = ?1",
        )?
        .query_row([place.row], |row| {
            let columns = ConversationColumns {
                holder: row.get(6)?,
                status: row.get(7)?,
                opened_at: row.get(8)?,
                waits_in: row.get(9)?,
                waits_order: row.get(10)?,
                asked: row.get(11)?,
                calls_in: row.get(12)?,
                calls_at: row.get(13)?,
            };
            snapshot(row, Columns::Conversation(columns))
        })
        .optional()
}

fn snapshot(row: &Row<'_>, columns: Columns) -> Result<SnapshotRow> {
    Ok(SnapshotRow {
        stream: rows::stream(row, 0)?,
        position: row.get(2)?,
        head: row.get(3)?,
        at: rows::time(row, 4)?,
        state_text: row.get(5)?,
        mac: row.get("mac")?,
        columns,
    })
}

fn entry(row: &Row<'_>) -> Result<Entry> {
    let entry = rows::sequenced(row)?.entry;
    // A time outside the supported years is read as the nearest one inside, and must not pass for
    // it.
    let at: i64 = row.get(7)?;
    if entry.at.as_millis() != at {
        return Err(rusqlite::Error::IntegralValueOutOfRange(7, at));
    }
    Ok(entry)
}

fn lossy(row: &Row<'_>, column: usize) -> Result<String> {
    let bytes = row.get_ref(column)?.as_bytes()?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}
