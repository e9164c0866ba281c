//! The outbox: effects that are not done yet.

use std::collections::BTreeMap;

use engine::ports::outbox::{Claim, Claimed, OutboxWrite};
use protocol::time::Time;

use super::{OutboxRow, Tables};
use crate::turns::take_turns;

impl Tables {
    pub(super) fn claim(&mut self, claim: &Claim) -> Vec<Claimed> {
        let is_free = |row: &OutboxRow| {
            row.due.is_some_and(|due| due <= claim.now) && row.leased_until <= claim.now
        };
        let outbox = self.outbox.iter_mut();
        let mut free: Vec<_> =
            outbox.filter(|((_, effect), row)| is_free(row) && effect.is_of(claim.kind)).collect();
        free.sort_by_key(|(_, row)| row.due);
        let mut queues: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for ((stream, effect), row) in free {
            let teamspace = &stream.teamspace;
            // Those whose turn has been come after the others.
            let was_served = claim.after.as_ref().is_some_and(|last| teamspace <= last);
            let queue = queues.entry((was_served, teamspace)).or_default();
            let n_running = claim.running.get(teamspace).copied().unwrap_or_default();
            if queue.len() + n_running < claim.per_teamspace {
                queue.push((stream, effect, row));
            }
        }
        let taken = take_turns(queues.into_values().collect(), claim.limit);
        let claimed = taken.into_iter().map(|(stream, effect, row)| {
            row.attempts += 1;
            row.leased_until = claim.until;
            Claimed { stream: stream.clone(), effect: effect.clone(), attempt: row.attempts }
        });
        claimed.collect()
    }

    pub(super) fn write_outbox(&mut self, write: OutboxWrite) {
        let nobody = Time::from_millis(0);
        let (claimed, due, is_try, error) = match write {
            OutboxWrite::Revive { teamspace, only, now } => {
                for ((stream, effect), row) in &mut self.outbox {
                    let is_meant = only
                        .as_ref()
                        .is_none_or(|(subject, name)| stream.subject == *subject && effect == name);
                    if stream.teamspace == teamspace && row.due.is_none() && is_meant {
                        *row = OutboxRow {
                            due: Some(now),
                            leased_until: nobody,
                            attempts: 0,
                            error: row.error.take(),
                        };
                    }
                }
                return;
            }
            OutboxWrite::Release { kind } => {
                let outbox = self.outbox.iter_mut();
                for (_, row) in outbox.filter(|((_, effect), _)| effect.is_of(kind)) {
                    row.leased_until = nobody;
                }
                return;
            }
            OutboxWrite::Renew { claimed, until } => {
                let key = (claimed.stream, claimed.effect);
                if let Some(row) =
                    self.outbox.get_mut(&key).filter(|row| row.attempts == claimed.attempt)
                {
                    row.leased_until = until;
                }
                return;
            }
            OutboxWrite::PutOff { claimed, due, error, is_try } => {
                (claimed, Some(due), is_try, error)
            }
            OutboxWrite::GiveUp { claimed, error } => (claimed, None, true, error),
        };
        let attempt = claimed.attempt;
        let key = (claimed.stream, claimed.effect);
        if let Some(row) = self.outbox.get_mut(&key).filter(|row| row.attempts == attempt) {
            let (attempts, leased_until) = (attempt - u32::from(!is_try), nobody);
            *row = OutboxRow { due, leased_until, attempts, error: Some(error) };
        }
    }
}
