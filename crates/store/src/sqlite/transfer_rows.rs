//! The rows of transfers: what happened to each, folded from its entries as they are written, and
//! when each person was last rung.

use std::collections::VecDeque;

use engine::ports::store::{Commit, Sequenced};
use engine::ports::transfers::{TransferFilter, TransferList, TransferRow, TransfersOf};
use protocol::ids::{AgentId, TeamspaceId, TransferId};
use protocol::ledger::{Entry, Stream};
use protocol::time::Time;
use protocol::transfer::record::{is_of_transfer, recorded};
use protocol::transfer::{Event, Record};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Result, Row, params, params_from_iter};

use super::rows::{self, count, number, parsed, readable, time};

const COLUMNS: &str = "row, conversation, record";

/// A transfer as it lies in the file, with the columns that follow from its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTransfer {
    pub row: i64,
    pub teamspace: String,
    pub conversation: String,
    /// `None` if it cannot be read, or says more than a record does.
    pub record: Option<Record>,
    pub columns: TransferColumns,
}

/// The entries about transfers in a conversation, from one of them on.
#[derive(Debug)]
pub struct TransferEntries {
    pub entries: Vec<Sequenced>,
    /// How many entries of the conversation there are from there on.
    pub n_passed: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferColumns {
    pub id: String,
    pub queue: String,
    pub agent: Option<String>,
    pub status: String,
    pub requested_at: i64,
    pub waiting_since: Option<i64>,
}

impl TransferColumns {
    pub fn of(record: &Record) -> Self {
        Self {
            id: record.transfer.to_string(),
            queue: record.queue.to_string(),
            agent: record.agent.as_ref().map(ToString::to_string),
            status: record.status.as_str().to_owned(),
            requested_at: record.requested_at.as_millis(),
            waiting_since: record.waiting_since.map(Time::as_millis),
        }
    }
}

/// Applies the entries of a commit. Most are not about transfers.
pub fn put(connection: &Connection, commit: &Commit, last_seq: u64) -> Result<()> {
    let first_seq = last_seq + 1 - commit.entries.len() as u64;
    let entries = (first_seq..).zip(&commit.entries);
    fold(connection, entries.filter(|(_, entry)| is_of_transfer(&entry.name)))
}

/// Fills both tables from the ledger: an older release did not have them.
pub fn fill(connection: &Connection) -> Result<()> {
    let sql = format!(
        "SELECT {} FROM entries WHERE name GLOB 'transfer.*' ORDER BY seq",
        rows::ENTRY_COLUMNS
    );
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query([])?;
    while let Some(row) = found.next()? {
        let sequenced = rows::sequenced(row)?;
        fold(connection, [(sequenced.seq, &sequenced.entry)])?;
    }
    Ok(())
}

/// The last record is written once, however many of the entries are about it.
fn fold<'e>(
    connection: &Connection,
    entries: impl IntoIterator<Item = (u64, &'e Entry)>,
) -> Result<()> {
    let mut open: Option<(i64, &Entry, Record)> = None;
    for (seq, entry) in entries {
        let Some(event) = recorded(entry) else { continue };
        if let Event::Ringing(ringing) = &event {
            put_ring(connection, &entry.stream.teamspace, &ringing.agent, entry.at)?;
        }
        if let Some((row, last, record)) = &open
            && record.transfer != event.transfer()
        {
            write(connection, *row, last, record)?;
            open = None;
        }
        if let Event::Requested(requested) = &event {
            open = Some((number(seq), entry, Record::requested(requested, entry.at)));
            continue;
        }
        if open.is_none() {
            let known = load(connection, &entry.stream.teamspace, event.transfer())?;
            open = known.map(|(row, record)| (row, entry, record));
        }
        if let Some((_, last, record)) = &mut open {
            record.apply(&event, &entry.actor, entry.at);
            *last = entry;
        }
    }
    match open {
        Some((row, last, record)) => write(connection, row, last, &record),
        None => Ok(()),
    }
}

fn load(
    connection: &Connection,
    teamspace: &TeamspaceId,
    id: TransferId,
) -> Result<Option<(i64, Record)>> {
    let found: Option<(i64, String)> = connection
        .prepare_cached("SELECT row, record FROM transfers WHERE teamspace = ?1 AND id = ?2")?
        .query_row(params![teamspace.as_str(), id.to_string()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    // One that was changed past the server must not stop its conversation.
    Ok(found.and_then(|(row, text)| Some((row, serde_json::from_str(&text).ok()?))))
}

fn write(connection: &Connection, row: i64, entry: &Entry, record: &Record) -> Result<()> {
    let columns = TransferColumns::of(record);
    let text = serde_json::to_string(record).expect("a record is plain data");
    connection
        .prepare_cached(
            "INSERT INTO transfers (row, teamspace, id, conversation, queue, agent, status,
                                    requested_at, waiting_since, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT (row) DO UPDATE SET
                queue = excluded.queue, agent = excluded.agent, status = excluded.status,
                waiting_since = excluded.waiting_since, record = excluded.record",
        )?
        .execute(params![
            row,
            entry.stream.teamspace.as_str(),
            columns.id,
            entry.stream.subject.id(),
            columns.queue,
            columns.agent,
            columns.status,
            columns.requested_at,
            columns.waiting_since,
            text,
        ])
        .map(|_| ())
}

fn put_ring(
    connection: &Connection,
    teamspace: &TeamspaceId,
    agent: &AgentId,
    at: Time,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO last_rings (teamspace, agent, at) VALUES (?1, ?2, ?3)
             ON CONFLICT (teamspace, agent) DO UPDATE SET at = max(at, excluded.at)",
        )?
        .execute(params![teamspace.as_str(), agent.as_str(), at.as_millis()])
        .map(|_| ())
}

/// When people were last rung, in the order of their names.
pub fn last_rings(
    connection: &Connection,
    teamspace: &TeamspaceId,
    after: Option<&AgentId>,
    limit: usize,
) -> Result<Vec<(AgentId, Time)>> {
    let mut statement = connection.prepare_cached(
        "SELECT agent, at FROM last_rings WHERE teamspace = ?1 AND agent > ?2
         ORDER BY agent LIMIT ?3",
    )?;
    let after = after.map_or("", AgentId::as_str);
    let values = params![teamspace.as_str(), after, count(limit)];
    readable(statement.query_map(values, |row| Ok((parsed(row, 0)?, time(row, 1)?)))?)
}

pub fn list(connection: &Connection, list: &TransferList) -> Result<Vec<TransferRow>> {
    let (sql, values) = query(list);
    readable(connection.prepare_cached(&sql)?.query_map(params_from_iter(values), listed)?)
}

/// Each list finds its rows in order in an index; a test checks the query plans.
fn query(list: &TransferList) -> (String, Vec<Value>) {
    let mut sql = format!("SELECT {COLUMNS} FROM transfers WHERE teamspace = ?");
    let mut values = vec![Value::from(list.teamspace.to_string())];
    let after = list.after.map(number).map(Value::from);
    let order = match &list.of {
        TransfersOf::One(id) => {
            sql.push_str(" AND id = ?");
            values.push(Value::from(id.to_string()));
            "row"
        }
        TransfersOf::WaitingIn(queue) => {
            // Named in the query so that the index of those can be used for it.
            sql.push_str(" AND queue = ? AND waiting_since IS NOT NULL");
            values.push(Value::from(queue.to_string()));
            "waiting_since"
        }
        TransfersOf::Requested { since, until } => {
            sql.push_str(" AND requested_at >= ? AND requested_at < ?");
            values.extend([since, until].map(|at| Value::from(at.as_millis())));
            if let Some(after) = after {
                sql.push_str(AFTER);
                values.push(after);
            }
            "requested_at, row"
        }
        TransfersOf::Matching(filter) => {
            add_filter(&mut sql, &mut values, filter);
            if let Some(after) = after {
                sql.push_str(BEFORE);
                values.push(after);
            }
            "requested_at DESC, row DESC"
        }
    };
    sql.push_str(&format!(" ORDER BY {order} LIMIT ?"));
    values.push(Value::from(count(list.limit)));
    (sql, values)
}

/// The place of a row in the order by time.
const AFTER: &str = " AND (requested_at, row) > \
                     (SELECT requested_at, row FROM transfers WHERE row = ?)";
const BEFORE: &str = " AND (requested_at, row) < \
                      (SELECT requested_at, row FROM transfers WHERE row = ?)";

fn add_filter(sql: &mut String, values: &mut Vec<Value>, filter: &TransferFilter) {
    let text = |value: Option<String>| value.map(Value::from);
    let at = |at: Option<Time>| at.map(|at| Value::from(at.as_millis()));
    let wanted = [
        ("conversation =", text(filter.conversation.map(|it| it.to_string()))),
        ("agent =", text(filter.agent.as_ref().map(ToString::to_string))),
        ("status =", text(filter.status.map(|it| it.as_str().to_owned()))),
        ("queue =", text(filter.queue.as_ref().map(ToString::to_string))),
        ("requested_at >=", at(filter.since)),
        ("requested_at <", at(filter.until)),
    ];
    for (condition, value) in wanted {
        if let Some(value) = value {
            sql.push_str(&format!(" AND {condition} ?"));
            values.push(value);
        }
    }
}

fn listed(row: &Row<'_>) -> Result<TransferRow> {
    Ok(TransferRow { row: row.get(0)?, conversation: parsed(row, 1)?, record: record(row, 2)? })
}

fn record(row: &Row<'_>, column: usize) -> Result<Record> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

/// All rows after one of them, as they lie in the file, for an audit.
pub fn stored(connection: &Connection, after: i64, limit: usize) -> Result<Vec<StoredTransfer>> {
    let read = |row: &Row<'_>| {
        let text: String = row.get(9)?;
        Ok(StoredTransfer {
            row: row.get(0)?,
            teamspace: row.get(1)?,
            conversation: row.get(3)?,
            record: whole(&text),
            columns: TransferColumns {
                id: row.get(2)?,
                queue: row.get(4)?,
                agent: row.get(5)?,
                status: row.get(6)?,
                requested_at: row.get(7)?,
                waiting_since: row.get(8)?,
            },
        })
    };
    let page: Vec<StoredTransfer> = connection
        .prepare_cached(
            "SELECT row, teamspace, id, conversation, queue, agent, status, requested_at,
                    waiting_since, record
             FROM transfers WHERE row > ?1 ORDER BY row LIMIT ?2",
        )?
        .query_map(params![after, count(limit)], read)?
        .collect::<Result<_>>()?;
    super::row_order::check(Some(after), &page, |one| one.row)?;
    Ok(page)
}

/// The record that a text says, and nothing beside it.
fn whole(text: &str) -> Option<Record> {
    let record: Record = serde_json::from_str(text).ok()?;
    let said: serde_json::Value = serde_json::from_str(text).ok()?;
    (serde_json::to_value(&record).ok()? == said).then_some(record)
}

/// The entries about transfers in a conversation, from this one on, in order.
pub fn entries_from(
    connection: &Connection,
    stream: &Stream,
    first: u64,
) -> Result<TransferEntries> {
    let mut seqs = VecDeque::new();
    rows::walk_back(connection, stream, |seq, _| {
        if seq >= first {
            seqs.push_front(seq);
        }
        seq > first
    })?;
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {} FROM entries WHERE seq = ?1 AND name GLOB 'transfer.*'",
        rows::ENTRY_COLUMNS
    ))?;
    let mut entries = Vec::new();
    for seq in &seqs {
        entries.extend(statement.query_row([*seq], rows::sequenced).optional()?);
    }
    Ok(TransferEntries { entries, n_passed: seqs.len() as u64 })
}

/// When a person was last rung, as it lies in the file.
pub fn stored_ring(
    connection: &Connection,
    teamspace: &TeamspaceId,
    agent: &AgentId,
) -> Result<Option<i64>> {
    connection
        .prepare_cached("SELECT at FROM last_rings WHERE teamspace = ?1 AND agent = ?2")?
        .query_row(params![teamspace.as_str(), agent.as_str()], |row| row.get(0))
        .optional()
}

/// The row that an entry requested, as it lies in the file.
pub fn stored_at(connection: &Connection, seq: u64) -> Result<Option<StoredTransfer>> {
    let seq = number(seq);
    let found = stored(connection, seq.saturating_sub(1), 1)?;
    Ok(found.into_iter().find(|found| found.row == seq))
}

/// All times of last rings, by teamspace and agent, after one of them.
pub fn stored_rings(
    connection: &Connection,
    after: (&str, &str),
    limit: usize,
) -> Result<Vec<(String, String, i64)>> {
    let page: Vec<(String, String, i64)> = connection
        .prepare_cached(
            "SELECT teamspace, agent, at FROM last_rings WHERE (teamspace, agent) > (?1, ?2)
             ORDER BY teamspace, agent LIMIT ?3",
        )?
        .query_map(params![after.0, after.1, count(limit)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_>>()?;
    super::row_order::check(Some(after), &page, |(teamspace, agent, _)| {
        (teamspace.as_str(), agent.as_str())
    })?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use protocol::transfer::Status;

    use super::*;

    #[test]
    fn nothing_sorts_or_scans() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::sqlite::migrate::run(&mut connection, "test".as_ref()).unwrap();
        crate::sqlite::keep_plans(&connection).unwrap();
        let at = Time::from_millis(9);
        let mut all = vec![
            TransfersOf::One("01938c2e-0000-7000-9000-000000000001".parse().unwrap()),
            TransfersOf::WaitingIn("support".parse().unwrap()),
            TransfersOf::Requested { since: at, until: at },
        ];
        for choice in 0..64_u32 {
            let wants = |bit: u32| choice & (1 << bit) != 0;
            all.push(TransfersOf::Matching(TransferFilter {
                status: wants(0).then_some(Status::Queued),
                queue: wants(1).then(|| "support".parse().unwrap()),
                agent: wants(2).then(|| "hana".parse().unwrap()),
                conversation: wants(3)
                    .then(|| "01938c2e-0000-7000-8000-000000000001".parse().unwrap()),
                since: wants(4).then_some(at),
                until: wants(5).then_some(at),
            }));
        }
        for of in all {
            for after in [None, Some(7)] {
                let teamspace = TeamspaceId::default_teamspace();
                let list = TransferList { teamspace, of: of.clone(), after, limit: 50 };
                let (sql, values) = query(&list);
                let sql = format!("EXPLAIN QUERY PLAN {sql}");
                let mut statement = connection.prepare(&sql).unwrap();
                let plan = statement.query_map(params_from_iter(values), |row| row.get(3));
                let plan: Vec<String> = plan.unwrap().map(|step| step.unwrap()).collect();
                assert!(plan[0].starts_with("SEARCH transfers USING INDEX"), "{of:?} {plan:?}");
                let is_bad =
                    |step: &String| step.contains("TEMP B-TREE") || step.contains("SCAN t");
                assert!(!plan.iter().any(is_bad), "{of:?} {plan:?}");
            }
        }
    }
}
