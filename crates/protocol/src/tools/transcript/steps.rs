//! What happened in a conversation, step by step: words, and changes of hands.

use serde_json::{Map, Value};

use crate::conversation::event::{Event, How, Line, Routed, Said, Speaker};
use crate::conversation::part::{Attachment, FilePart, Part, Text, file_path};
use crate::conversation::transcript_line::TranscriptLine;
use crate::hidden::{shows_nothing, visible};
use crate::ids::{AgentId, ConversationId};
use crate::tools::answers::{Redirect, waits_in};
use crate::tools::history::{in_words_of, says_back};
use crate::tools::name;
use crate::transfer;
use crate::transfer::event::{Connected, Over, PassedOn, Requested};
use crate::transfer::state::Outcome;

/// One line of the transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub number: u64,
    pub kind: StepKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum StepKind {
    Customer(String),
    Agent { by: AgentId, said: String },
    Handoff(Handoff),
}

/// A call of a handoff tool, and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Handoff {
    pub from: AgentId,
    /// Who has the conversation since then.
    pub to: AgentId,
    pub tool: String,
    pub arguments: Map<String, Value>,
    /// What the assistant says with the call.
    pub says: Option<String>,
    pub result: String,
    pub is_back: bool,
    /// Whether it has a line of its own; otherwise it was seen by the line after it.
    pub has_line: bool,
}

impl Step {
    pub fn n_bytes(&self) -> usize {
        match &self.kind {
            StepKind::Customer(said) | StepKind::Agent { said, .. } => said.len(),
            StepKind::Handoff(it) => {
                let texts = it.arguments.values().filter_map(Value::as_str);
                it.result.len() + texts.map(str::len).sum::<usize>()
            }
        }
    }
}

/// The steps of some lines. Texts have their hidden characters written out: a model reads them.
pub fn steps(conversation: ConversationId, lines: &[TranscriptLine]) -> Vec<Step> {
    let mut asked_by: Option<&AgentId> = None;
    let mut holder: Option<&AgentId> = None;
    let mut steps = Vec::new();
    for line in lines {
        let [before, ..] = line.event.as_ref().map(Event::parties).unwrap_or_default();
        // Some changes of hands have no line: a person who is gone, or a queue that overflows.
        if let (Some(from), Some(to)) = (holder, before)
            && from != to
        {
            let result = format!("Successfully transferred to {to}");
            let moved = handoff(from, to, name::forth(to), Map::new(), result);
            let moved = Handoff { has_line: false, ..moved };
            steps.push(Step { number: line.number, kind: StepKind::Handoff(moved) });
        }
        let content = line.content();
        holder = content.and_then(next_holder).or(before).or(holder);
        let kind = match content {
            Some(Line::Said(said)) => words(conversation, said),
            Some(Line::Routed(routed)) => Some(StepKind::Handoff(route(routed))),
            Some(Line::Transfer(transfer::event::Line::Requested(it))) => {
                asked_by = Some(&it.holder);
                Some(StepKind::Handoff(request(it)))
            }
            Some(Line::Transfer(transfer::event::Line::PassedOn(it))) => {
                Some(StepKind::Handoff(passed_on(it)))
            }
            Some(Line::Transfer(transfer::event::Line::Connected(it))) => {
                Some(StepKind::Handoff(connected(it)))
            }
            Some(Line::Transfer(transfer::event::Line::Over(it))) => {
                over(it, asked_by, &line.actor).map(StepKind::Handoff)
            }
            // Notes are between people.
            Some(Line::Transfer(transfer::event::Line::Noted(_)) | Line::HolderSilent(_))
            | None => None,
        };
        steps.extend(kind.map(|kind| Step { number: line.number, kind }));
    }
    steps
}

/// Who has the conversation after a line that changes it.
fn next_holder(content: Line<'_>) -> Option<&AgentId> {
    match content {
        Line::Routed(it) => Some(&it.to),
        Line::Transfer(transfer::event::Line::Requested(it)) => Some(&it.queue),
        Line::Transfer(transfer::event::Line::PassedOn(it)) => Some(&it.queue),
        Line::Transfer(transfer::event::Line::Connected(it)) => Some(&it.agent),
        Line::Transfer(transfer::event::Line::Over(it)) => Some(&it.to),
        Line::Transfer(transfer::event::Line::Noted(_)) | Line::Said(_) | Line::HolderSilent(_) => {
            None
        }
    }
}

fn words(conversation: ConversationId, said: &Said) -> Option<StepKind> {
    let numbered = said.parts.iter().enumerate();
    let texts = numbered.map(|(index, part)| match part {
        Part::Text(Text { text }) => {
            let text = visible(text).trim().to_owned();
            if said.by == Speaker::Customer { without_our_lines(&text) } else { text }
        }
        Part::Attachment(Attachment { name, media_type, size_bytes, .. }) => {
            let path = file_path(conversation, said.number, index);
            let n_bytes = size_bytes.unwrap_or_default();
            format!("[file {}, {media_type}, {n_bytes} bytes: {path}]", in_our_line(name))
        }
        Part::File(FilePart { name, media_type, .. }) => {
            let path = file_path(conversation, said.number, index);
            format!("[file {}, {media_type}: {path}]", in_our_line(name))
        }
    });
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        return None;
    }
    let text = texts.join("\n\n");
    Some(match &said.by {
        Speaker::Customer => StepKind::Customer(text),
        Speaker::Agent(agent) => StepKind::Agent { by: agent.clone(), said: text },
    })
}

/// Lines in square brackets are the server's. A customer's line that begins like one gets a
/// backslash, also if it begins with backslashes already, or with what shows nothing.
fn without_our_lines(text: &str) -> String {
    let is_skipped = |character: char| {
        character.is_whitespace() || character == '\\' || shows_nothing(character)
    };
    let begins = |line: &str| line.trim_start_matches(is_skipped).starts_with('[');
    let lines = text.split(['\n', '\r', '\u{85}', '\u{b}', '\u{c}']);
    if !lines.into_iter().any(begins) {
        return text.to_owned();
    }
    let lines = text.split_inclusive(['\n', '\r', '\u{85}', '\u{b}', '\u{c}']);
    lines.map(|line| if begins(line) { format!("\\{line}") } else { line.to_owned() }).collect()
}

/// A name within a line of the server. Its brackets get backslashes, so that it cannot end the line
/// or begin another one.
fn in_our_line(name: &str) -> String {
    let mut escaped = String::new();
    for character in name.chars() {
        if matches!(character, '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    visible(&escaped).into_owned()
}

fn route(routed: &Routed) -> Handoff {
    let Routed { holder, to, reason, context, .. } = routed;
    let (tool, result) = match &routed.instead_of {
        Some(meant) => (name::forth(meant), Redirect::Supervisor(to.clone()).text(meant.as_str())),
        None => {
            let why = match routed.how {
                How::AgentHandoff | How::SupervisorRouting => "",
                How::NoAnswer => ": the agent before did not answer the customer in time",
                How::UserSelection => ": the customer chose this agent",
                How::Graph => ": a rule chose this agent for the message of the customer",
            };
            (name::forth(to), format!("Successfully transferred to {to}{why}"))
        }
    };
    let arguments = arguments(&[("reason", reason), ("context", context)]);
    handoff(holder, to, tool, arguments, result)
}

fn request(it: &Requested) -> Handoff {
    let Requested { holder, queue, reason, by, .. } = it;
    // A coordinator may ask too, and its words are not the holder's.
    let is_of_holder = by.strip_prefix("agent:") == Some(holder.as_str());
    let own = if is_of_holder { reason.as_str() } else { "" };
    let (tool, mut result) = match &it.instead_of {
        Some(meant) => (name::forth(meant), Redirect::Queue(queue.clone()).text(meant.as_str())),
        None => (name::PERSON.to_owned(), waits_in(queue)),
    };
    let summary = it.bundle.as_ref().and_then(|bundle| bundle.transcript_summary.as_deref());
    let context = summary.filter(|_| is_of_holder).unwrap_or_default();
    let mut arguments = arguments(&[("reason", own), ("context", context)]);
    if it.instead_of.is_none() {
        arguments.insert("queue".to_owned(), queue.as_str().into());
    }
    let quoted = [reason.as_str(), summary.unwrap_or_default()];
    for text in quoted.into_iter().filter(|text| !is_of_holder && !text.is_empty()) {
        result.push_str(&in_words_of(author_of(by), text));
    }
    handoff(holder, queue, tool, arguments, result)
}

/// A person who passes it on to a queue asks for a person like a model.
fn passed_on(it: &PassedOn) -> Handoff {
    let PassedOn { holder, queue, reason, .. } = it;
    let mut arguments = arguments(&[("reason", reason)]);
    arguments.insert("queue".to_owned(), queue.as_str().into());
    handoff(holder, queue, name::PERSON.to_owned(), arguments, waits_in(queue))
}

fn connected(it: &Connected) -> Handoff {
    let Connected { holder, agent, reason, .. } = it;
    let result = format!("Successfully transferred to {agent}, a person, who answers now");
    handoff(holder, agent, name::forth(agent), arguments(&[("reason", reason)]), result)
}

/// The end of a transfer, if an agent gets the conversation: its former holder, or the bot to which
/// a person gave it.
fn over(it: &Over, asked_by: Option<&AgentId>, actor: &str) -> Option<Handoff> {
    let Over { holder, to, outcome, reason, summary, disposition, is_for_callback, .. } = it;
    let how = match outcome {
        Outcome::Completed => "",
        Outcome::Failed => ": no person took it over",
        Outcome::Cancelled if *is_for_callback => ": a person will call the customer back instead",
        Outcome::Cancelled => ": a person is not needed any more",
        Outcome::Ended => return None,
    };
    if to == holder {
        return None;
    }
    let is_back = asked_by.is_none_or(|agent| agent == to);
    let (says, done) = match is_back {
        true => {
            let (says, done) = says_back(to);
            (Some(says), done)
        }
        false => (None, format!("Successfully transferred to {to}")),
    };
    let mut result = format!("{done}{how}");
    if let Some(disposition) = disposition {
        result.push_str(&format!("\n\nDisposition: {disposition}"));
    }
    // Who hands over says why in the call. What others say is quoted in its result.
    let is_of_holder = actor.strip_prefix("agent:") == Some(holder.as_str());
    if is_of_holder && !is_back {
        let given = arguments(&[("reason", reason), ("context", summary)]);
        return Some(handoff(holder, to, name::forth(to), given, result));
    }
    for text in [reason, summary] {
        if !text.is_empty() {
            result.push_str(&in_words_of(author_of(actor), text));
        }
    }
    let tool = if is_back { name::back(to) } else { name::forth(to) };
    Some(Handoff { says, is_back, ..handoff(holder, to, tool, Map::new(), result) })
}

/// The author of a text, as a model is told.
fn author_of(by: &str) -> &str {
    match by.split_once(':') {
        Some(("agent", agent)) => agent,
        Some(("customer", _)) => "the customer",
        Some((kind, _)) => kind,
        None => by,
    }
}

fn handoff(
    from: &AgentId,
    to: &AgentId,
    tool: String,
    arguments: Map<String, Value>,
    result: String,
) -> Handoff {
    let (from, to) = (from.clone(), to.clone());
    Handoff { from, to, tool, arguments, says: None, result, is_back: false, has_line: true }
}

/// The texts that are not empty.
fn arguments(texts: &[(&str, &str)]) -> Map<String, Value> {
    let given = texts.iter().filter(|(_, text)| !text.is_empty());
    given.map(|(name, text)| ((*name).to_owned(), visible(text).into_owned().into())).collect()
}
