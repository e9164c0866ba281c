//! Versioned migrations, each in one transaction: after a crash the schema is one version or the
//! next, never something between.

use std::path::Path;

use rusqlite::Connection;

use super::OpenError;

/// In order; the index plus one is the version. A released one is never edited.
const MIGRATIONS: [&str; 7] = [
    include_str!("../../migrations/0001_ledger.sql"),
    include_str!("../../migrations/0002_outbox.sql"),
    include_str!("../../migrations/0003_messages.sql"),
    include_str!("../../migrations/0004_inbox_failed.sql"),
    include_str!("../../migrations/0005_conversations.sql"),
    include_str!("../../migrations/0006_transfers.sql"),
    include_str!("../../migrations/0007_callbacks.sql"),
];

pub fn run(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let found = known_version(connection, path)?;
    for (version, migration) in (1..).zip(MIGRATIONS) {
        if version <= found {
            continue;
        }
        let transaction = connection.transaction().map_err(failed)?;
        transaction.execute_batch(migration).map_err(failed)?;
        transaction.pragma_update(None, "user_version", version).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}

/// The version of a database, if it is not of a newer release.
pub fn known_version(connection: &Connection, path: &Path) -> Result<u32, OpenError> {
    let failed = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let known = u32::try_from(MIGRATIONS.len()).expect("there are a handful of migrations");
    let found: u32 =
        connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed)?;
    if found > known {
        return Err(OpenError::Newer { path: path.to_owned(), found, known });
    }
    Ok(found)
}
