//! The rules of `policy.export_restrictions`.

use crate::ids::AgentId;

/// The agent that may not get the work by this rule. The server enforces only rules that name one;
/// programs may agree on others.
pub fn barred_agent(rule: &str) -> Option<AgentId> {
    rule.strip_prefix("agent:")?.parse().ok()
}
