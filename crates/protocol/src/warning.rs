//! What was saved, and does not work as things are. It may work later, so it is no rejection.

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// Where, as the client wrote it: `topology.members[1]`.
    pub field: String,
    pub detail: String,
}

impl Warning {
    pub fn new(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), detail: detail.into() }
    }
}
