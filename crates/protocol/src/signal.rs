//! The mood of a conversation, as far as words tell: is the customer angry, do they ask for a
//! person?
//!
//! Scores come from short lists of words, so they are fast, explainable, and sometimes wrong: they
//! may call a person, and never decide anything else. The input is a message and the memory of
//! earlier ones. The output is the scores, the new memory, and perhaps an [`Escalate`]. Read in
//! this order: [`lexicon`], [`score`], [`rules`].

pub mod lexicon;
pub mod promise;
pub mod reading;
pub mod rules;
pub mod score;

pub use rules::{Escalate, EscalationRule, EscalationRules, Observed, SignalState, observe};
pub use score::{
    Heard, Polarity, SentimentSignal, SentimentSignalPart, SignalKind, SignalScore, Source, hear,
};

#[cfg(test)]
mod tests;
