//! Commands between a proposal and the work, and between the work and its end: findings on
//! artifacts, the decision of a human or a verifier, counter-offers, withdrawals, extensions; and
//! the answers of the work queue.

use protocol::caller::Caller;
use protocol::handoff::artifact::{Finding, Seen};
use protocol::handoff::command::{Looked, Reassign};
use protocol::handoff::completion::{Completion, Evidence};
use protocol::handoff::edit::{ContextEdit, Edit, OfferEdit, PolicyEdit};
use protocol::handoff::package::{
    Artifact, ArtifactKind, ArtifactRef, ExternalRef, ExternalRefKind,
};
use protocol::handoff::progress::{ProgressReport, ProgressStep};
use protocol::handoff::sla::SlaStage;
use protocol::handoff::state::{Checks, Stage};
use protocol::handoff::workq::{Answer, Answered, Degradation, Way, Workq};
use protocol::handoff::{Command, Handoff, Offer};
use protocol::ids::{HandoffId, TeamspaceId};
use protocol::step;
use protocol::time::Span;

use super::script::{AGENTS, Script};
use super::watch::Watch;
use crate::support::{agent, coordinator, id, offer};

pub fn artifact(required: bool) -> Artifact {
    Artifact {
        artifact_id: "log".to_owned(),
        reference: ArtifactRef {
            description: None,
            path: "/log".to_owned(),
            required: Some(required),
            sha256: None,
            size_bytes: None,
            kind: ArtifactKind::File,
            version: None,
        },
    }
}

/// The second handoff that a command begins.
pub fn begins(command: &step::Command) -> Option<HandoffId> {
    let step::Command::Handoff(command) = command else { return None };
    if let Command::Reassign(reassign) = command {
        return Some(reassign.successor);
    }
    if let Command::Delegate { child, .. } = command { Some(*child) } else { None }
}

pub fn item() -> ExternalRef {
    let (kind, value) = (ExternalRefKind::WorkqItem, "item".to_owned());
    ExternalRef { description: None, kind, value, version: None }
}

impl Script {
    /// Now and then, what a sensible caller would ask of this handoff.
    pub fn negotiation(&mut self, handoff: &Handoff, watch: &Watch) -> Option<(Caller, Command)> {
        let Handoff::Made(made) = handoff else { return None };
        let sender = agent(made.terms.from.as_str());
        if self.random.happens(5) {
            return Some((coordinator("lead"), self.extend_sla(watch)));
        }
        if made.stage.status().is_active() && self.random.happens(4) {
            return Some((coordinator("lead"), self.reassign(watch)));
        }
        if let Workq::Asked(way) = made.workq
            && self.random.happens(40)
        {
            let server = Caller::system(TeamspaceId::default_teamspace());
            return Some((server, self.workq_answered(&made.terms.package_hash, way)));
        }
        match &made.stage {
            Stage::Activated(_) if self.random.happens(15) => {
                Some((agent(made.terms.to.as_str()), self.delegate()))
            }
            Stage::Activated(_) | Stage::Completing(_) if self.random.happens(10) => {
                Some((agent(made.terms.to.as_str()), self.progress()))
            }
            Stage::Accepted(_) | Stage::Activated(_) if self.random.happens(10) => {
                Some((sender, self.recall()))
            }
            Stage::Proposed(_) if self.random.happens(6) => {
                Some((sender, Command::Withdraw { why: None }))
            }
            Stage::Validating(validating) if validating.checks != Checks::Passed => {
                let server = Caller::system(TeamspaceId::default_teamspace());
                let looked = Looked::Package { hash: made.terms.package_hash.clone() };
                Some((server, self.verified(looked)))
            }
            Stage::Validating(_) if self.random.happens(80) => {
                Some((agent("dee"), self.human_word()))
            }
            Stage::Completing(completing) if completing.checks != Checks::Passed => {
                let server = Caller::system(TeamspaceId::default_teamspace());
                let attempt = made.completions;
                Some((server, self.verified(Looked::Completion { attempt })))
            }
            Stage::Completing(_) if self.random.happens(80) => {
                Some((sender, self.verifiers_word()))
            }
            Stage::Rejected { .. } if self.random.happens(30) => Some((sender, self.counter())),
            Stage::Proposed(_)
            | Stage::Validating(_)
            | Stage::Accepted(_)
            | Stage::Activated(_)
            | Stage::Completing(_)
            | Stage::Rejected { .. }
            | Stage::Completed { .. }
            | Stage::Closed { .. } => None,
        }
    }

    pub fn any_negotiation(&mut self, watch: &Watch) -> Command {
        match self.random.below(15) {
            11 => self.progress(),
            12 => self.recall(),
            13 => Command::Discard { why: Some("a mistake".to_owned()) },
            14 => Command::ElapseRecall { due: watch.latest() },
            7 => self.delegate(),
            8 => self.reassign(watch),
            9 => self.verified(Looked::Completion { attempt: 1 }),
            10 => self.verifiers_word(),
            0 => self.verified(Looked::Package { hash: "of another package".to_owned() }),
            6 => self.workq_answered("of another package", Way::Over),
            1 => self.human_word(),
            2 => self.counter(),
            3 => Command::Withdraw { why: Some("a mistake".to_owned()) },
            4 => {
                let stage = *self.random.pick(&SlaStage::ALL);
                Command::Warn { stage, at: watch.latest() }
            }
            _ => self.extend_sla(watch),
        }
    }

    /// Mostly valid; sometimes it says nothing.
    fn progress(&mut self) -> Command {
        let percent = self.random.happens(80).then(|| *self.random.pick(&[0, 40, 100, 101]));
        let note = self.random.happens(30).then(|| "half of it".to_owned());
        let step = ProgressStep { text: "Read client.rs".to_owned(), done: true };
        let steps = if self.random.happens(30) { vec![step] } else { Vec::new() };
        Command::Progress(Box::new(ProgressReport { percent, note, steps, blocked_by: None }))
    }

    fn recall(&mut self) -> Command {
        let reason = if self.random.happens(10) { "" } else { "plans changed" };
        Command::Recall { reason: reason.to_owned() }
    }

    fn verified(&mut self, looked: Looked) -> Command {
        let detail = "as it is".to_owned();
        let finding = match self.random.below(6) {
            0 => Finding::Missing { detail },
            1 => Finding::Mismatch { detail },
            2 => Finding::Unavailable { detail },
            3 => Finding::NotVerifiable { detail },
            _ => Finding::Verified { sha256: "ab".repeat(32), size_bytes: 7 },
        };
        let seen = vec![Seen { artifact_id: "log".to_owned(), path: None, finding }];
        Command::Verified { looked, seen }
    }

    pub fn complete(&mut self) -> Command {
        let notes = self.random.happens(50).then(|| "done".to_owned());
        let mut completion = Completion { notes, ..Completion::default() };
        if self.random.happens(30) {
            completion.final_artifacts.push(artifact(self.random.happens(70)));
        }
        if self.random.happens(40) {
            let criterion = if self.random.happens(80) { "CI is green" } else { "CI is blue" };
            completion.evidence.push(Evidence {
                criterion: criterion.to_owned(),
                evidence: "run 7".to_owned(),
                artifact_ids: Vec::new(),
            });
        }
        Command::Complete(completion)
    }

    fn verifiers_word(&mut self) -> Command {
        if self.random.happens(60) {
            Command::Confirm { why: None }
        } else {
            Command::Dispute { why: "the build is red".to_owned() }
        }
    }

    fn workq_answered(&mut self, package_hash: &str, way: Way) -> Command {
        let answer = match self.random.below(4) {
            0 => Answer::Missing,
            1 => Answer::Degraded {
                reason: *self.random.pick(&Degradation::ALL),
                detail: "as it is".to_owned(),
            },
            _ => Answer::Transferred,
        };
        let answers = vec![Answered { item: "item".to_owned(), answer }];
        Command::WorkqAnswered { package_hash: package_hash.to_owned(), way, answers }
    }

    fn human_word(&mut self) -> Command {
        if self.random.happens(70) {
            Command::Approve { revision: None, why: None }
        } else {
            Command::Refuse { revision: None, why: "not this week".to_owned() }
        }
    }

    fn counter(&mut self) -> Command {
        self.n_made += 1;
        let summary = Edit::Set(format!("The linker fails, attempt {}", self.n_made));
        let context = Edit::Set(ContextEdit { summary, ..ContextEdit::default() });
        Command::Counter { edit: Box::new(OfferEdit { context, ..OfferEdit::default() }) }
    }

    fn delegate(&mut self) -> Command {
        let to = self.random.pick(&AGENTS[..5]).0;
        let mut offer: Offer<PolicyEdit> = offer(to, "part");
        if let Some(task) = &mut offer.task
            && self.random.happens(70)
        {
            task.task_id = None;
        }
        Command::Delegate { child: self.new_handoff_id(), offer: Box::new(offer) }
    }

    fn reassign(&mut self, watch: &Watch) -> Command {
        let to = id(self.random.pick(&AGENTS).0);
        let is_late = self.random.happens(50);
        let deadline = is_late.then(|| watch.latest().plus(Span::from_hours(30)));
        let why = "nobody answers".to_owned();
        let successor = self.new_handoff_id();
        Command::Reassign(Box::new(Reassign { successor, to, why, work_state: None, deadline }))
    }

    fn extend_sla(&mut self, watch: &Watch) -> Command {
        let hours = *self.random.pick(&[-1, 1, 48]);
        let due = watch.latest().plus(Span::from_hours(hours));
        Command::ExtendSla { due, why: "it is hard".to_owned() }
    }
}
