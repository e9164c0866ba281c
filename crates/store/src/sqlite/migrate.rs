//! Versioned migrations, each in one transaction: after a crash the schema is one version or the
//! next, never something between.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, Result};

use super::{OpenError, transfer_rows};

/// In order; the index plus one is the version. A released one is never edited.
const MIGRATIONS: [&str; 14] = [
    include_str!("../../migrations/0001_ledger.sql"),
    include_str!("../../migrations/0002_outbox.sql"),
    include_str!("../../migrations/0003_messages.sql"),
    include_str!("../../migrations/0004_inbox_failed.sql"),
    include_str!("../../migrations/0005_conversations.sql"),
    include_str!("../../migrations/0006_transfers.sql"),
    include_str!("../../migrations/0007_callbacks.sql"),
    include_str!("../../migrations/0008_indexes_without_lists.sql"),
    include_str!("../../migrations/0009_view_with_teamspace.sql"),
    include_str!("../../migrations/0010_outbox_by_teamspace.sql"),
    include_str!("../../migrations/0011_row_macs.sql"),
    include_str!("../../migrations/0012_teamspaces_begun.sql"),
    include_str!("../../migrations/0013_transfer_records.sql"),
    include_str!("../../migrations/0014_entries_by_previous.sql"),
];

/// The migration whose tables follow from the ledger.
const TRANSFER_RECORDS: u32 = 13;

pub fn run(connection: &mut Connection, path: &Path) -> std::result::Result<(), OpenError> {
    let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let found = known_version(connection, path)?;
    for (version, migration) in (1..).zip(MIGRATIONS) {
        if version <= found {
            continue;
        }
        let transaction = connection.transaction().map_err(failed)?;
        transaction.execute_batch(migration).map_err(failed)?;
        if version == TRANSFER_RECORDS {
            transfer_rows::fill(&transaction).map_err(failed)?;
        }
        transaction.pragma_update(None, "user_version", version).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

/// How a schema differs from the one that the migrations up to its version make: tables, views,
/// indexes and triggers that are missing, changed, or not ours.
pub fn differences(connection: &Connection) -> Result<Vec<String>> {
    let found: usize = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let ours = Connection::open_in_memory()?;
    for migration in MIGRATIONS.iter().take(found) {
        ours.execute_batch(migration)?;
    }
    let (found, expected) = (parts(connection)?, parts(&ours)?);
    let mut differences = Vec::new();
    for (name, sql) in &expected {
        match found.get(name) {
            Some(found) if found == sql => {}
            Some(_) => differences.push(format!("the {name} was changed")),
            None => differences.push(format!("the {name} is missing")),
        }
    }
    let foreign = found.keys().filter(|name| !expected.contains_key(*name));
    differences.extend(foreign.map(|name| format!("the {name} is not ours")));
    Ok(differences)
}

/// The parts of a schema by kind and name, with the statements that make them; without SQLite's own
/// statistics, which decide only how fast a query is.
fn parts(connection: &Connection) -> Result<BTreeMap<String, Option<String>>> {
    let mut statement = connection.prepare(
        "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_stat*'",
    )?;
    let parts = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    parts.collect()
}

/// The version of a database, if it is ours and not of a newer release; 0 before the first
/// migration.
pub fn known_version(connection: &Connection, path: &Path) -> std::result::Result<u32, OpenError> {
    let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let version: i64 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    let (n_parts, has_ledger): (u64, bool) = connection
        .query_row(
            "SELECT count(*), coalesce(max(name = 'entries'), 0) FROM sqlite_schema",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .map_err(failed)?;
    let is_ours = if version == 0 { n_parts == 0 } else { has_ledger };
    let Some(found) = u32::try_from(version).ok().filter(|_| is_ours) else {
        return Err(OpenError::NotOurs { path: path.to_owned(), version });
    };
    if found > newest_version() {
        return Err(OpenError::Newer { path: path.to_owned(), found, known: newest_version() });
    }
    if (1..newest_version()).contains(&found) {
        // No migration can be sure of what it changes.
        let difference = differences(connection).map_err(failed)?.into_iter().next();
        if let Some(difference) = difference {
            return Err(OpenError::Changed { path: path.to_owned(), found, difference });
        }
    }
    Ok(found)
}

pub fn newest_version() -> u32 {
    u32::try_from(MIGRATIONS.len()).expect("there are a handful of migrations")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_a_row_makes_no_table_beside_it() {
        let mut connection = Connection::open_in_memory().unwrap();
        run(&mut connection, Path::new("test")).unwrap();
        let texts = |sql: &str, column: usize| -> Vec<String> {
            let mut statement = connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get(column)).unwrap();
            rows.map(|text| text.unwrap()).collect()
        };
        for table in texts("SELECT name FROM sqlite_master WHERE type = 'table'", 0) {
            let codes = texts(&format!("EXPLAIN INSERT INTO {table} DEFAULT VALUES"), 1);
            assert!(!codes.contains(&"OpenEphemeral".to_owned()), "{table}: {codes:?}");
        }
    }
}
