//! What is asked between a proposal and the work, and between the work and its end: what was found
//! of the artifacts, a human's word or a verifier's, counter-offers, taking it back, more time.

use protocol::caller::Caller;
use protocol::handoff::artifact::{Finding, Seen};
use protocol::handoff::command::{Looked, SlaStage};
use protocol::handoff::completion::{Completion, Evidence};
use protocol::handoff::package::{Artifact, ArtifactKind, ArtifactRef, OfferedContext};
use protocol::handoff::state::{Checks, Stage};
use protocol::handoff::{Command, Handoff, Offer};
use protocol::ids::TeamspaceId;
use protocol::time::Span;

use super::script::Script;
use super::watch::Watch;
use crate::support::{agent, coordinator};

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

impl Script {
    /// Now and then, what somebody sensible would ask of this handoff.
    pub fn negotiation(&mut self, handoff: &Handoff, watch: &Watch) -> Option<(Caller, Command)> {
        let Handoff::Made(made) = handoff else { return None };
        let sender = agent(made.terms.from.as_str());
        if self.random.happens(5) {
            return Some((coordinator("lead"), self.extend_sla(watch)));
        }
        match &made.stage {
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
        match self.random.below(8) {
            0 => self.verified(Looked::Package { hash: "of another package".to_owned() }),
            6 => self.verified(Looked::Completion { attempt: 1 }),
            7 => self.verifiers_word(),
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

    fn human_word(&mut self) -> Command {
        if self.random.happens(70) {
            Command::Approve { why: None }
        } else {
            Command::Refuse { why: "not this week".to_owned() }
        }
    }

    fn counter(&mut self) -> Command {
        self.n_made += 1;
        let summary = Some(format!("The linker fails, attempt {}", self.n_made));
        let context = Some(OfferedContext { summary, ..OfferedContext::default() });
        Command::Counter { offer: Box::new(Offer { context, ..Offer::default() }) }
    }

    fn extend_sla(&mut self, watch: &Watch) -> Command {
        let hours = *self.random.pick(&[-1, 1, 48]);
        let due = watch.latest().plus(Span::from_hours(hours));
        Command::ExtendSla { due, why: "it is hard".to_owned() }
    }
}
