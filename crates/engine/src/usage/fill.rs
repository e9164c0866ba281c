//! What is known of the usage when the engine starts: counted by the program that opens the store,
//! before the first command, but for what is stored, which takes longer.

use std::sync::atomic::Ordering;

use protocol::ids::TeamspaceId;
use protocol::ledger::Stream;
use protocol::quota::{SetQuotas, Thing};
use protocol::row_mac::SnapshotRow;
use protocol::step::State;
use protocol::time::Time;

use super::Usage;
use crate::Engine;
use crate::ports::store::{Snapshot, StoreError};

/// Things of one owner that are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCount {
    pub teamspace: TeamspaceId,
    pub thing: Thing,
    /// As the record names principals; `None` if they are only the teamspace's.
    pub owner: Option<String>,
    pub n: u32,
}

/// Bytes that one actor wrote and that are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCount {
    pub teamspace: TeamspaceId,
    /// As the record names principals.
    pub actor: String,
    pub n_bytes: u64,
}

impl Usage {
    pub fn count_open(&self, counted: OpenCount) {
        let OpenCount { teamspace, thing, owner, n } = counted;
        let mut known = self.lock();
        let owned = (thing, owner.and_then(|owner| owner.parse().ok()));
        let teamspace = self.teamspace(&mut known, &teamspace);
        teamspace.count(Some(&owned), |before| before.saturating_add(n), Time::from_millis(0));
    }

    /// Adds what was stored before the start.
    pub fn count_stored(&self, counted: &StoredCount) {
        let mut known = self.lock();
        self.teamspace(&mut known, &counted.teamspace).store(&counted.actor, counted.n_bytes);
    }

    /// Says whether more is to be counted.
    pub fn set_counting(&self, is_counting: bool) {
        self.is_counting.store(is_counting, Ordering::Relaxed);
    }

    pub(crate) fn set_quotas(&self, teamspace: &TeamspaceId, set: &SetQuotas) {
        let mut known = self.lock();
        let teamspace = self.teamspace(&mut known, teamspace);
        teamspace.limits = self.defaults.with(set);
        teamspace.set = set.clone();
    }
}

impl Engine {
    /// Learns the quotas of a teamspace from its snapshot.
    pub fn learn_quotas(&self, stream: &Stream, snapshot: &Snapshot) -> Result<(), StoreError> {
        let Snapshot { position, head, at, state_text, .. } = snapshot;
        let row = SnapshotRow { stream, position: *position, head, at: *at, state_text };
        self.check_snapshot(row, snapshot.mac)?;
        let state = State::from_text(state_text)
            .map_err(|error| StoreError::Corrupt(format!("{}: {error}", stream.subject)))?;
        if let Some(teamspace) = state.as_teamspace() {
            self.usage.set_quotas(&stream.teamspace, &teamspace.configuration.quotas);
        }
        Ok(())
    }
}
