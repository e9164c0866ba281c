//! Erasing the body of an entry.

use engine::ports::store::Sequenced;
use rusqlite::{Connection, Result, params};

/// Replaces a body by its commitment, and the document that came with it by nothing. Until
/// [`done`], freed pages are overwritten; else they would keep their content until they are reused.
/// That is too expensive for every change.
pub fn erase(connection: &Connection, erased: &Sequenced) -> Result<()> {
    connection.execute_batch("PRAGMA secure_delete = ON")?;
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

/// Called when all erasures are written.
pub fn done(connection: &Connection) -> Result<()> {
    connection.execute_batch("PRAGMA secure_delete = FAST")
}
