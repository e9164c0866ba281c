//! The rows of the outbox: claiming them under a lease, putting them off, giving them up.

use engine::ports::store::{Claim, Claimed, EffectNames, OutboxWrite, Outstanding};
use protocol::ids::TeamspaceId;
use protocol::step::Effect;
use protocol::time::Time;
use rusqlite::{Connection, Result, Row, params};

use super::rows::{count, stream};

/// Claims the rows that are due and not held, earliest first.
pub fn claim(connection: &Connection, claim: &Claim) -> Result<Vec<Claimed>> {
    let (start, is_with) = start_of(claim.names);
    let mut claimed: Vec<Claimed> = connection
        .prepare_cached(
            "SELECT teamspace, subject, name, attempts FROM outbox
             WHERE due IS NOT NULL AND due <= ?1 AND leased_until <= ?1
               AND (substr(name, 1, length(?3)) = ?3) = ?4 ORDER BY due LIMIT ?2",
        )?
        .query_map(params![claim.now.as_millis(), count(claim.limit), start, is_with], |row| {
            Ok(Claimed { stream: stream(row, 0)?, effect: effect(row, 2)?, attempt: row.get(3)? })
        })?
        .collect::<Result<_>>()?;
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

/// The prefix of the names, and whether names must or must not have it.
fn start_of(names: EffectNames) -> (&'static str, bool) {
    match names {
        EffectNames::With(start) => (start, true),
        EffectNames::Without(start) => (start, false),
    }
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
        OutboxWrite::PutOff { claimed, due, error } => (
            "UPDATE outbox SET due = ?5, leased_until = 0, error = ?6
             WHERE teamspace = ?1 AND subject = ?2 AND name = ?3 AND attempts = ?4",
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
        OutboxWrite::Release { names } => {
            let (start, is_with) = start_of(*names);
            return connection
                .prepare_cached(
                    "UPDATE outbox SET leased_until = 0
                     WHERE leased_until > 0 AND (substr(name, 1, length(?1)) = ?1) = ?2",
                )?
                .execute(params![start, is_with])
                .map(|_| ());
        }
        OutboxWrite::Revive { teamspace, now } => {
            return connection
                .prepare_cached(
                    "UPDATE outbox SET due = ?2, leased_until = 0, attempts = 0
                     WHERE teamspace = ?1 AND due IS NULL",
                )?
                .execute(params![teamspace.as_str(), now.as_millis()])
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
    limit: usize,
) -> Result<Vec<Outstanding>> {
    connection
        .prepare_cached(
            "SELECT teamspace, subject, name, due, attempts, error FROM outbox
             WHERE teamspace = ?1 LIMIT ?2",
        )?
        .query_map(params![teamspace.as_str(), count(limit)], |row| {
            Ok(Outstanding {
                stream: stream(row, 0)?,
                effect: effect(row, 2)?,
                due: row.get::<_, Option<i64>>(3)?.map(Time::from_millis),
                attempts: row.get(4)?,
                error: row.get(5)?,
            })
        })?
        .collect()
}

fn effect(row: &Row<'_>, column: usize) -> Result<Effect> {
    Ok(Effect { name: row.get::<_, String>(column)?.into() })
}
