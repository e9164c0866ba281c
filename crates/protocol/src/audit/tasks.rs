//! Tasks over the whole ledger: no two handoffs may hold one task at once, and each goes on
//! with the owners, the kind and the human gate that the one before it left. A server that was
//! shown a forged hold leaves this trace, even if the hold is right again by now.

use std::collections::{HashMap, HashSet};

use super::finding::Problem;
use crate::canonical;
use crate::handoff::derive;
use crate::handoff::package::{Policy, TaskKind};
use crate::handoff::state::{Handoff, Made, Terms};
use crate::ids::{AgentId, HandoffId, TaskId, TeamspaceId};
use crate::ledger::{Stream, Subject};
use crate::step::State;

#[derive(Debug, Default)]
pub struct Tasks {
    /// By a short hash of teamspace and task, because there may be millions.
    known: HashMap<[u8; 16], Task>,
    /// Handoffs that cannot be followed to their end, because an entry was erased or is wrong.
    lost: HashSet<HandoffId>,
}

#[derive(Debug)]
struct Task {
    /// The handoff that was last seen to hold it.
    last: HandoffId,
    is_held: bool,
    /// A short hash of the owners.
    owners: [u8; 16],
    kind: TaskKind,
    parts: u32,
    /// The policy that a human was last asked about.
    gated: Option<Box<Policy>>,
}

impl Tasks {
    /// The state of a stream after an entry; `None` if it is not known.
    pub fn note(&mut self, stream: &Stream, state: Option<&State>) -> Option<Problem> {
        let Subject::Handoff(id) = stream.subject else { return None };
        let Some(state) = state else {
            self.lost.insert(id);
            return None;
        };
        let State::Handoff(handoff) = state else { return None };
        let Handoff::Made(made) = handoff.as_ref() else { return None };
        let is_held = made.stage.status().is_active();
        let key = key_of(&stream.teamspace, &made.terms.task_id);
        let now = Task::left_by(id, is_held, made);
        let Some(before) = self.known.get_mut(&key) else {
            self.known.insert(key, now);
            return None;
        };
        if before.last == id {
            *before = now;
            return None;
        }
        if !is_held {
            return None;
        }
        let is_lost = self.lost.contains(&before.last);
        let problem = if is_lost { None } else { before.problem(made) };
        *before = now;
        problem
    }
}

impl Task {
    fn left_by(id: HandoffId, is_held: bool, made: &Made) -> Self {
        let left = derive::task(made);
        Self {
            last: id,
            is_held,
            owners: short(&left.chain),
            kind: left.kind,
            parts: left.parts,
            gated: left.gated.map(Box::new),
        }
    }

    /// What is wrong with a handoff that takes the task next.
    fn problem(&self, next: &Made) -> Option<Problem> {
        let task_id = next.terms.task_id.clone();
        if self.is_held {
            return Some(Problem::TaskHeld { task_id, by: self.last });
        }
        if short(&next.terms.chain) != self.owners {
            return Some(Problem::TaskOwners { task_id, after: self.last });
        }
        if (next.terms.task_kind, next.terms.parts) != (self.kind, self.parts) {
            return Some(Problem::TaskKind { task_id, after: self.last });
        }
        (!self.is_gate_kept(&next.terms)).then_some(Problem::TaskGate { task_id, after: self.last })
    }

    /// A policy that a human was asked about stays, or another that a human is asked about takes
    /// its place. One that is laxer says so.
    fn is_gate_kept(&self, next: &Terms) -> bool {
        let (Some(before), Some(after)) = (&self.gated, &next.gated) else {
            return self.gated.is_none();
        };
        let is_asked =
            next.needs_human && (next.loosens.is_some() || after.check_narrows(before).is_ok());
        before == after || is_asked
    }
}

fn key_of(teamspace: &TeamspaceId, task_id: &TaskId) -> [u8; 16] {
    let parts = [teamspace.as_str().as_bytes(), b"/", task_id.as_str().as_bytes()];
    half(&canonical::sha256(&parts))
}

fn short(owners: &[AgentId]) -> [u8; 16] {
    let owners: Vec<&str> = owners.iter().map(AgentId::as_str).collect();
    half(&canonical::sha256(&[owners.join("/").as_bytes()]))
}

fn half(hash: &canonical::Hash) -> [u8; 16] {
    *hash.first_chunk().expect("the half of 32 bytes")
}
