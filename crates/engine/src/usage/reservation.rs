//! What a change adds to the usage, until it is known whether it was committed.

use std::sync::Arc;

use protocol::ids::TeamspaceId;
use protocol::quota::SetQuotas;

use super::Usage;
use super::teamspace::Written;

/// Dropped without [`keep`](Self::keep), it is taken back.
#[derive(Debug)]
pub(crate) struct Reservation {
    usage: Arc<Usage>,
    teamspace: TeamspaceId,
    written: Written,
    /// The quotas of the teamspace from then on, if the change is about the teamspace.
    quotas: Option<SetQuotas>,
    /// The file that the change removes: who stored it, and its bytes.
    removed: Option<(String, u64)>,
    is_kept: bool,
}

impl Reservation {
    pub(super) fn new(
        usage: Arc<Usage>,
        teamspace: TeamspaceId,
        written: Written,
        quotas: Option<SetQuotas>,
        removed: Option<(String, u64)>,
    ) -> Self {
        Self { usage, teamspace, written, quotas, removed, is_kept: false }
    }

    /// It was committed.
    pub fn keep(mut self) {
        self.is_kept = true;
        if let Some(quotas) = self.quotas.take() {
            self.usage.set_quotas(&self.teamspace, &quotas);
        }
        if let Some((actor, n_bytes)) = self.removed.take() {
            self.usage.free(&self.teamspace, &actor, n_bytes);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        if let Some(teamspace) = self.usage.lock().get_mut(&self.teamspace) {
            teamspace.take_back(&self.written);
        }
    }
}
