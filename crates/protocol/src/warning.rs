//! A problem in something that was saved. It may go away later, so it is no rejection.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Kind;
use crate::ids::AgentId;
use crate::rejection::Rejection;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// The place, as the client wrote it: `topology.members[1]`.
    pub field: String,
    pub detail: String,
}

impl Warning {
    /// A named agent that is not in the directory. It may be registered later.
    pub fn missing(field: impl Into<String>, agent: &AgentId) -> Self {
        Self::new(field, format!("no agent `{agent}` in this teamspace yet"))
    }

    pub fn new(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), detail: detail.into() }
    }
}

/// The kinds of the named agents, as far as these exist.
pub type Kinds = BTreeMap<AgentId, Kind>;

/// A named agent, the field that names it, and the kind it must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub field: String,
    pub agent: AgentId,
    pub wanted: &'static [Kind],
}

/// Refuses an agent of the wrong kind: a kind never changes.
pub fn check_kinds(named: &[Named], kinds: &Kinds) -> Result<(), Rejection> {
    for Named { field, agent, wanted } in named {
        if let Some(kind) = kinds.get(agent).filter(|kind| !wanted.contains(kind)) {
            let wanted: Vec<_> = wanted.iter().map(|kind| kind.as_str()).collect();
            let expected = format!("a {}; `{agent}` is a {}", wanted.join(" or "), kind.as_str());
            return Err(Rejection::SchemaInvalid { field: field.clone(), expected });
        }
    }
    Ok(())
}

/// More warnings help no reader.
const WARNINGS_MAX: usize = 20;

/// The named agents that do not exist.
pub fn missing(named: &[Named], kinds: &Kinds) -> Vec<Warning> {
    let mut gone = named.iter().filter(|named| !kinds.contains_key(&named.agent));
    let first = gone.by_ref().take(WARNINGS_MAX);
    let mut warnings: Vec<_> = first.map(|it| Warning::missing(&it.field, &it.agent)).collect();
    if let Some(next) = gone.next() {
        let n_more = 1 + gone.count();
        warnings.push(Warning::new(&next.field, format!("and {n_more} more that are not there")));
    }
    warnings
}
