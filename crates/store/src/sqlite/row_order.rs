//! Guards paged reads against a damaged file.
//!
//! SQLite trusts the order of a table. In a damaged file rows can come in any order, and again and
//! again, so a reader that asks for the rows after the last one might never come to an end.

use rusqlite::{Result, ffi};

/// An error unless each key of a page is above the one before it, and the first above `after`.
pub fn check<'p, R, K: PartialOrd>(
    after: Option<K>,
    page: &'p [R],
    key: impl Fn(&'p R) -> K,
) -> Result<()> {
    let mut last = after;
    for row in page {
        let next = key(row);
        if last.is_some_and(|last| next <= last) {
            return Err(broken());
        }
        last = Some(next);
    }
    Ok(())
}

pub fn broken() -> rusqlite::Error {
    let detail = Some("its rows are out of order".to_owned());
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), detail)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use engine::ports::store::StoreError;
    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::super::{FILE_NAME, ReadOnly, migrate};

    /// Three rows in each table that has no row numbers, in the order of their last column.
    const ROWS: &str = "
        WITH keys(key) AS (VALUES ('k001'), ('k002'), ('k003'))
          INSERT INTO holds (teamspace, key) SELECT 'default', key FROM keys;
        WITH keys(key) AS (VALUES ('k001'), ('k002'), ('k003'))
          INSERT INTO deadlines (due, teamspace, subject, name)
          SELECT 1, 'default', 'teamspace/self', key FROM keys;
        WITH keys(key) AS (VALUES ('k001'), ('k002'), ('k003'))
          INSERT INTO outbox (teamspace, subject, name, due)
          SELECT 'default', 'teamspace/self', key, NULL FROM keys;
        WITH keys(key) AS (VALUES ('k001'), ('k002'), ('k003'))
          INSERT INTO parties (teamspace, agent, message, part, status)
          SELECT 'default', key, 1, 'to', 'pending' FROM keys;
        WITH keys(key) AS (VALUES ('k001'), ('k002'), ('k003'))
          INSERT INTO outcomes (teamspace, caller, key, fingerprint, outcome, at)
          SELECT 'default', 'alice', key, zeroblob(32), '{}', 1 FROM keys;";

    const LIMIT: usize = 2;

    /// In the damaged file the first row sorts after the others.
    #[test]
    fn a_damaged_table_is_not_read_for_ever() {
        for (damage, is_sound) in [("k001", true), ("k009", false)] {
            let folder = TempDir::new().unwrap();
            fill(&folder.path().join(FILE_NAME), damage);
            let store = ReadOnly::open(folder.path()).unwrap();
            let read = [
                ("holds", read_all(|after| store.hold_rows(after, LIMIT))),
                ("deadlines", read_all(|after| store.deadline_rows(after, LIMIT))),
                ("outbox", read_all(|after| store.outbox_rows(after, LIMIT))),
                ("parties", read_all(|after| store.party_rows(after, LIMIT))),
                ("outcomes", read_all(|after| store.outcome_rows(after, LIMIT))),
            ];
            for (table, read) in read {
                match read {
                    Ok(n_rows) => assert_eq!((n_rows, is_sound), (3, true), "{table}"),
                    Err(StoreError::Corrupt(_)) => assert!(!is_sound, "{table}"),
                    Err(error) => panic!("{table}: {error}"),
                }
            }
        }
    }

    fn fill(path: &Path, first_key: &str) {
        let mut connection = Connection::open(path).unwrap();
        migrate::run(&mut connection, path).unwrap();
        connection.execute_batch(ROWS).unwrap();
        drop(connection);
        let mut bytes = std::fs::read(path).unwrap();
        for at in 0..bytes.len() - first_key.len() {
            if bytes[at..].starts_with(b"k001") {
                bytes[at..at + first_key.len()].copy_from_slice(first_key.as_bytes());
            }
        }
        std::fs::write(path, bytes).unwrap();
    }

    fn read_all<R: Clone>(
        read: impl Fn(Option<&R>) -> Result<Vec<R>, StoreError>,
    ) -> Result<usize, StoreError> {
        let mut rows: Vec<R> = Vec::new();
        loop {
            let page = read(rows.last())?;
            if page.is_empty() {
                return Ok(rows.len());
            }
            rows.extend(page);
            assert!(rows.len() < 100, "the reads go round in circles");
        }
    }
}
