//! What an entry says, taken away.

use engine::port::Sequenced;
use rusqlite::{Connection, Result, params};

/// Replaces a body by its commitment, and the document that came with it by nothing.
pub fn erase(connection: &Connection, erased: &Sequenced) -> Result<()> {
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
