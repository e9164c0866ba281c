//! How far the ledger is sealed, and how far each of the loops that follow it is.

use engine::ports::store::Sealed;
use rusqlite::{Connection, OptionalExtension, Result, params};

pub fn sealed(connection: &Connection) -> Result<Option<Sealed>> {
    connection
        .prepare_cached("SELECT size, edge, note FROM sealed")?
        .query_row([], |row| Ok(Sealed { size: row.get(0)?, edge: row.get(1)?, note: row.get(2)? }))
        .optional()
}

/// The cursor of a follower of the ledger.
pub fn place(connection: &Connection, follower: &str) -> Result<u64> {
    let found = connection
        .prepare_cached("SELECT seq FROM places WHERE follower = ?1")?
        .query_row([follower], |row| row.get(0))
        .optional()?;
    Ok(found.unwrap_or(0))
}

pub fn write_place(connection: &Connection, follower: &str, seq: u64) -> Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO places (follower, seq) VALUES (?1, ?2)")?
        .execute(params![follower, seq])
        .map(|_| ())
}

pub fn write_sealed(connection: &Connection, sealed: &Sealed) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO sealed (only, size, edge, note) VALUES (1, ?1, ?2, ?3)",
        )?
        .execute(params![sealed.size, sealed.edge, sealed.note])
        .map(|_| ())
}
