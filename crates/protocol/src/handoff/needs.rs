//! The facts that a decision about a handoff needs besides the handoff itself.

use super::command::{Command, Looked};
use super::derive;
use super::state::Handoff;
use crate::ids::AgentId;
use crate::step::Needs;

impl Command {
    /// The facts to read for a command, given the current handoff.
    pub fn needs(&self, handoff: Option<&Handoff>) -> Needs {
        let stored = || handoff.map(|handoff| handoff.document_hash().to_owned());
        match self {
            Command::Initiate { offer } => {
                let offered_to = offer.as_ref().and_then(|offer| offer.to_agent.clone());
                let offered_task = offer
                    .as_ref()
                    .and_then(|offer| offer.task.as_ref())
                    .and_then(|task| task.task_id.clone());
                let drafted = if offer.is_none() { handoff } else { None };
                Needs {
                    agent: offered_to.or_else(|| drafted.and_then(|draft| draft.to().cloned())),
                    hold: offered_task
                        .as_ref()
                        .or_else(|| drafted.and_then(|draft| draft.task_id()))
                        .map(derive::task_key),
                    document: stored(),
                    settings: true,
                    ..Needs::default()
                }
            }
            Command::Counter { .. } => Needs {
                agent: handoff.and_then(|handoff| handoff.to().cloned()),
                hold: handoff.and_then(|handoff| handoff.task_id()).map(derive::task_key),
                document: stored(),
                settings: true,
                ..Needs::default()
            },
            Command::Follow(follow) => {
                let task_id = follow.offer.task.as_ref().and_then(|task| task.task_id.as_ref());
                Needs {
                    agent: follow.offer.to_agent.clone(),
                    hold: task_id.map(derive::task_key),
                    settings: true,
                    ..Needs::default()
                }
            }
            // The criteria are in the package; without evidence nothing is compared with them.
            Command::Complete(completion)
                if !completion.evidence.is_empty()
                    || handoff.is_some_and(Handoff::requires_evidence) =>
            {
                Needs { document: stored(), settings: true, ..Needs::default() }
            }
            Command::Delegate { .. }
            | Command::Reassign(_)
            | Command::Accept(_)
            | Command::Verified { looked: Looked::Package { .. }, .. } => {
                Needs { document: stored(), agent: self.next_owner(), ..Needs::default() }
            }
            Command::Approve { .. } | Command::Refuse { .. } => {
                Needs { caller: true, ..Needs::default() }
            }
            Command::Complete(_) => Needs { settings: true, ..Needs::default() },
            Command::Draft { .. }
            | Command::Withdraw { .. }
            | Command::ExtendSla { .. }
            | Command::Child(_)
            | Command::Reject(_)
            | Command::Activate { .. }
            | Command::Verified { looked: Looked::Completion { .. }, .. }
            | Command::Confirm { .. }
            | Command::Dispute { .. }
            | Command::Close { .. }
            | Command::WorkqAnswered { .. }
            | Command::Warn { .. }
            | Command::Elapse { .. } => Needs::default(),
        }
    }

    /// The agent to whom a part of the work, or the task itself, is handed on.
    fn next_owner(&self) -> Option<AgentId> {
        if let Command::Delegate { offer, .. } = self {
            return offer.to_agent.clone();
        }
        if let Command::Reassign(reassign) = self { Some(reassign.to.clone()) } else { None }
    }
}
