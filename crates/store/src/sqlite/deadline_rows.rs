//! The rows of armed deadlines.

use engine::ports::store::Due;
use protocol::step::Deadline;
use protocol::time::Time;
use rusqlite::{Connection, Result, Row, params};

use super::rows::{count, readable, stream, time};
use crate::turns::{by_teamspace, take_turns};

/// A teamspace with more than this part of what is asked for is left aside, to find the others.
const SHARE: usize = 8;

/// How often teamspaces are left aside for one answer.
const ROUNDS_MAX: usize = 8;

/// Rows that cannot be read and do not keep the others from being found.
const UNREADABLE_MAX: usize = 16;

/// The earliest. If more are due, the teamspaces take turns.
pub fn due(connection: &Connection, now: Time, limit: usize) -> Result<Vec<Due>> {
    let mut earliest = connection.prepare_cached(
        "SELECT teamspace, subject, name, due FROM deadlines
         WHERE due <= ?1 AND teamspace NOT IN (SELECT value FROM json_each(?3))
         ORDER BY due LIMIT ?2",
    )?;
    let (mut queues, mut aside) = (Vec::new(), Vec::<String>::new());
    for _ in 0..ROUNDS_MAX {
        let left_out = serde_json::to_string(&aside).expect("names are plain text");
        let rows = params![now.as_millis(), count(limit.saturating_add(UNREADABLE_MAX)), left_out];
        let mut found = readable(earliest.query_map(rows, due_row)?)?;
        found.truncate(limit);
        let is_all = found.len() < limit;
        if is_all && aside.is_empty() {
            return Ok(found);
        }
        let (many, few): (Vec<_>, Vec<_>) =
            by_teamspace(found).into_iter().partition(|queue| queue.len() > limit / SHARE);
        let is_last = is_all || many.is_empty();
        aside.extend(many.iter().map(|queue| queue[0].stream.teamspace.to_string()));
        queues.extend(many);
        if is_last {
            queues.extend(few);
            break;
        }
    }
    Ok(take_turns(queues, limit))
}

pub fn due_row(row: &Row<'_>) -> Result<Due> {
    Ok(Due {
        stream: stream(row, 0)?,
        deadline: Deadline { name: row.get::<_, String>(2)?.into(), due: time(row, 3)? },
    })
}
