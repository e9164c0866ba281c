//! Finds the handoffs in a history: from which agent to which, and the result.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::answers::NOT_TRANSFERRED;
use super::calls::{arguments, baked_in, is_handoff};
use super::turn::{RawCall, RawResult, Speaker, Turn};
use super::{Form, MESSAGES_MAX, Malformed, name, text};
use crate::ids::NAME_BYTES_MAX;

/// One handoff, as the history tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DetectedHandoff")]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DetectedOutcome")]
pub enum Outcome {
    Accepted,
    Refused,
    /// The conversation was handed over, but not to the agent that the call names.
    Redirected,
    /// No result follows the call.
    Unanswered,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DetectedDirection")]
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
    let anywhere = results_anywhere(form, &turns);
    let mut begin = 0;
    while begin < turns.len() {
        let end = begin + length_of_turn(form, &turns[begin..]);
        let (messages, after) = (begin..end, &turns[end..]);
        let name = turns[begin].name;
        begin = end;
        let handoffs: Vec<_> = messages
            .flat_map(|index| turns[index].calls().map(move |call| (index, call)))
            .filter(|(_, call)| is_handoff(call.name))
            .collect();
        if handoffs.is_empty() {
            continue;
        }
        let near = if anywhere.is_none() { results_after(after) } else { BTreeMap::new() };
        let results = anywhere.as_ref().unwrap_or(&near);
        let from = name.map(|name| text::line(name, NAME_BYTES_MAX)).or(holder.clone());
        let mut next = None;
        let mut is_elsewhere = false;
        for (index, call) in handoffs {
            let turn = &turns[index];
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

/// How many messages are one turn. The Responses API has an item for each call.
fn length_of_turn(form: Form, turns: &[Turn<'_>]) -> usize {
    match form {
        Form::OpenAi | Form::Anthropic | Form::LangChain => 1,
        Form::Responses => {
            let own = turns.iter().take_while(|turn| turn.speaker == Speaker::Assistant);
            own.count().max(1)
        }
    }
}

/// The results, by the ids of their calls.
type Results<'t, 'a> = BTreeMap<&'a str, &'t RawResult<'a>>;

/// The results up to the next message of an assistant.
fn results_after<'t, 'a>(turns: &'t [Turn<'a>]) -> Results<'t, 'a> {
    results(turns.iter().take_while(|turn| turn.speaker != Speaker::Assistant))
}

/// In the Responses API a call has an id of its own, and its result may come anywhere after it.
fn results_anywhere<'t, 'a>(form: Form, turns: &'t [Turn<'a>]) -> Option<Results<'t, 'a>> {
    match form {
        Form::OpenAi | Form::Anthropic | Form::LangChain => None,
        Form::Responses => Some(results(turns.iter())),
    }
}

/// The first result of each id counts.
fn results<'t, 'a: 't>(turns: impl Iterator<Item = &'t Turn<'a>>) -> Results<'t, 'a> {
    let mut results = BTreeMap::new();
    for result in turns.flat_map(Turn::results) {
        results.entry(result.call_id).or_insert(result);
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
