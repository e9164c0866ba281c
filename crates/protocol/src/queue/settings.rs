//! The settings of a queue: its members, how they get items, and its time limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hours::OpeningHours;
use super::patience::Patience;
use crate::form;
use crate::problem::Problem;
use crate::queue::wanted::{SkillWanted, Wanted};
use crate::time::Span;

/// About as long as a telephone rings.
pub const RING_DEFAULT: Span = Span::from_millis(30_000);
pub const RING_MAX: Span = Span::from_minutes(10);

/// If no person answers for this long, the customer is told so and gets the bot back.
pub const WAIT_DEFAULT: Span = Span::from_hours(1);
pub const WAIT_MAX: Span = Span::from_hours(24 * 7);

pub const HOLD_DEFAULT: Span = Span::from_minutes(10);
pub const HOLD_MAX: Span = Span::from_hours(8);

/// The waiting time that a level of priority is worth.
pub const LEVEL_DEFAULT: Span = Span::from_minutes(5);
pub const LEVEL_MAX: Span = Span::from_hours(24);

/// Within this time a person should answer. The usual goal of contact centres is 80% in 20 seconds.
pub const TARGET_DEFAULT: Span = Span::from_millis(20_000);
pub const TARGET_MAX: Span = Span::from_hours(24 * 7);

/// A chat in which a person answers once a day is no chat.
pub const REPLY_TARGET_MAX: Span = Span::from_hours(24);

/// Rings without an answer before a transfer leaves its queue: with the usual ring, ten minutes in
/// which no person has answered.
pub const RINGS_DEFAULT: u16 = 20;
pub const RINGS_MAX: u16 = 1_000;

const SPAN_MIN: Span = Span::from_millis(1_000);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(default)]
    pub mode: Mode,
    /// What every member of the queue must have: a team, skills.
    #[serde(default)]
    pub wanted: Wanted,
    /// Requires the person to speak the customer's language.
    #[serde(default)]
    pub by_language: bool,
    #[serde(default = "ring")]
    #[schemars(transform = form::span(SPAN_MIN, RING_MAX))]
    pub ring: Span,
    #[serde(default = "wait")]
    #[schemars(transform = form::span(SPAN_MIN, WAIT_MAX))]
    pub wait: Span,
    #[serde(default = "hold")]
    #[schemars(transform = form::span(SPAN_MIN, HOLD_MAX))]
    pub hold: Span,
    /// The waiting time that a level of priority is worth.
    #[serde(default = "level")]
    #[schemars(transform = form::span(SPAN_MIN, LEVEL_MAX))]
    pub level: Span,
    /// Within this time a person should answer; reports count the answers in time.
    #[serde(default = "target", skip_serializing_if = "is_usual_target")]
    #[schemars(transform = form::span(SPAN_MIN, TARGET_MAX))]
    pub target: Span,
    /// After so many rings without an answer, a transfer overflows now, or fails if it cannot.
    #[serde(default = "rings", skip_serializing_if = "is_usual_rings")]
    #[schemars(transform = form::range(1, RINGS_MAX))]
    pub rings: u16,
    /// A person who leaves the customer without a reply for so long is reminded, and so is who
    /// supervises; no reminder when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::span(SPAN_MIN, REPLY_TARGET_MAX))]
    pub reply_target: Option<Span>,
    #[serde(default)]
    pub patience: Patience,
    /// Always open when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<OpeningHours>,
}

/// How people get the items that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// An item is offered to the person idle longest; any other member may still pick it.
    #[default]
    Offer,
    /// People pick for themselves.
    Pick,
}

fn ring() -> Span {
    RING_DEFAULT
}

fn wait() -> Span {
    WAIT_DEFAULT
}

fn hold() -> Span {
    HOLD_DEFAULT
}

fn level() -> Span {
    LEVEL_DEFAULT
}

fn target() -> Span {
    TARGET_DEFAULT
}

fn is_usual_target(target: &Span) -> bool {
    *target == TARGET_DEFAULT
}

fn rings() -> u16 {
    RINGS_DEFAULT
}

fn is_usual_rings(rings: &u16) -> bool {
    *rings == RINGS_DEFAULT
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            wanted: Wanted::default(),
            by_language: false,
            ring: RING_DEFAULT,
            wait: WAIT_DEFAULT,
            hold: HOLD_DEFAULT,
            level: LEVEL_DEFAULT,
            target: TARGET_DEFAULT,
            rings: RINGS_DEFAULT,
            reply_target: None,
            patience: Patience::default(),
            hours: None,
        }
    }
}

impl Settings {
    /// All problems.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let spans = [
            ("ring", self.ring, RING_MAX),
            ("wait", self.wait, WAIT_MAX),
            ("hold", self.hold, HOLD_MAX),
            ("level", self.level, LEVEL_MAX),
            ("target", self.target, TARGET_MAX),
        ];
        let reply_target = self.reply_target.map(|it| ("reply_target", it, REPLY_TARGET_MAX));
        for (name, span, max) in spans.into_iter().chain(reply_target) {
            if span < SPAN_MIN || span > max {
                let expected = format!("a span from {SPAN_MIN} to {}", max.in_days());
                problems.push(Problem { field: name.to_owned(), expected });
            }
        }
        if !(1..=RINGS_MAX).contains(&self.rings) {
            let expected = format!("a number from 1 to {RINGS_MAX}");
            problems.push(Problem { field: "rings".to_owned(), expected });
        }
        let hours = self.hours.as_ref().map(OpeningHours::problems).unwrap_or_default();
        let parts = [
            ("wanted", self.wanted.problems()),
            ("patience", self.patience.problems()),
            ("hours", hours),
        ];
        for (part, of_part) in parts {
            let inside = |one: Problem| Problem { field: format!("{part}.{}", one.field), ..one };
            problems.extend(of_part.into_iter().map(inside));
        }
        problems
    }

    /// What an item requires of the person who takes it: the queue's requirements and its own.
    pub fn wanted_for(&self, item: &Wanted, language: Option<&str>) -> Wanted {
        let mut skills: Vec<SkillWanted> = self.wanted.skills.clone();
        for skill in &item.skills {
            match skills.iter_mut().find(|known| known.name == skill.name) {
                Some(known) => known.level_min = known.level_min.max(skill.level_min),
                None => skills.push(skill.clone()),
            }
        }
        let of_customer = language.filter(|_| self.by_language).map(str::to_owned);
        Wanted {
            skills,
            language: item.language.clone().or(of_customer).or(self.wanted.language.clone()),
            team: item.team.clone().or(self.wanted.team.clone()),
        }
    }
}
