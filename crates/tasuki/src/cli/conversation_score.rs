//! `tasuki conversation score`: how a message of a customer sounds, by a program outside.

use clap::Args;
use serde_json::json;

use super::conversation::path_of;
use crate::client::Call;

#[derive(Debug, Args)]
pub struct ScoreArgs {
    /// The conversation's id
    id: String,
    /// The number of the message
    #[arg(long, value_name = "N")]
    message: u64,
    /// A score from 0 to 1: frustration, human_request, profanity or shouting, such as
    /// frustration=0.9; may be repeated
    #[arg(long = "signal", value_name = "NAME=SCORE", value_parser = signal, required = true)]
    signals: Vec<(String, f64)>,
}

impl ScoreArgs {
    pub fn call(self) -> Call {
        let scored = |(signal, score): (String, f64)| json!({ "signal": signal, "score": score });
        let signals: Vec<_> = self.signals.into_iter().map(scored).collect();
        let body = json!({ "message": self.message, "signals": signals });
        Call::post(path_of(&self.id, "/signals"), body)
    }
}

/// Reads `frustration=0.9`.
fn signal(text: &str) -> Result<(String, f64), String> {
    let (name, score) = text.split_once('=').ok_or("expected NAME=SCORE")?;
    let score = score.parse().map_err(|_| "expected a score from 0 to 1 after `=`")?;
    Ok((name.to_owned(), score))
}
