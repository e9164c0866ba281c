//! What changes with a long wait: requirements are relaxed, then the item goes to another queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Kind;
use crate::form;
use crate::ids::AgentId;
use crate::problem::Problem;
use crate::queue::wanted::{SKILL_LEVEL_MAX, Wanted};
use crate::time::{Span, Time};
use crate::warning::Named;

/// Steps of one queue. Two or three are usual.
pub const PATIENCE_STEPS_MAX: usize = 16;

/// A step cannot apply at once.
const AFTER_MIN: Span = Span::from_millis(1);

/// How a queue treats long waits. Times are counted from when an item first entered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// In order of time; all that are due apply, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, PATIENCE_STEPS_MAX))]
    pub relax: Vec<RelaxStep>,
    /// In order of time; the last one due applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, PATIENCE_STEPS_MAX))]
    pub overflow: Vec<Overflow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelaxStep {
    #[schemars(transform = form::at_least(AFTER_MIN))]
    pub after: Span,
    pub relax: Relax,
}

/// The requirement that is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relax {
    /// Skills that are only preferred.
    PreferredSkills,
    /// Lowers each level by this much, but never below 1.
    LevelsBy(#[schemars(transform = form::range(1, SKILL_LEVEL_MAX))] u8),
    AllSkills,
    Team,
    Language,
}

/// The queue where an item waits next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overflow {
    #[schemars(transform = form::at_least(AFTER_MIN))]
    pub after: Span,
    /// Another queue.
    pub to: AgentId,
}

impl Patience {
    /// What an item still requires after waiting this long.
    pub fn relaxed(&self, wanted: &Wanted, waited: Span) -> Wanted {
        let mut wanted = wanted.clone();
        for step in self.relax.iter().filter(|step| step.after <= waited) {
            match step.relax {
                Relax::PreferredSkills => wanted.skills.retain(|skill| !skill.preferred),
                Relax::LevelsBy(by) => {
                    for skill in &mut wanted.skills {
                        skill.level_min = skill.level_min.saturating_sub(by).max(1);
                    }
                }
                Relax::AllSkills => wanted.skills.clear(),
                Relax::Team => wanted.team = None,
                Relax::Language => wanted.language = None,
            }
        }
        wanted
    }

    /// The queue that an item goes to after waiting this long, if any.
    pub fn overflow(&self, waited: Span) -> Option<&AgentId> {
        self.overflow.iter().rev().find(|rule| rule.after <= waited).map(|rule| &rule.to)
    }

    /// The next time at which one of the two answers changes.
    pub fn next_change(&self, enqueued_at: Time, now: Time) -> Option<Time> {
        let relax = self.relax.iter().map(|step| step.after);
        let spans = relax.chain(self.overflow.iter().map(|rule| rule.after));
        spans.map(|after| enqueued_at.plus(after)).filter(|at| *at > now).min()
    }

    /// The queues that it forwards to.
    pub fn named(&self) -> Vec<Named> {
        let numbered = self.overflow.iter().enumerate();
        let named = numbered.map(|(index, rule)| Named {
            field: format!("patience.overflow[{index}].to"),
            agent: rule.to.clone(),
            wanted: &[Kind::Queue],
        });
        named.collect()
    }

    /// All problems.
    pub fn problems(&self) -> Vec<Problem> {
        let relax: Vec<Span> = self.relax.iter().map(|step| step.after).collect();
        let overflow: Vec<Span> = self.overflow.iter().map(|rule| rule.after).collect();
        let mut problems =
            [span_problems("relax", &relax), span_problems("overflow", &overflow)].concat();
        for (index, step) in self.relax.iter().enumerate() {
            if let Relax::LevelsBy(by) = step.relax
                && !(1..=SKILL_LEVEL_MAX).contains(&by)
            {
                let field = format!("relax[{index}].relax.levels_by");
                let expected = format!("a number from 1 to {SKILL_LEVEL_MAX}");
                problems.push(Problem { field, expected });
            }
        }
        problems
    }
}

fn span_problems(list: &str, spans: &[Span]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if spans.len() > PATIENCE_STEPS_MAX {
        let expected = format!("at most {PATIENCE_STEPS_MAX}");
        problems.push(Problem { field: list.to_owned(), expected });
    }
    for (index, span) in spans.iter().enumerate() {
        let before = index.checked_sub(1).map_or(Span::from_millis(0), |before| spans[before]);
        if *span <= before {
            let expected = "longer than the one before, and more than nothing".to_owned();
            problems.push(Problem { field: format!("{list}[{index}].after"), expected });
        }
    }
    problems
}
