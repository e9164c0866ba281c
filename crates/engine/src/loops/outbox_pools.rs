//! Places for effects that run at once. Each kind has a pool of its own, so that slow checks of
//! artifacts do not delay messages to bots, and a teamspace has a part of each pool, so that it
//! does not delay the others.

use std::collections::HashMap;

use protocol::ids::TeamspaceId;
use protocol::step::{Effect, EffectKind};
use protocol::time::{Span, Time};
use tokio::sync::{Notify, oneshot};
use tokio::task;

use crate::ports::outbox::Claim;

/// How long a claim holds without being renewed. After a crash the effect waits this long.
pub(crate) const LEASE: Span = Span::from_millis(60_000);

/// A teamspace has at most this part of the places of a pool.
const TEAMSPACE_SHARE: usize = 4;

/// An effect that has run this long makes room for one that waits while its pool is full. It is
/// retried later.
const FULL_POOL_RUN_MAX: Span = Span::from_millis(30_000);

/// How many effects of a kind run at once. All of them mostly wait for others; what is hashed is
/// hashed by one thread.
pub fn places(kind: EffectKind) -> usize {
    match kind {
        EffectKind::Look | EffectKind::Fetch | EffectKind::Wake => 16,
        EffectKind::Transfer | EffectKind::Remove => 8,
        EffectKind::Deliver => 64,
    }
}

/// How many of them a teamspace may have at once.
pub fn places_of_teamspace(kind: EffectKind) -> usize {
    places(kind) / TEAMSPACE_SHARE
}

/// The effects of one kind that run now.
#[derive(Debug)]
pub(crate) struct Pool {
    kind: EffectKind,
    running: HashMap<task::Id, Running>,
    /// The teamspace whose turn was last.
    served: Option<TeamspaceId>,
}

#[derive(Debug)]
struct Running {
    teamspace: TeamspaceId,
    since: Time,
    /// Tells the effect to make room.
    stop: oneshot::Sender<()>,
}

impl Pool {
    pub fn new(kind: EffectKind) -> Self {
        Self { kind, running: HashMap::new(), served: None }
    }

    pub fn is_full(&self) -> bool {
        self.free() == 0
    }

    /// Asks for as much work as there are places. A full pool asks for one more if an effect is
    /// slow enough to make room. `None` if there is no place.
    pub fn claim(&self, now: Time) -> Option<Claim> {
        let limit =
            if self.is_full() { usize::from(self.slowest(now).is_some()) } else { self.free() };
        (limit > 0).then(|| Claim {
            now,
            until: now.plus(LEASE),
            kind: self.kind,
            limit,
            per_teamspace: places_of_teamspace(self.kind),
            running: self.by_teamspace(),
            after: self.served.clone(),
        })
    }

    /// Begins an effect. In a full pool the slowest one stops for it.
    pub fn begin(
        &mut self,
        task: task::Id,
        teamspace: TeamspaceId,
        since: Time,
        stop: oneshot::Sender<()>,
    ) {
        if self.is_full()
            && let Some(slowest) = self.slowest(since)
            && let Some(running) = self.running.remove(&slowest)
        {
            // It may have ended by itself.
            let _ = running.stop.send(());
        }
        self.served = Some(teamspace.clone());
        self.running.insert(task, Running { teamspace, since, stop });
    }

    /// The effect that has run longest, if it has run long.
    fn slowest(&self, now: Time) -> Option<task::Id> {
        let is_slow = |it: &Running| it.since.plus(FULL_POOL_RUN_MAX) <= now;
        let slow = self.running.iter().filter(|(_, running)| is_slow(running));
        slow.min_by_key(|(_, running)| running.since).map(|(task, _)| *task)
    }

    pub fn end(&mut self, task: task::Id) {
        self.running.remove(&task);
    }

    fn by_teamspace(&self) -> HashMap<TeamspaceId, usize> {
        let mut counts = HashMap::new();
        for running in self.running.values() {
            *counts.entry(running.teamspace.clone()).or_default() += 1;
        }
        counts
    }

    fn free(&self) -> usize {
        places(self.kind).saturating_sub(self.running.len())
    }
}

/// Rung when there is a new effect, one bell for each kind.
#[derive(Debug, Default)]
pub(crate) struct Bells([Notify; EffectKind::ALL.len()]);

/// Which bells to ring after the commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Rings([bool; EffectKind::ALL.len()]);

impl Rings {
    pub const ALL: Rings = Rings([true; EffectKind::ALL.len()]);

    pub fn of<'a>(begin: impl IntoIterator<Item = &'a Effect>) -> Self {
        let mut rings = Self::default();
        for effect in begin {
            for (ring, kind) in rings.0.iter_mut().zip(EffectKind::ALL) {
                *ring |= effect.is_of(kind);
            }
        }
        rings
    }
}

impl Bells {
    pub fn ring(&self, rings: Rings) {
        for (bell, _) in self.0.iter().zip(rings.0).filter(|(_, is_rung)| *is_rung) {
            bell.notify_one();
        }
    }

    pub fn of(&self, kind: EffectKind) -> &Notify {
        let place = EffectKind::ALL.iter().position(|it| *it == kind);
        &self.0[place.expect("all kinds are listed")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time::from_millis(seconds * 1_000)
    }

    /// Begins effects of teamspaces that each use their share, one a second.
    async fn full_pool() -> (Pool, Vec<oneshot::Receiver<()>>) {
        let mut pool = Pool::new(EffectKind::Look);
        let mut stops = Vec::new();
        for number in 0..places(EffectKind::Look) {
            let second = i64::try_from(number).expect("a few");
            assert!(pool.claim(at(second)).is_some());
            let teamspace = format!("team-{}", number % TEAMSPACE_SHARE).parse().expect("a name");
            let (stop, stopped) = oneshot::channel();
            let task = tokio::spawn(std::future::pending::<()>());
            pool.begin(task.id(), teamspace, at(second), stop);
            stops.push(stopped);
        }
        (pool, stops)
    }

    #[tokio::test]
    async fn in_a_full_pool_the_slowest_makes_room_for_one_that_waits() {
        let (mut pool, mut stops) = full_pool().await;
        assert!(pool.claim(at(29)).is_none(), "no effect is slow yet");
        let claim = pool.claim(at(40)).expect("several are slow");
        assert_eq!(claim.limit, 1);
        assert!(stops.iter_mut().all(|stop| stop.try_recv().is_err()), "none has to stop yet");
        let task = tokio::spawn(std::future::pending::<()>());
        let (stop, _stopped) = oneshot::channel();
        pool.begin(task.id(), "waiting".parse().expect("a name"), at(40), stop);
        let stopped: Vec<_> = stops.iter_mut().map(|stop| stop.try_recv().is_ok()).collect();
        assert!(stopped[0] && !stopped[1..].contains(&true), "{stopped:?}");
        assert!(pool.is_full());
    }
}
