//! The scores of one message, from 0 to 1, their confidence, and their form on the wire.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lexicon::{Entry, LANGUAGES, LEXICON, Sign};
use crate::route::language::is_language;
use crate::route::words::{fold, looked_at};

/// From here on the customer counts as unhappy. One plain word of anger is above, capitals alone
/// are not.
const NEGATIVE_MIN: f64 = 0.35;

/// Words between a negation and the negated word, as in "not at all helpful".
const NEGATION_WORDS_MAX: usize = 2;

/// The weight of negated praise: "not good" is what polite people say.
const DENIED_PRAISE_WEIGHT: f64 = 0.5;

/// Praise without a negation reduces frustration by this share.
const PRAISE_RELIEF: f64 = 0.5;

/// Phrases that count in one message. More would not change the result.
const HITS_MAX: usize = 256;

/// With fewer letters, capitals are an abbreviation.
const SHOUTED_LETTERS_MIN: usize = 10;

/// A smaller share of capitals is an accident.
const SHOUTED_SHARE_MIN: f64 = 0.8;

/// Marks in a row: "!!!" and "?!?" are loud, "!!" and "?" are not.
const LOUD_MARKS_MIN: usize = 3;

const CAPITALS_WEIGHT: f64 = 0.7;
const MARKS_WEIGHT: f64 = 0.4;

/// The share of shouting that counts as anger; some people always shout.
const SHOUTING_SHARE: f64 = 0.5;

/// The share of profanity that counts as anger; some people always swear.
const PROFANITY_SHARE: f64 = 0.75;

/// The confidence if nothing is detected: in a known language, and in an unknown one.
const SILENT_CONFIDENCE: f64 = 0.5;
const STRANGE_CONFIDENCE: f64 = 0.1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignalKind {
    /// How angry the customer sounds, from words of anger and all signals below.
    Frustration,
    /// Whether the customer asks for a person.
    HumanRequest,
    Profanity,
    /// Capitals, and marks in a row.
    Shouting,
}

impl SignalKind {
    pub const ALL: [Self; 4] =
        [Self::Frustration, Self::HumanRequest, Self::Profanity, Self::Shouting];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Frustration => "frustration",
            Self::HumanRequest => "human_request",
            Self::Profanity => "profanity",
            Self::Shouting => "shouting",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Polarity {
    Negative,
    Neutral,
    Positive,
}

/// How a signal was detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// By the word lists here.
    Rules,
}

/// One detected signal.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SentimentSignal {
    pub signal: SignalKind,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score: f64,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    pub polarity: Polarity,
    pub source: Source,
}

/// A signal as a part of a message, in the shape that chat clients know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SentimentSignalPart {
    pub id: String,
    pub signal: SignalKind,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score: f64,
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    pub polarity: Polarity,
    pub source: Source,
    pub latency_ms: f64,
    /// The message in which it was detected.
    pub attributed_message_id: String,
}

impl SentimentSignal {
    /// The caller supplies the ids and the latency.
    pub fn part(&self, id: String, message_id: String, latency_ms: f64) -> SentimentSignalPart {
        let Self { signal, score, confidence, polarity, source } = *self;
        let attributed_message_id = message_id;
        SentimentSignalPart {
            id,
            signal,
            score,
            confidence,
            polarity,
            source,
            latency_ms,
            attributed_message_id,
        }
    }
}

/// All scores of one message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Heard {
    pub frustration: f64,
    pub human_request: f64,
    pub profanity: f64,
    pub shouting: f64,
    pub confidence: f64,
    pub polarity: Polarity,
}

/// One signal of a message, as it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignalScore {
    pub signal: SignalKind,
    /// From 0 to 1, in thousandths.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub score: f64,
}

/// Scores are stored and compared as integers.
pub(super) fn thousandths(score: f64) -> u16 {
    // Saturates, and NaN becomes zero.
    (score.clamp(0.0, 1.0) * 1_000.0).round() as u16
}

impl Heard {
    /// The scores above zero, each signal at most once.
    pub fn scores(&self) -> Vec<SignalScore> {
        let rounded = |signal| f64::from(thousandths(self.score(signal))) / 1_000.0;
        let scored = SignalKind::ALL.map(|signal| SignalScore { signal, score: rounded(signal) });
        scored.into_iter().filter(|scored| scored.score > 0.0).collect()
    }

    pub fn score(&self, signal: SignalKind) -> f64 {
        match signal {
            SignalKind::Frustration => self.frustration,
            SignalKind::HumanRequest => self.human_request,
            SignalKind::Profanity => self.profanity,
            SignalKind::Shouting => self.shouting,
        }
    }

    /// Frustration always, because calm is news too; the others only if detected.
    pub fn signals(&self) -> Vec<SentimentSignal> {
        let heard = SignalKind::ALL
            .into_iter()
            .filter(|signal| *signal == SignalKind::Frustration || self.score(*signal) > 0.0);
        let (confidence, polarity, source) = (self.confidence, self.polarity, Source::Rules);
        heard
            .map(|signal| {
                let score = self.score(signal);
                SentimentSignal { signal, score, confidence, polarity, source }
            })
            .collect()
    }
}

struct Hit {
    entry: &'static Entry,
    place: Range<usize>,
}

/// Scores one message. For a known language, its list and the English one apply, because people mix
/// them; otherwise all lists do.
pub fn hear(text: &str, language: Option<&str>) -> Heard {
    let text = looked_at(text);
    let folded = fold(text);
    let known = language
        .and_then(|spoken| LANGUAGES.into_iter().find(|listed| is_language(spoken, listed)));
    let is_listened =
        |entry: &Entry| known.is_none_or(|known| [known, "en"].contains(&entry.language));
    let mut hits: Vec<Hit> = Vec::new();
    LEXICON.words.each(&folded, |word, place| {
        let entry = &LEXICON.entries[word];
        if hits.len() < HITS_MAX && is_listened(entry) {
            hits.push(Hit { entry, place });
        }
    });
    let of = |sign: Sign| hits.iter().filter(move |hit| hit.entry.sign == sign);
    // If the nearest negation does not reach a word, those before it do not either.
    let is_denied = |hit: &Hit| {
        let before = of(Sign::Negation).filter(|no| no.place.end <= hit.place.start);
        before.max_by_key(|no| no.place.end).is_some_and(|no| is_before(&folded, no, hit))
    };
    let is_inside = |hit: &Hit| {
        of(Sign::Frustration).chain(of(Sign::Profanity)).any(|outer| contains(&outer.place, hit))
    };
    let frustration = together(distinct(of(Sign::Frustration)));
    let profanity = together(distinct(of(Sign::Profanity)));
    // "a human" within "talk to a human" is negated only if the whole is.
    let is_part = |hit: &Hit| {
        of(Sign::HumanRequest).any(|outer| outer.place != hit.place && contains(&outer.place, hit))
    };
    let asked = of(Sign::HumanRequest).filter(|hit| !is_part(hit) && !is_denied(hit));
    let human_request = together(distinct(asked));
    let praise = || of(Sign::Praise).filter(|hit| !is_inside(hit));
    let is_praise_denied = praise().any(is_denied);
    let is_praised = praise().any(|hit| !is_denied(hit));
    let shouting = shouting(text);

    let denied = if is_praise_denied { DENIED_PRAISE_WEIGHT } else { 0.0 };
    let parts = [frustration, denied, PROFANITY_SHARE * profanity, SHOUTING_SHARE * shouting];
    let mut anger = together(parts.into_iter());
    if is_praised {
        anger *= 1.0 - PRAISE_RELIEF;
    }
    let evidence = [frustration, denied, profanity, human_request, shouting];
    let n_kinds =
        evidence.into_iter().filter(|score| *score > 0.0).count() + usize::from(is_praised);
    let is_strange = language.is_some() && known.is_none();
    let polarity = match (anger >= NEGATIVE_MIN, is_praised) {
        (true, _) => Polarity::Negative,
        (false, true) => Polarity::Positive,
        (false, false) => Polarity::Neutral,
    };
    let confidence = match n_kinds {
        0 if is_strange => STRANGE_CONFIDENCE,
        0 => SILENT_CONFIDENCE,
        // Each kind of evidence halves the doubt.
        _ => 1.0 - (1.0 - SILENT_CONFIDENCE) / f64::from(1_u32 << n_kinds.min(16)),
    };
    Heard { frustration: anger, human_request, profanity, shouting, confidence, polarity }
}

/// The weight of each phrase once, however often it occurs, in the order of the lists.
fn distinct<'h>(hits: impl Iterator<Item = &'h Hit>) -> impl Iterator<Item = f64> {
    let mut entries: Vec<&Entry> = hits.map(|hit| hit.entry).collect();
    entries.sort_by_key(|entry| (entry.language, entry.phrase));
    entries.dedup_by_key(|entry| (entry.language, entry.phrase));
    entries.into_iter().map(|entry| entry.weight)
}

/// Weights add up, but never beyond 1: two of 0.5 make 0.75.
fn together(weights: impl Iterator<Item = f64>) -> f64 {
    1.0 - weights.fold(1.0, |doubt, weight| doubt * (1.0 - weight))
}

fn contains(outer: &Range<usize>, hit: &Hit) -> bool {
    outer.start <= hit.place.start && hit.place.end <= outer.end
}

/// Whether a negation stands shortly before a word, in the same clause.
fn is_before(folded: &str, negation: &Hit, hit: &Hit) -> bool {
    let Some(between) = folded.get(negation.place.end..hit.place.start) else { return false };
    let is_near = between.split_whitespace().nth(NEGATION_WORDS_MAX).is_none();
    is_near && !between.contains(['.', ',', '!', '?', ';', ':'])
}

fn shouting(text: &str) -> f64 {
    let n_upper = text.chars().filter(|letter| letter.is_uppercase()).count();
    let n_lower = text.chars().filter(|letter| letter.is_lowercase()).count();
    let n_letters = n_upper + n_lower;
    let is_capitals =
        n_letters >= SHOUTED_LETTERS_MIN && n_upper as f64 >= SHOUTED_SHARE_MIN * n_letters as f64;
    let is_mark = |letter: char| matches!(letter, '!' | '?' | '！' | '？' | '‼' | '⁉');
    let mut n_marks = 0;
    let mut is_loud = false;
    for letter in text.chars() {
        n_marks = if is_mark(letter) { n_marks + 1 } else { 0 };
        is_loud |= n_marks >= LOUD_MARKS_MIN;
    }
    let capitals = if is_capitals { CAPITALS_WEIGHT } else { 0.0 };
    let marks = if is_loud { MARKS_WEIGHT } else { 0.0 };
    together([capitals, marks].into_iter())
}
