//! How long each stage may take, and when the agents are warned before.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form;
use crate::problem::Problem;
use crate::time::{Span, Time};

/// For the target to answer: minutes, because the sender waits.
pub const PROPOSED_SLA: Span = Span::from_minutes(5);
/// The checks of the gate, artifacts included.
pub const VALIDATING_SLA: Span = Span::from_minutes(10);
/// From the accept to the start of the work.
pub const ACCEPTED_SLA: Span = Span::from_minutes(15);
/// The work itself, unless the handoff has a deadline of its own.
pub const ACTIVATED_SLA: Span = Span::from_hours(24);

/// A shorter limit would be overdue before an agent could act on it.
pub const SLA_MIN: Span = Span::from_millis(1_000);
/// For more time, a deadline is better.
pub const SLA_MAX: Span = Span::from_hours(24 * 365);

/// A warning is given after the beginning and before the end.
pub const WARN_PERCENT_MIN: u8 = 1;
pub const WARN_PERCENT_MAX: u8 = 99;

/// The limits that a sender sets for its handoff, or a teamspace for all handoffs without their
/// own; missing ones have defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slas {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::span(SLA_MIN, SLA_MAX))]
    pub accepted: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::span(SLA_MIN, SLA_MAX))]
    pub activated: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::span(SLA_MIN, SLA_MAX))]
    pub proposed: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::span(SLA_MIN, SLA_MAX))]
    pub validating: Option<Span>,
    /// The share of a limit after which the target is warned, in percent; no warning when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::range(WARN_PERCENT_MIN, WARN_PERCENT_MAX))]
    pub warn_percent: Option<u8>,
}

impl Slas {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// These limits, with missing ones from the others.
    pub fn or(self, others: Slas) -> Slas {
        Slas {
            accepted: self.accepted.or(others.accepted),
            activated: self.activated.or(others.activated),
            proposed: self.proposed.or(others.proposed),
            validating: self.validating.or(others.validating),
            warn_percent: self.warn_percent.or(others.warn_percent),
        }
    }

    /// The same with every limit filled in.
    pub fn in_full(&self) -> Slas {
        Slas {
            accepted: Some(self.of(SlaStage::Accepted)),
            activated: Some(self.of(SlaStage::Activated)),
            proposed: Some(self.of(SlaStage::Proposed)),
            validating: Some(self.of(SlaStage::Validating)),
            warn_percent: self.warn_percent,
        }
    }

    /// How long a stage may take.
    pub fn of(&self, stage: SlaStage) -> Span {
        match stage {
            SlaStage::Proposed => self.proposed.unwrap_or(PROPOSED_SLA),
            SlaStage::Validating => self.validating.unwrap_or(VALIDATING_SLA),
            SlaStage::Accepted => self.accepted.unwrap_or(ACCEPTED_SLA),
            SlaStage::Activated => self.activated.unwrap_or(ACTIVATED_SLA),
        }
    }

    /// When to warn about a stage that began at `since` and is overdue at `due`.
    pub fn warning(&self, since: Time, due: Time) -> Option<Time> {
        let percent = i64::from(self.warn_percent?);
        let millis = due.since(since).as_millis().max(0);
        let before = millis / 100 * percent + millis % 100 * percent / 100;
        Some(since.plus(Span::from_millis(before)))
    }

    pub fn problems(&self) -> Vec<Problem> {
        let stages = [
            ("sla.proposed", self.proposed),
            ("sla.validating", self.validating),
            ("sla.accepted", self.accepted),
            ("sla.activated", self.activated),
        ];
        let is_unsound = |span: Span| !(SLA_MIN..=SLA_MAX).contains(&span);
        let mut problems: Vec<_> = stages
            .into_iter()
            .filter(|(_, span)| span.is_some_and(is_unsound))
            .map(|(field, _)| Problem {
                field: field.to_owned(),
                expected: format!("a span from {SLA_MIN} to {}", SLA_MAX.in_days()),
            })
            .collect();
        let percents = WARN_PERCENT_MIN..=WARN_PERCENT_MAX;
        if self.warn_percent.is_some_and(|percent| !percents.contains(&percent)) {
            problems.push(Problem {
                field: "sla.warn_percent".to_owned(),
                expected: format!("a number from {WARN_PERCENT_MIN} to {WARN_PERCENT_MAX}"),
            });
        }
        problems
    }
}

/// The four stages that have a limit, named as the ACP design names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SlaStage {
    #[serde(rename = "proposed→validating")]
    Proposed,
    #[serde(rename = "validating→accepted/rejected")]
    Validating,
    #[serde(rename = "accepted→activated")]
    Accepted,
    #[serde(rename = "activated→completed")]
    Activated,
}

impl SlaStage {
    pub const ALL: [SlaStage; 4] =
        [SlaStage::Proposed, SlaStage::Validating, SlaStage::Accepted, SlaStage::Activated];

    pub fn as_str(self) -> &'static str {
        match self {
            SlaStage::Proposed => "proposed→validating",
            SlaStage::Validating => "validating→accepted/rejected",
            SlaStage::Accepted => "accepted→activated",
            SlaStage::Activated => "activated→completed",
        }
    }
}

impl FromStr for SlaStage {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        SlaStage::ALL.into_iter().find(|stage| stage.as_str() == text).ok_or(())
    }
}
