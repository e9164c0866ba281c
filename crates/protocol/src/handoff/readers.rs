//! Who may read a handoff, as a policy says.

use serde::{Deserialize, Serialize};

/// Who may read a handoff, the fewest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readers {
    /// The sender, the target, the owners in the chain and so the delegator, the approvers and
    /// verifiers that were asked, coordinators and operators.
    Private,
    /// The same, and every human of the teamspace.
    HumanAudit,
    /// Every member of the teamspace.
    #[default]
    Team,
}

impl Readers {
    pub fn is_team(&self) -> bool {
        *self == Readers::Team
    }
}
