//! What the engine asks of a store about effects that are not done yet.

use std::collections::HashMap;

use protocol::ids::TeamspaceId;
use protocol::ledger::{Stream, Subject};
use protocol::step::{Effect, EffectKind};
use protocol::time::Time;

/// Asks for work. Teamspaces that have some take turns, in the order of their ids.
#[derive(Debug, Clone)]
pub struct Claim {
    pub now: Time,
    /// How long what is claimed is held.
    pub until: Time,
    pub kind: EffectKind,
    pub limit: usize,
    /// The most that a teamspace may have at once.
    pub per_teamspace: usize,
    /// How many each teamspace has already.
    pub running: HashMap<TeamspaceId, usize>,
    /// The teamspace whose turn was last.
    pub after: Option<TeamspaceId>,
}

/// An effect that is held under a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub stream: Stream,
    pub effect: Effect,
    /// 1 for the first try. A claim with an older number is void.
    pub attempt: u32,
}

/// The changes to effects other than their end, which is part of a commit.
#[derive(Debug, Clone)]
pub enum OutboxWrite {
    /// It takes longer.
    Renew { claimed: Claimed, until: Time },
    /// It failed and is retried at `due`. Only a try counts.
    PutOff { claimed: Claimed, due: Time, error: String, is_try: bool },
    /// It failed too often. It stays until an operator revives it.
    GiveUp { claimed: Claimed, error: String },
    /// The process that held these is gone.
    Release { kind: EffectKind },
    /// What was given up of the teamspace is tried again: all of it, or one effect.
    Revive { teamspace: TeamspaceId, only: Option<(Subject, Effect)>, now: Time },
}

/// Which effects are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutboxList {
    All,
    GivenUp,
}

/// An effect that is not done yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outstanding {
    pub stream: Stream,
    pub effect: Effect,
    /// `None` when it was given up.
    pub due: Option<Time>,
    /// A claim holds it until then, if one does.
    pub leased_until: Time,
    pub attempts: u32,
    /// What went wrong last.
    pub error: Option<String>,
}
