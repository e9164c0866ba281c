//! When a person is called: rules as data over the last few turns.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::score::{SentimentSignal, SignalKind, SignalScore, hear, thousandths};
use crate::form;
use crate::hidden::is_blank;
use crate::problem::Problem;

/// Turns that are remembered. A customer who was angry twenty turns ago and is calm now counts as
/// calm.
pub const TURNS_KEPT: usize = 16;

/// Rules of one list. Each is checked on every message.
pub const ESCALATION_RULES_MAX: usize = 32;

/// A name or a reason is shown on one line.
pub const ESCALATION_TEXT_BYTES_MAX: usize = 300;

/// The rules, checked in order; the first match calls a person.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalationRules {
    #[schemars(transform = form::items(0, ESCALATION_RULES_MAX))]
    pub rules: Vec<EscalationRule>,
}

/// Matches a signal that was detected often enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EscalationRule {
    /// The name under which a match is reported.
    #[schemars(transform = form::line(ESCALATION_TEXT_BYTES_MAX))]
    pub name: String,
    pub signal: SignalKind,
    /// A turn counts if its score is above this.
    #[schemars(transform = above)]
    pub above: f64,
    /// How many turns must count, the newest among them.
    #[schemars(transform = form::range(1, TURNS_KEPT))]
    pub turns: usize,
    /// Out of how many turns; when absent, the turns must be consecutive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::range(1, TURNS_KEPT))]
    pub within: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::line(ESCALATION_TEXT_BYTES_MAX))]
    pub reason: Option<String>,
}

/// The memory of a conversation, of fixed size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalState {
    /// The newest turn first.
    turns: [TurnScores; TURNS_KEPT],
}

/// Scores in thousandths, so that stored values compare exactly.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnScores {
    /// The number of the message; 0 where it is unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    number: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    frustration: u16,
    #[serde(default, skip_serializing_if = "is_zero")]
    human_request: u16,
    #[serde(default, skip_serializing_if = "is_zero")]
    profanity: u16,
    #[serde(default, skip_serializing_if = "is_zero")]
    shouting: u16,
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn above(schema: &mut Schema) {
    schema.insert("minimum".to_owned(), 0.0.into());
    schema.insert("exclusiveMaximum".to_owned(), 1.0.into());
}

/// A person should be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Escalate {
    /// The name of the rule.
    pub rule: String,
    pub reason: String,
}

/// The result of one message.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    pub state: SignalState,
    pub signals: Vec<SentimentSignal>,
    pub escalation: Option<Escalate>,
}

/// Adds the next message of a conversation. After an escalation the memory is cleared, so that the
/// same turns do not call a person twice.
pub fn observe(
    state: SignalState,
    rules: &EscalationRules,
    text: &str,
    language: Option<&str>,
) -> Observed {
    let heard = hear(text, language);
    let state = state.after(0, &heard.scores());
    let escalation = rules.escalation(&state);
    let state = match escalation {
        Some(_) => SignalState::default(),
        None => state,
    };
    Observed { state, signals: heard.signals(), escalation }
}

impl SignalState {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// With one more turn, the message of this number; a signal without a score counts as zero.
    pub fn after(self, number: u64, scores: &[SignalScore]) -> Self {
        let mut turns = self.turns;
        turns.rotate_right(1);
        turns[0] = TurnScores { number, ..TurnScores::default() }.scored(scores);
        Self { turns }
    }

    /// With other scores for a turn that is remembered; the signals without a score keep theirs.
    pub fn scored(self, number: u64, scores: &[SignalScore]) -> Option<Self> {
        let mut turns = self.turns;
        let turn = turns.iter_mut().find(|turn| turn.number == number && number > 0)?;
        *turn = turn.scored(scores);
        Some(Self { turns })
    }
}

impl TurnScores {
    fn scored(self, scores: &[SignalScore]) -> Self {
        let mut turn = self;
        for scored in scores {
            let place = match scored.signal {
                SignalKind::Frustration => &mut turn.frustration,
                SignalKind::HumanRequest => &mut turn.human_request,
                SignalKind::Profanity => &mut turn.profanity,
                SignalKind::Shouting => &mut turn.shouting,
            };
            *place = thousandths(scored.score);
        }
        turn
    }

    fn score(&self, signal: SignalKind) -> u16 {
        match signal {
            SignalKind::Frustration => self.frustration,
            SignalKind::HumanRequest => self.human_request,
            SignalKind::Profanity => self.profanity,
            SignalKind::Shouting => self.shouting,
        }
    }
}

impl EscalationRule {
    fn holds(&self, turns: &[TurnScores; TURNS_KEPT]) -> bool {
        let counts = |turn: &&TurnScores| turn.score(self.signal) > thousandths(self.above);
        let window = &turns[..self.within().min(TURNS_KEPT)];
        window.first().is_some_and(|newest| counts(&newest))
            && window.iter().filter(counts).count() >= self.turns
    }

    fn within(&self) -> usize {
        self.within.unwrap_or(self.turns)
    }

    fn escalate(&self) -> Escalate {
        let reason = self.reason.clone().unwrap_or_else(|| {
            let (signal, above, turns) = (self.signal.as_str(), self.above, self.turns);
            match self.within() {
                within if within == turns => format!("{signal} above {above} for {turns} turns"),
                within => format!("{signal} above {above} in {turns} of {within} turns"),
            }
        });
        Escalate { rule: self.name.clone(), reason }
    }
}

impl EscalationRules {
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The first rule that matches after the newest turn.
    pub fn escalation(&self, state: &SignalState) -> Option<Escalate> {
        let holds = |rule: &&EscalationRule| rule.holds(&state.turns);
        self.rules.iter().find(holds).map(EscalationRule::escalate)
    }

    /// All problems of the rules.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut wrong =
            |field: String, expected: String| problems.push(Problem { field, expected });
        if self.rules.len() > ESCALATION_RULES_MAX {
            wrong("rules".to_owned(), format!("at most {ESCALATION_RULES_MAX}"));
        }
        let is_line = |text: &str| {
            let is_shown = !is_blank(text) && !text.chars().any(char::is_control);
            is_shown && text.len() <= ESCALATION_TEXT_BYTES_MAX
        };
        let line = format!("one line of 1 to {ESCALATION_TEXT_BYTES_MAX} bytes");
        for (index, rule) in self.rules.iter().enumerate() {
            let field = |name: &str| format!("rules[{index}].{name}");
            if !is_line(&rule.name) {
                wrong(field("name"), line.clone());
            } else if self.rules[..index].iter().any(|other| other.name == rule.name) {
                wrong(field("name"), "a name of its own".to_owned());
            }
            if rule.reason.as_deref().is_some_and(|reason| !is_line(reason)) {
                wrong(field("reason"), line.clone());
            }
            if !(0.0..1.0).contains(&rule.above) {
                wrong(field("above"), "a number from 0 to below 1".to_owned());
            }
            if !(1..=TURNS_KEPT).contains(&rule.turns) {
                wrong(field("turns"), format!("a number from 1 to {TURNS_KEPT}"));
            }
            if rule.within.is_some_and(|within| within < rule.turns || within > TURNS_KEPT) {
                wrong(field("within"), format!("at least `turns`, at most {TURNS_KEPT}"));
            }
        }
        problems
    }
}
