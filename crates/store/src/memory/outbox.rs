//! The outbox: effects that are not done yet.

use engine::ports::store::{Claim, Claimed, EffectNames, OutboxWrite};
use protocol::step::Effect;
use protocol::time::Time;

use super::{OutboxRow, Tables};

fn is_named(effect: &Effect, names: EffectNames) -> bool {
    match names {
        EffectNames::With(start) => effect.name.starts_with(start),
        EffectNames::Without(start) => !effect.name.starts_with(start),
    }
}

impl Tables {
    pub(super) fn claim(&mut self, claim: Claim) -> Vec<Claimed> {
        let is_free = |lying: &OutboxRow| {
            lying.due.is_some_and(|due| due <= claim.now) && lying.leased_until <= claim.now
        };
        let outbox = self.outbox.iter_mut();
        let mut free: Vec<_> = outbox
            .filter(|((_, effect), lying)| is_free(lying) && is_named(effect, claim.names))
            .collect();
        free.sort_by_key(|(_, lying)| lying.due);
        let claimed = free.into_iter().take(claim.limit).map(|((stream, effect), lying)| {
            lying.attempts += 1;
            lying.leased_until = claim.until;
            Claimed { stream: stream.clone(), effect: effect.clone(), attempt: lying.attempts }
        });
        claimed.collect()
    }

    pub(super) fn write_outbox(&mut self, write: OutboxWrite) {
        let nobody = Time::from_millis(0);
        let (claimed, due, leased_until, error) = match write {
            OutboxWrite::Revive { teamspace, now } => {
                for ((stream, _), lying) in &mut self.outbox {
                    if stream.teamspace == teamspace && lying.due.is_none() {
                        *lying = OutboxRow {
                            due: Some(now),
                            leased_until: nobody,
                            attempts: 0,
                            error: lying.error.take(),
                        };
                    }
                }
                return;
            }
            OutboxWrite::Release { names } => {
                let outbox = self.outbox.iter_mut();
                for (_, lying) in outbox.filter(|((_, effect), _)| is_named(effect, names)) {
                    lying.leased_until = nobody;
                }
                return;
            }
            OutboxWrite::Renew { claimed, until } => {
                let key = (claimed.stream, claimed.effect);
                if let Some(lying) =
                    self.outbox.get_mut(&key).filter(|lying| lying.attempts == claimed.attempt)
                {
                    lying.leased_until = until;
                }
                return;
            }
            OutboxWrite::PutOff { claimed, due, error } => (claimed, Some(due), nobody, error),
            OutboxWrite::GiveUp { claimed, error } => (claimed, None, nobody, error),
        };
        let attempts = claimed.attempt;
        let key = (claimed.stream, claimed.effect);
        if let Some(lying) = self.outbox.get_mut(&key).filter(|lying| lying.attempts == attempts) {
            *lying = OutboxRow { due, leased_until, attempts, error: Some(error) };
        }
    }
}
