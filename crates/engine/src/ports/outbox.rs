//! What the engine asks of a store about effects that are not done yet.

use std::collections::HashMap;

use protocol::ids::TeamspaceId;
use protocol::ledger::Stream;
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
    /// Everything of the teamspace that was given up is tried again.
    Revive { teamspace: TeamspaceId, now: Time },
}

/// An effect that is not done yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outstanding {
    pub stream: Stream,
    pub effect: Effect,
    /// `None` when it was given up.
    pub due: Option<Time>,
    pub attempts: u32,
    /// What went wrong last.
    pub error: Option<String>,
}
