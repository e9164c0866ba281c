//! Removes expired outcomes, a few at a time, in the order of keys.

use protocol::time::{Span, Time};
use rusqlite::{Connection, Result, params};

/// Outcomes answer retries for this long.
const KEPT: Span = Span::from_hours(7 * 24);

/// A sweep follows when so many were written, or when a while has passed on a quiet server.
const WRITTEN_PER_SWEEP: u64 = 512;
const QUIET: Span = Span::from_minutes(1);

/// How many one sweep looks at: twice as many as were written since the last one, so that expired
/// outcomes never outnumber the others, and few enough that commits do not wait for it.
const SWEEP_ROWS: usize = 1_024;

/// A round over all outcomes, and when the next one is due.
#[derive(Debug, Default)]
pub struct Sweep {
    /// Since the last sweep.
    pub n_written: u64,
    last: Option<Time>,
    /// The last key that was looked at; `None` at the beginning of a round.
    at: Option<Key>,
    /// The oldest outcome that this round has kept.
    oldest_kept: Option<Time>,
    /// Before this time there is nothing to remove.
    rest_until: Option<Time>,
}

type Key = (String, String, String);

impl Sweep {
    /// Looks at the next few, if it is time.
    pub fn go_on(&mut self, connection: &Connection, now: Time) -> Result<()> {
        let is_time = self.n_written >= WRITTEN_PER_SWEEP
            || self.last.is_none_or(|last| now.since(last) >= QUIET);
        if !is_time || self.rest_until.is_some_and(|until| now < until) {
            return Ok(());
        }
        self.n_written = 0;
        self.last = Some(now);
        let rows = rows_after(connection, self.at.as_ref())?;
        let oldest_wanted = Time::from_millis(now.as_millis() - KEPT.as_millis());
        let (old, kept): (Vec<_>, Vec<_>) = rows.iter().partition(|(_, at)| *at < oldest_wanted);
        if !old.is_empty() {
            remove(connection, old.iter().map(|(key, _)| key))?;
        }
        self.oldest_kept = kept.iter().map(|(_, at)| *at).chain(self.oldest_kept).min();
        let is_end = rows.len() < SWEEP_ROWS;
        self.at = if is_end { None } else { rows.into_iter().next_back().map(|(key, _)| key) };
        if is_end {
            // Outcomes written meanwhile are younger still.
            self.rest_until = self.oldest_kept.take().map(|oldest| oldest.plus(KEPT));
        }
        Ok(())
    }
}

/// All of them with one sync.
fn remove<'k>(connection: &Connection, keys: impl Iterator<Item = &'k Key>) -> Result<()> {
    let transaction = connection.unchecked_transaction()?;
    let mut remove = connection
        .prepare_cached("DELETE FROM outcomes WHERE teamspace = ?1 AND caller = ?2 AND key = ?3")?;
    for (teamspace, caller, key) in keys {
        remove.execute(params![teamspace, caller, key])?;
    }
    transaction.commit()
}

fn rows_after(connection: &Connection, after: Option<&Key>) -> Result<Vec<(Key, Time)>> {
    let beginning = Key::default();
    let (teamspace, caller, key) = after.unwrap_or(&beginning);
    connection
        .prepare_cached(
            "SELECT teamspace, caller, key, at FROM outcomes
             WHERE (teamspace, caller, key) > (?1, ?2, ?3)
             ORDER BY teamspace, caller, key LIMIT ?4",
        )?
        .query_map(params![teamspace, caller, key, SWEEP_ROWS], |row| {
            let key = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((key, Time::from_millis(row.get(3)?)))
        })?
        .collect()
}
