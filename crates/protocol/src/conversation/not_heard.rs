//! Why a turn does not count.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The conversation has changed hands since.
    EpochOutdated,
    /// Another agent holds it.
    NotHolder,
    /// The message it answers is already answered.
    AlreadyAnswered,
}

impl Why {
    pub fn as_str(self) -> &'static str {
        match self {
            Why::EpochOutdated => "epoch_outdated",
            Why::NotHolder => "not_holder",
            Why::AlreadyAnswered => "already_answered",
        }
    }
}
