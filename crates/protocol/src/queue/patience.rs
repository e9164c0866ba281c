//! What changes while somebody waits: less is asked of whoever takes it; then it goes elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::choose::Wanted;
use crate::agent::Kind;
use crate::agent::profile::SKILL_LEVEL_MAX;
use crate::form;
use crate::handoff::check::Problem;
use crate::ids::AgentId;
use crate::time::{Span, Time};
use crate::warning::Named;

/// Steps of one queue. People think in two or three.
pub const PATIENCE_STEPS_MAX: usize = 16;

/// A step is after something.
const AFTER_MIN: Span = Span::from_millis(1);

/// What a queue does about those who wait long. Times are counted from when an item first entered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Patience {
    /// In order of time; all that are due apply, one after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(transform = form::items(0, PATIENCE_STEPS_MAX))]
    pub relax: Vec<RelaxStep>,
    /// In order of time; the last that is due applies.
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

/// What is no longer asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relax {
    /// Skills that are only preferred.
    PreferredSkills,
    /// This much of each level; a level is never below 1.
    LevelsBy(#[schemars(transform = form::range(1, SKILL_LEVEL_MAX))] u8),
    AllSkills,
    Team,
    Language,
}

/// Where an item goes on waiting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Overflow {
    #[schemars(transform = form::at_least(AFTER_MIN))]
    pub after: Span,
    /// Another queue.
    pub to: AgentId,
}

impl Patience {
    /// What is still asked of whoever takes an item that has waited this long.
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

    /// The queue that an item goes to after this long, if it is to go elsewhere.
    pub fn overflow(&self, waited: Span) -> Option<&AgentId> {
        self.overflow.iter().rev().find(|rule| rule.after <= waited).map(|rule| &rule.to)
    }

    /// When to look again: the next moment at which one of the two answers changes.
    pub fn next_change(&self, enqueued_at: Time, now: Time) -> Option<Time> {
        let relax = self.relax.iter().map(|step| step.after);
        let spans = relax.chain(self.overflow.iter().map(|rule| rule.after));
        spans.map(|after| enqueued_at.plus(after)).filter(|at| *at > now).min()
    }

    /// The queues to which it sends.
    pub fn named(&self) -> Vec<Named> {
        let numbered = self.overflow.iter().enumerate();
        let named = numbered.map(|(index, rule)| Named {
            field: format!("patience.overflow[{index}].to"),
            agent: rule.to.clone(),
            wanted: &[Kind::Queue],
        });
        named.collect()
    }

    /// Everything that is wrong.
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
