//! Who said a line of the transcript, under the names that clients show.

use std::collections::BTreeMap;

use protocol::agent::AgentIdentity;
use protocol::caller::Caller;
use protocol::ids::{AgentId, TeamspaceId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::shared::gateway::Gateway;
use crate::http::shared::lookup::identity;
use crate::http::shared::problem::Problem;

#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum From {
    Customer,
    Agent(AgentIdentity),
    /// The conversation changed hands.
    System,
    /// From a colleague, for colleagues only.
    Internal {
        by: String,
    },
}

/// A cache of agents' display names.
pub struct DisplayNames<'a> {
    pub gateway: &'a Gateway,
    pub caller: &'a Caller,
    /// The customer's, as a BCP 47 tag.
    pub language: Option<String>,
    known: BTreeMap<AgentId, AgentIdentity>,
}

impl<'a> DisplayNames<'a> {
    pub fn new(gateway: &'a Gateway, caller: &'a Caller, language: Option<String>) -> Self {
        Self { gateway, caller, language, known: BTreeMap::new() }
    }

    pub async fn of(&mut self, id: &AgentId) -> Result<AgentIdentity, Problem> {
        if let Some(known) = self.known.get(id) {
            return Ok(known.clone());
        }
        let teamspace: &TeamspaceId = &self.caller.teamspace;
        let found = identity(self.gateway, teamspace, id).await?;
        self.known.insert(id.clone(), found.clone());
        Ok(found)
    }
}
