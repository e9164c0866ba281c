//! The rows of the outbox: claiming them under a lease, putting them off, giving them up.

use engine::ports::outbox::{Claim, Claimed, OutboxList, OutboxWrite, Outstanding};
use protocol::ids::TeamspaceId;
use protocol::step::Effect;
use protocol::time::Time;
use rusqlite::{Connection, OptionalExtension, Result, Row, params};

use super::rows::{count, readable, stream};
use crate::turns::take_turns;

/// The next teamspace with an effect of a kind, which is the first word of its name.
const NEXT_TEAMSPACE: &str = "SELECT teamspace FROM outbox
    WHERE substr(name, 1, instr(name || '/', '/') - 1) = ?1 AND teamspace > ?2 AND due IS NOT NULL
    ORDER BY teamspace LIMIT 1";

/// Its effects that are due and not held.
const DUE: &str = "SELECT teamspace, subject, name, attempts FROM outbox
    WHERE substr(name, 1, instr(name || '/', '/') - 1) = ?1 AND teamspace = ?2
      AND due <= ?3 AND leased_until <= ?3 AND due IS NOT NULL ORDER BY due LIMIT ?4";

const RELEASE: &str = "UPDATE outbox SET leased_until = 0
    WHERE leased_until > 0 AND substr(name, 1, instr(name || '/', '/') - 1) = ?1";

/// Claims rows that are due and not held: of each teamspace the earliest first, and of the
/// teamspaces one after the other.
pub fn claim(connection: &Connection, claim: &Claim) -> Result<Vec<Claimed>> {
    let mut claimed = take_turns(waiting(connection, claim)?, claim.limit);
    let mut lease = connection.prepare_cached(
        "UPDATE outbox SET attempts = ?4, leased_until = ?5
         WHERE teamspace = ?1 AND subject = ?2 AND name = ?3",
    )?;
    for one in &mut claimed {
        // Counted before the try: an effect that crashes the server is not retried for ever.
        one.attempt += 1;
        lease.execute(params![
            one.stream.teamspace.as_str(),
            one.stream.subject.to_string(),
            one.effect.name,
            one.attempt,
            claim.until.as_millis(),
        ])?;
    }
    Ok(claimed)
}

/// The rows that each teamspace may claim, beginning with the teamspace whose turn it is. Ends with
/// as many teamspaces as rows are wanted.
fn waiting(connection: &Connection, claim: &Claim) -> Result<Vec<Vec<Claimed>>> {
    let mut next = connection.prepare_cached(NEXT_TEAMSPACE)?;
    let mut due = connection.prepare_cached(DUE)?;
    let kind = claim.kind.word();
    let start = claim.after.as_ref().map_or("", TeamspaceId::as_str);
    let (mut queues, mut at, mut is_second_round) = (Vec::new(), start.to_owned(), false);
    while queues.len() < claim.limit {
        let found = next.query_row(params![kind, at], |row| row.get::<_, String>(0)).optional()?;
        match found {
            Some(teamspace) if is_second_round && teamspace.as_str() > start => break,
            Some(teamspace) => at = teamspace,
            None if is_second_round || start.is_empty() => break,
            None => {
                (at, is_second_round) = (String::new(), true);
                continue;
            }
        }
        let running = claim.running.iter().find(|(teamspace, _)| teamspace.as_str() == at);
        let room = claim.per_teamspace.saturating_sub(running.map_or(0, |(_, count)| *count));
        let rows = params![kind, at, claim.now.as_millis(), count(room.min(claim.limit))];
        let rows = due.query_map(rows, |row| {
            Ok(Claimed { stream: stream(row, 0)?, effect: effect(row, 2)?, attempt: row.get(3)? })
        })?;
        let queue = readable(rows)?;
        if !queue.is_empty() {
            queues.push(queue);
        }
    }
    Ok(queues)
}

/// Only the last claim of a row may change it.
pub fn write(connection: &Connection, write: &OutboxWrite) -> Result<()> {
    let (sql, claimed, at, error) = match write {
        OutboxWrite::Renew { claimed, until } => (
            "UPDATE outbox SET leased_until = ?5, error = coalesce(?6, error)
             WHERE teamspace = ?1 AND subject = ?2 AND name = ?3 AND attempts = ?4",
            claimed,
            Some(*until),
            None,
        ),
        OutboxWrite::PutOff { claimed, due, error, is_try } => (
            match is_try {
                true => {
                    "UPDATE outbox SET due = ?5, leased_until = 0, error = ?6
                     WHERE teamspace = ?1 AND subject = ?2 AND name = ?3 AND attempts = ?4"
                }
                false => {
                    "UPDATE outbox SET due = ?5, leased_until = 0, error = ?6, attempts = ?4 - 1
                     WHERE teamspace = ?1 AND subject = ?2 AND name = ?3 AND attempts = ?4"
                }
            },
            claimed,
            Some(*due),
            Some(error),
        ),
        OutboxWrite::GiveUp { claimed, error } => (
            "UPDATE outbox SET due = ?5, leased_until = 0, error = ?6
             WHERE teamspace = ?1 AND subject = ?2 AND name = ?3 AND attempts = ?4",
            claimed,
            None,
            Some(error),
        ),
        OutboxWrite::Release { kind } => {
            return connection.prepare_cached(RELEASE)?.execute([kind.word()]).map(|_| ());
        }
        OutboxWrite::Revive { teamspace, only, now } => {
            let subject = only.as_ref().map(|(subject, _)| subject.to_string());
            let name = only.as_ref().map(|(_, effect)| effect.name.as_ref());
            return connection
                .prepare_cached(
                    "UPDATE outbox SET due = ?2, leased_until = 0, attempts = 0
                     WHERE teamspace = ?1 AND due IS NULL
                       AND (?3 IS NULL OR (subject = ?3 AND name = ?4))",
                )?
                .execute(params![teamspace.as_str(), now.as_millis(), subject, name])
                .map(|_| ());
        }
    };
    connection
        .prepare_cached(sql)?
        .execute(params![
            claimed.stream.teamspace.as_str(),
            claimed.stream.subject.to_string(),
            claimed.effect.name,
            claimed.attempt,
            at.map(Time::as_millis),
            error,
        ])
        .map(|_| ())
}

/// Effects that are not done yet, in the order of their streams.
pub fn outstanding(
    connection: &Connection,
    teamspace: &TeamspaceId,
    list: OutboxList,
    limit: usize,
) -> Result<Vec<Outstanding>> {
    let is_given_up = list == OutboxList::GivenUp;
    connection
        .prepare_cached(
            "SELECT teamspace, subject, name, due, attempts, error, leased_until FROM outbox
             WHERE teamspace = ?1 AND (NOT ?3 OR due IS NULL) LIMIT ?2",
        )?
        .query_map(params![teamspace.as_str(), count(limit), is_given_up], |row| {
            Ok(Outstanding {
                stream: stream(row, 0)?,
                effect: effect(row, 2)?,
                due: row.get::<_, Option<i64>>(3)?.map(Time::from_millis),
                attempts: row.get(4)?,
                error: row.get(5)?,
                leased_until: Time::from_millis(row.get(6)?),
            })
        })?
        .collect()
}

fn effect(row: &Row<'_>, column: usize) -> Result<Effect> {
    Ok(Effect { name: row.get::<_, String>(column)?.into() })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::params_from_iter;

    use super::*;
    use crate::sqlite::migrate;

    /// A teamspace with many effects costs the others no time.
    #[test]
    fn each_teamspace_is_found_by_the_index() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate::run(&mut connection, Path::new(":memory:")).unwrap();
        for (sql, values) in [(NEXT_TEAMSPACE, 2), (DUE, 4)] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let values = params_from_iter(vec![0; values]);
            let plan = statement.query_map(values, |row| row.get::<_, String>(3)).unwrap();
            let plan: Vec<String> = plan.map(|step| step.unwrap()).collect();
            assert_eq!(plan.len(), 1, "{plan:?}");
            assert!(plan[0].contains("USING") && plan[0].contains("outbox_due"), "{plan:?}");
        }
    }
}
