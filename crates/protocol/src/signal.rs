//! How a conversation goes, as far as words tell: is somebody angry, do they ask for a person?
//!
//! Scores come from short lists of words, so they are quick, explainable, and sometimes wrong: they
//! may call a person, and never decide anything else. A message and what is remembered of the ones
//! before go in; what was heard, what is remembered from now on, and perhaps an [`Escalate`] come
//! out. Read in this order: [`lexicon`], [`score`], [`rules`].

pub mod lexicon;
pub mod rules;
pub mod score;

pub use rules::{Escalate, EscalationRule, EscalationRules, Observed, SignalState, observe};
pub use score::{
    Heard, Polarity, SentimentSignal, SentimentSignalPart, SignalKind, SignalScore, Source, hear,
};

#[cfg(test)]
mod tests;
