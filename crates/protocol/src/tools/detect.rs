//! Finds the handoffs in a history: from which agent to which, and the result.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::answers::NOT_TRANSFERRED;
use super::calls::{arguments, baked_in, is_handoff};
use super::turn::{RawCall, RawResult, Speaker, Turn};
use super::{Form, MESSAGES_MAX, Malformed, name, text};
use crate::ids::NAME_BYTES_MAX;

/// One handoff, as the history tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// The index of the message with the call, from 0.
    pub index: usize,
    pub call_id: String,
    /// The agent that made the call: by its name, or because the conversation was handed to it
    /// before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub outcome: Outcome,
    pub direction: Direction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Accepted,
    Refused,
    /// The conversation was handed over, but not to the agent that the call names.
    Redirected,
    /// No result follows the call.
    Unanswered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Forth,
    /// The call itself says that the work came back.
    Back,
}

/// How refusals begin: ours, and those of a framework that knows them.
const REFUSALS: [&str; 2] = ["Cannot handoff", "Multiple handoffs detected, ignoring this one"];

const REASON_CHARS_MAX: usize = 500;

/// Lists the handoffs of a history, in order. Messages of unknown form are an error, because a
/// handoff could hide there.
pub fn handoffs(form: Form, history: &[Value]) -> Result<Vec<Found>, Malformed> {
    if history.len() > MESSAGES_MAX {
        return Err(Malformed::new("", format!("at most {MESSAGES_MAX} messages")));
    }
    let turns: Vec<Turn<'_>> = history
        .iter()
        .enumerate()
        .map(|(index, message)| {
            Turn::read(form, message).map_err(|error| error.within(&format!("[{index}]")))
        })
        .collect::<Result<_, _>>()?;
    let mut found = Vec::new();
    let mut holder: Option<String> = None;
    for (index, turn) in turns.iter().enumerate() {
        if !turn.calls().any(|call| is_handoff(call.name)) {
            continue;
        }
        let results = results_after(&turns[index + 1..]);
        let from = turn.name.map(|name| text::line(name, NAME_BYTES_MAX)).or(holder.clone());
        let mut next = None;
        let mut is_elsewhere = false;
        for call in turn.calls().filter(|call| is_handoff(call.name)) {
            let handoff = read(index, turn, call, results.get(call.id).copied(), from.clone());
            if handoff.outcome == Outcome::Accepted && next.is_none() {
                next = Some(handoff.to.clone());
            }
            is_elsewhere |= handoff.outcome == Outcome::Redirected;
            found.push(handoff);
        }
        holder = if is_elsewhere { None } else { next.or(from) };
    }
    Ok(found)
}

/// The results up to the next message of an assistant; the first of each id counts.
fn results_after<'t, 'a>(turns: &'t [Turn<'a>]) -> BTreeMap<&'a str, &'t RawResult<'a>> {
    let mut results = BTreeMap::new();
    for turn in turns.iter().take_while(|turn| turn.speaker != Speaker::Assistant) {
        for result in turn.results() {
            results.entry(result.call_id).or_insert(result);
        }
    }
    results
}

fn read(
    index: usize,
    turn: &Turn<'_>,
    call: &RawCall<'_>,
    result: Option<&RawResult<'_>>,
    from: Option<String>,
) -> Found {
    let arguments = arguments(call.arguments).unwrap_or_default();
    let said = |name: &str, chars_max: usize| {
        let said = text::line(arguments.get(name)?.as_str()?, chars_max);
        Some(said).filter(|said| !said.is_empty())
    };
    let to = if call.name == name::ANY_AGENT {
        // The second spelling is the one of Google's ADK.
        let target = said("targetAgent", NAME_BYTES_MAX).or(said("agent_name", NAME_BYTES_MAX));
        target.unwrap_or_default()
    } else {
        baked_in(call.name)
    };
    let is_back = turn.is_back || call.name.starts_with(name::BACK);
    Found {
        index,
        call_id: call.id.to_owned(),
        from,
        to,
        reason: said("reason", REASON_CHARS_MAX),
        outcome: match result {
            None => Outcome::Unanswered,
            Some(result) if is_refusal(result) => Outcome::Refused,
            Some(result) if result.text.starts_with(NOT_TRANSFERRED) => Outcome::Redirected,
            Some(_) => Outcome::Accepted,
        },
        direction: if is_back { Direction::Back } else { Direction::Forth },
    }
}

fn is_refusal(result: &RawResult<'_>) -> bool {
    result.is_error || REFUSALS.iter().any(|begin| result.text.starts_with(begin))
}

#[cfg(test)]
mod tests;
