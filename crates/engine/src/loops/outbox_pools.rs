//! Places for effects that run at once. Each kind has a pool of its own, so that slow looks do not
//! delay a turn, and a teamspace has a part of each pool, so that it does not delay the others.

use std::collections::HashMap;

use protocol::ids::TeamspaceId;
use protocol::step::{Effect, EffectKind};
use protocol::time::{Span, Time};
use tokio::sync::Notify;
use tokio::task;

use crate::ports::outbox::Claim;

/// How long a claim holds without being renewed. After a crash the effect waits this long.
pub(crate) const LEASE: Span = Span::from_millis(60_000);

/// A teamspace has at most this part of the places of a pool.
const TEAMSPACE_SHARE: usize = 4;

/// An effect that has run this long makes room if its pool is full. It is retried later.
pub(crate) const FULL_POOL_RUN_MAX: Span = Span::from_millis(30_000);

/// How many effects of a kind run at once. All of them mostly wait for others; what is hashed is
/// hashed by one thread.
pub fn places(kind: EffectKind) -> usize {
    match kind {
        EffectKind::Look | EffectKind::Wake => 16,
        EffectKind::Transfer => 8,
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
    running: HashMap<task::Id, TeamspaceId>,
    /// The teamspace whose turn was last.
    served: Option<TeamspaceId>,
}

impl Pool {
    pub fn new(kind: EffectKind) -> Self {
        Self { kind, running: HashMap::new(), served: None }
    }

    pub fn is_full(&self) -> bool {
        self.free() == 0
    }

    /// Asks for as much work as there are places.
    pub fn claim(&self, now: Time) -> Claim {
        Claim {
            now,
            until: now.plus(LEASE),
            kind: self.kind,
            limit: self.free(),
            per_teamspace: places_of_teamspace(self.kind),
            running: self.by_teamspace(),
            after: self.served.clone(),
        }
    }

    pub fn begin(&mut self, task: task::Id, teamspace: TeamspaceId) {
        self.served = Some(teamspace.clone());
        self.running.insert(task, teamspace);
    }

    pub fn end(&mut self, task: task::Id) {
        self.running.remove(&task);
    }

    fn by_teamspace(&self) -> HashMap<TeamspaceId, usize> {
        let mut counts = HashMap::new();
        for teamspace in self.running.values() {
            *counts.entry(teamspace.clone()).or_default() += 1;
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
