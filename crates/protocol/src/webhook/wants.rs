//! Which entries a webhook delivers.

use super::terms::Terms;
use crate::aggregate;
use crate::ledger::{Entry, Subject};
use crate::visibility::parties::concerns;

impl Terms {
    /// Whether an entry is to be delivered. It does not check who may see it. Entries about
    /// webhooks are not delivered: a failed delivery would cause the next.
    pub fn wants(&self, entry: &Entry, event: Option<&aggregate::Event>) -> bool {
        let is_kind = |kind: &String| is_of_kind(&entry.name, kind);
        !matches!(entry.stream.subject, Subject::Webhook(_))
            && (self.events.is_empty() || self.events.iter().any(is_kind))
            && self.stream.as_ref().is_none_or(|it| entry.stream.subject.to_string() == *it)
            && self.agent.as_ref().is_none_or(|agent| concerns(agent, entry, event))
    }
}

/// Whether an event has this name, or is of this family.
pub fn is_of_kind(name: &str, kind: &str) -> bool {
    name == kind || name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('.'))
}
