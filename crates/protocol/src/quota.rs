//! How much a customer, a member and a whole teamspace may use: the quotas and their defaults.
//! [`counted`] says what of a state counts, [`closing`] which commands pass all the same.

mod closing;
pub mod counted;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Principal;

/// A quota, by the name of its setting.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Quota {
    CustomerRequestsPerMinute,
    CustomerKibPerMinute,
    CustomerEntriesPerMinute,
    CustomerMibPerDay,
    CustomerSubscriptions,
    MemberKibPerMinute,
    MemberEntriesPerMinute,
    MemberStoredMib,
    MemberDrafts,
    MemberHandoffs,
    MemberConversations,
    MemberSessions,
    MemberSubscriptions,
    MemberQuestions,
    TeamspaceKibPerMinute,
    TeamspaceEntriesPerMinute,
    TeamspaceStoredMib,
    TeamspaceDrafts,
    TeamspaceHandoffs,
    TeamspaceConversations,
    TeamspaceSessions,
    TeamspaceSubscriptions,
    TeamspaceGraphs,
    TeamspaceQuestions,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Requests that write, each once.
    Requests,
    /// KiB of the bodies of requests, in a minute.
    Sent,
    /// Entries in a minute.
    Entries,
    /// KiB of entries and documents, in a day.
    Daily,
    /// KiB of entries and documents that are kept.
    Stored,
    /// Things that are open at once.
    Open(Thing),
}

/// What can be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    Draft,
    Handoff,
    Conversation,
    Session,
    Subscription,
    Graph,
    Question,
}

/// Whose quota it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Customer,
    Member,
    Teamspace,
}

/// Quotas that were set, by name; 0 is no limit.
pub type SetQuotas = BTreeMap<Quota, u32>;

/// The limit of every quota; 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits([u32; Quota::ALL.len()]);

const KIB_PER_MIB: u64 = 1024;

impl Quota {
    pub const ALL: [Quota; 24] = [
        Quota::CustomerRequestsPerMinute,
        Quota::CustomerKibPerMinute,
        Quota::CustomerEntriesPerMinute,
        Quota::CustomerMibPerDay,
        Quota::CustomerSubscriptions,
        Quota::MemberKibPerMinute,
        Quota::MemberEntriesPerMinute,
        Quota::MemberStoredMib,
        Quota::MemberDrafts,
        Quota::MemberHandoffs,
        Quota::MemberConversations,
        Quota::MemberSessions,
        Quota::MemberSubscriptions,
        Quota::MemberQuestions,
        Quota::TeamspaceKibPerMinute,
        Quota::TeamspaceEntriesPerMinute,
        Quota::TeamspaceStoredMib,
        Quota::TeamspaceDrafts,
        Quota::TeamspaceHandoffs,
        Quota::TeamspaceConversations,
        Quota::TeamspaceSessions,
        Quota::TeamspaceSubscriptions,
        Quota::TeamspaceGraphs,
        Quota::TeamspaceQuestions,
    ];

    pub fn as_str(self) -> &'static str {
        self.row().0
    }

    pub fn named(name: &str) -> Option<Quota> {
        Quota::ALL.into_iter().find(|quota| quota.as_str() == name)
    }

    /// The limit, unless the server or the teamspace has another one.
    pub fn default_limit(self) -> u32 {
        self.row().3
    }

    pub fn whose(self) -> Whose {
        self.row().1
    }

    pub fn measure(self) -> Measure {
        self.row().2
    }

    /// A customer writes as much as a person types. The limits of members and teamspaces leave room
    /// for busy ones, and keep a program that runs wild from filling the disk.
    fn row(self) -> (&'static str, Whose, Measure, u32) {
        use Measure::{Daily, Entries, Open, Requests, Sent, Stored};
        use Whose::{Customer, Member, Teamspace};
        match self {
            Quota::CustomerRequestsPerMinute => {
                ("customer_requests_per_minute", Customer, Requests, 240)
            }
            Quota::CustomerKibPerMinute => ("customer_kib_per_minute", Customer, Sent, 16_384),
            Quota::CustomerEntriesPerMinute => {
                ("customer_entries_per_minute", Customer, Entries, 960)
            }
            Quota::CustomerMibPerDay => ("customer_mib_per_day", Customer, Daily, 64),
            Quota::CustomerSubscriptions => {
                ("customer_subscriptions", Customer, Open(Thing::Subscription), 32)
            }
            Quota::MemberKibPerMinute => ("member_kib_per_minute", Member, Sent, 262_144),
            Quota::MemberEntriesPerMinute => {
                ("member_entries_per_minute", Member, Entries, 300_000)
            }
            Quota::MemberStoredMib => ("member_stored_mib", Member, Stored, 32_768),
            Quota::MemberDrafts => ("member_drafts", Member, Open(Thing::Draft), 1_000),
            Quota::MemberHandoffs => ("member_handoffs", Member, Open(Thing::Handoff), 20_000),
            Quota::MemberConversations => {
                ("member_conversations", Member, Open(Thing::Conversation), 100_000)
            }
            Quota::MemberSessions => ("member_sessions", Member, Open(Thing::Session), 10_000),
            Quota::MemberSubscriptions => {
                ("member_subscriptions", Member, Open(Thing::Subscription), 256)
            }
            Quota::MemberQuestions => ("member_questions", Member, Open(Thing::Question), 1_000),
            Quota::TeamspaceKibPerMinute => {
                ("teamspace_kib_per_minute", Teamspace, Sent, 1_048_576)
            }
            Quota::TeamspaceEntriesPerMinute => {
                ("teamspace_entries_per_minute", Teamspace, Entries, 1_200_000)
            }
            Quota::TeamspaceStoredMib => ("teamspace_stored_mib", Teamspace, Stored, 65_536),
            Quota::TeamspaceDrafts => ("teamspace_drafts", Teamspace, Open(Thing::Draft), 10_000),
            Quota::TeamspaceHandoffs => {
                ("teamspace_handoffs", Teamspace, Open(Thing::Handoff), 100_000)
            }
            Quota::TeamspaceConversations => {
                ("teamspace_conversations", Teamspace, Open(Thing::Conversation), 100_000)
            }
            Quota::TeamspaceSessions => {
                ("teamspace_sessions", Teamspace, Open(Thing::Session), 50_000)
            }
            Quota::TeamspaceSubscriptions => {
                ("teamspace_subscriptions", Teamspace, Open(Thing::Subscription), 50_000)
            }
            Quota::TeamspaceGraphs => ("teamspace_graphs", Teamspace, Open(Thing::Graph), 1_000),
            Quota::TeamspaceQuestions => {
                ("teamspace_questions", Teamspace, Open(Thing::Question), 10_000)
            }
        }
    }

    /// The quota of a customer, a member or a teamspace for something; `None` if it has none.
    pub fn of(whose: Whose, measure: Measure) -> Option<Quota> {
        Quota::ALL.into_iter().find(|it| it.whose() == whose && it.measure() == measure)
    }
}

impl Thing {
    pub const ALL: [Thing; 7] = [
        Thing::Draft,
        Thing::Handoff,
        Thing::Conversation,
        Thing::Session,
        Thing::Subscription,
        Thing::Graph,
        Thing::Question,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Thing::Draft => "draft",
            Thing::Handoff => "handoff",
            Thing::Conversation => "conversation",
            Thing::Session => "session",
            Thing::Subscription => "subscription",
            Thing::Graph => "graph",
            Thing::Question => "question",
        }
    }

    /// What makes room for another one.
    pub fn freed_by(self) -> &'static str {
        match self {
            Thing::Draft => "proposing or closing a draft makes room",
            Thing::Handoff => "rejecting, withdrawing, completing or closing a handoff makes room",
            Thing::Conversation => "closing a conversation makes room",
            Thing::Session => "ending a session makes room",
            Thing::Subscription => "closing a subscription makes room",
            Thing::Graph => "removing a graph makes room",
            Thing::Question => "answering or withdrawing a question makes room",
        }
    }
}

impl Whose {
    /// `None` for the server itself, which has no quota.
    pub fn of(principal: &Principal) -> Option<Whose> {
        match principal {
            Principal::Customer(_) => Some(Whose::Customer),
            Principal::Agent(_) | Principal::Operator(_) => Some(Whose::Member),
            Principal::System => None,
        }
    }
}

impl Limits {
    /// No limits, for tests and benchmarks that measure something else.
    pub const NONE: Limits = Limits([0; Quota::ALL.len()]);

    /// `None` if there is no limit.
    pub fn of(&self, quota: Quota) -> Option<u64> {
        let limit = self.0[quota as usize];
        (limit > 0).then(|| u64::from(limit))
    }

    /// The same in the unit that is counted.
    pub fn counted(&self, quota: Quota) -> Option<u64> {
        let limit = self.of(quota)?;
        Some(match quota.measure() {
            Measure::Stored | Measure::Daily => limit * KIB_PER_MIB,
            Measure::Requests | Measure::Sent | Measure::Entries | Measure::Open(_) => limit,
        })
    }

    /// These, with what was set in their place.
    pub fn with(mut self, set: &SetQuotas) -> Self {
        for (quota, limit) in set {
            self.0[*quota as usize] = *limit;
        }
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self(Quota::ALL.map(Quota::default_limit))
    }
}
