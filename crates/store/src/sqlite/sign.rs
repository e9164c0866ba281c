//! Signs the rows that have no MAC of the server's key yet: those of an older release, or of a
//! backup that was restored without its key.

use std::collections::HashSet;
use std::path::Path;

use engine::ports::store::StoreError;
use protocol::canonical::Hash;
use protocol::ledger::Stream;
use protocol::row_mac::{OutcomeRow, RowKey, SnapshotRow};
use rusqlite::{Connection, Result, params};

use super::{BUSY_MS_MAX, FILE_NAME, broken, row_order, rows};

/// Rows of one transaction.
const PAGE_ROWS_MAX: usize = 512;

/// The tables with snapshots, and how each names the subject of a row.
const SNAPSHOTS: [(&str, &str); 4] = [
    ("streams", "subject"),
    ("handoffs", "'handoff/' || id"),
    ("messages", "'message/' || id"),
    ("conversations", "'conversation/' || id"),
];

/// Signs every row but the snapshots of the `doubtful` streams, which lose their MACs. Nothing else
/// may write to the database meanwhile.
pub fn sign_rows(
    folder: &Path,
    key: &RowKey,
    doubtful: &HashSet<Stream>,
) -> std::result::Result<(), StoreError> {
    let sign = || {
        let connection = Connection::open(folder.join(FILE_NAME))?;
        connection.execute_batch(&format!("PRAGMA busy_timeout = {BUSY_MS_MAX}"))?;
        for (table, subject) in SNAPSHOTS {
            let mut after = i64::MIN;
            while let Some(last) = sign_page(&connection, key, doubtful, table, subject, after)? {
                after = last;
            }
        }
        let mut after = Default::default();
        while let Some(last) = sign_outcomes(&connection, key, &after)? {
            after = last;
        }
        Ok(())
    };
    sign().map_err(broken)
}

/// Returns the last row that was signed; `None` after the last page.
fn sign_page(
    connection: &Connection,
    key: &RowKey,
    doubtful: &HashSet<Stream>,
    table: &str,
    subject: &str,
    after: i64,
) -> Result<Option<i64>> {
    let transaction = connection.unchecked_transaction()?;
    let mut signed = Vec::new();
    let mut read = connection.prepare_cached(&format!(
        "SELECT row, teamspace, {subject}, position, head, at, state FROM {table}
         WHERE row > ?1 ORDER BY row LIMIT ?2"
    ))?;
    let mut found = read.query(params![after, rows::count(PAGE_ROWS_MAX)])?;
    while let Some(row) = found.next()? {
        let stream = rows::stream(row, 1)?;
        let (head, state_text): (Hash, String) = (row.get(4)?, row.get(6)?);
        let mac = key.of_snapshot(SnapshotRow {
            stream: &stream,
            position: row.get(3)?,
            head: &head,
            at: rows::time(row, 5)?,
            state_text: &state_text,
        });
        let number: i64 = row.get(0)?;
        signed.push((number, (!doubtful.contains(&stream)).then_some(mac)));
    }
    row_order::check(Some(after), &signed, |(number, _)| *number)?;
    let mut write =
        connection.prepare_cached(&format!("UPDATE {table} SET mac = ?2 WHERE row = ?1"))?;
    for (number, mac) in &signed {
        write.execute(params![number, mac])?;
    }
    transaction.commit()?;
    Ok(signed.last().map(|(number, _)| *number))
}

type OutcomeName = (String, String, String);

fn sign_outcomes(
    connection: &Connection,
    key: &RowKey,
    after: &OutcomeName,
) -> Result<Option<OutcomeName>> {
    let transaction = connection.unchecked_transaction()?;
    let mut signed = Vec::new();
    let mut read = connection.prepare_cached(
        "SELECT teamspace, caller, key, fingerprint, outcome FROM outcomes
         WHERE (teamspace, caller, key) > (?1, ?2, ?3) ORDER BY teamspace, caller, key LIMIT ?4",
    )?;
    let (teamspace, caller, name) = after;
    let mut found = read.query(params![teamspace, caller, name, rows::count(PAGE_ROWS_MAX)])?;
    while let Some(row) = found.next()? {
        let name: OutcomeName = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (fingerprint, outcome): (Hash, String) = (row.get(3)?, row.get(4)?);
        let mac = key.of_outcome(OutcomeRow {
            teamspace: &name.0,
            caller: &name.1,
            key: &name.2,
            fingerprint: &fingerprint,
            outcome: &outcome,
        });
        signed.push((name, mac));
    }
    row_order::check(Some(after), &signed, |(name, _)| name)?;
    let mut write = connection.prepare_cached(
        "UPDATE outcomes SET mac = ?4 WHERE teamspace = ?1 AND caller = ?2 AND key = ?3",
    )?;
    for ((teamspace, caller, name), mac) in &signed {
        write.execute(params![teamspace, caller, name, mac])?;
    }
    transaction.commit()?;
    Ok(signed.pop().map(|(name, _)| name))
}
