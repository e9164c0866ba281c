//! The facts that a decision about a handoff needs besides the handoff itself.

use super::command::{Command, Looked};
use super::derive;
use super::state::Handoff;
use crate::handoff::package::Offer;
use crate::ids::{AgentId, TaskId};
use crate::needs::Needs;

impl Command {
    /// The facts to read for a command, given the current handoff.
    pub fn needs(&self, handoff: Option<&Handoff>) -> Needs {
        let stored = || handoff.map(|handoff| handoff.document_hash().to_owned());
        match self {
            Command::Initiate { offer } => {
                let offered_to = offer.as_ref().and_then(|offer| offer.to_agent.clone());
                let drafted = if offer.is_none() { handoff } else { None };
                Needs {
                    agent: offered_to.or_else(|| drafted.and_then(|draft| draft.to().cloned())),
                    document: stored(),
                    settings: true,
                    ..Needs::default()
                }
            }
            Command::Counter { .. } => Needs {
                agent: handoff.and_then(|handoff| handoff.to().cloned()),
                document: stored(),
                settings: true,
                ..Needs::default()
            },
            Command::Follow(follow) => {
                let agent = follow.offer.to_agent.clone();
                Needs { agent, settings: true, ..Needs::default() }
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
            | Command::Progress(_)
            | Command::Recall { .. }
            | Command::Verified { looked: Looked::Completion { .. }, .. }
            | Command::Confirm { .. }
            | Command::Dispute { .. }
            | Command::Close { .. }
            | Command::Discard { .. }
            | Command::WorkqAnswered { .. }
            | Command::Warn { .. }
            | Command::Elapse { .. }
            | Command::ElapseRecall { .. } => Needs::default(),
        }
    }

    /// The key of the task that it offers.
    pub fn hold(&self, handoff: Option<&Handoff>) -> Option<String> {
        fn offered(offer: &Offer) -> Option<&TaskId> {
            offer.task.as_ref()?.task_id.as_ref()
        }
        let stored = || handoff.and_then(Handoff::task_id);
        let task_id = match self {
            Command::Initiate { offer: Some(offer) } => offered(offer),
            Command::Initiate { offer: None } | Command::Counter { .. } => stored(),
            Command::Follow(follow) => offered(&follow.offer),
            Command::Draft { .. }
            | Command::Withdraw { .. }
            | Command::Approve { .. }
            | Command::Refuse { .. }
            | Command::Accept(_)
            | Command::Reject(_)
            | Command::Activate { .. }
            | Command::Delegate { .. }
            | Command::Reassign(_)
            | Command::ExtendSla { .. }
            | Command::Child(_)
            | Command::Progress(_)
            | Command::Recall { .. }
            | Command::Complete(_)
            | Command::Confirm { .. }
            | Command::Dispute { .. }
            | Command::Close { .. }
            | Command::Discard { .. }
            | Command::Verified { .. }
            | Command::WorkqAnswered { .. }
            | Command::Warn { .. }
            | Command::Elapse { .. }
            | Command::ElapseRecall { .. } => None,
        };
        task_id.map(derive::task_key)
    }

    /// The agent to whom a part of the work, or the task itself, is handed on.
    fn next_owner(&self) -> Option<AgentId> {
        if let Command::Delegate { offer, .. } = self {
            return offer.to_agent.clone();
        }
        if let Command::Reassign(reassign) = self { Some(reassign.to.clone()) } else { None }
    }
}
