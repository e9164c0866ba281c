//! What happened in a conversation, step by step: words, and changes of hands.

use serde_json::{Map, Value};

use crate::conversation::author::whose;
use crate::conversation::event::{Event, How, Routed, Said, Speaker};
use crate::conversation::part::{Attachment, FilePart, Part, Text, file_path};
use crate::conversation::turn_delivery::TranscriptLine;
use crate::hidden::visible;
use crate::ids::{AgentId, ConversationId};
use crate::tools::answers::{Redirect, waits_in};
use crate::tools::history::{in_words_of, says_back};
use crate::tools::name;
use crate::transfer;
use crate::transfer::event::{Connected, Over, Requested};
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
    let mut steps = Vec::new();
    for line in lines {
        let kind = match &line.event {
            Some(Event::Said(said)) => words(conversation, said),
            Some(Event::Routed(routed)) => Some(StepKind::Handoff(route(routed))),
            Some(Event::Transfer(transfer::Event::Requested(it))) => {
                asked_by = Some(&it.holder);
                Some(StepKind::Handoff(request(it)))
            }
            Some(Event::Transfer(transfer::Event::Connected(it))) => {
                Some(StepKind::Handoff(connected(it)))
            }
            Some(Event::Transfer(transfer::Event::Over(it))) => {
                over(it, asked_by, &line.actor).map(StepKind::Handoff)
            }
            // The other events of a transfer have no line, or are between people.
            Some(
                Event::Transfer(
                    transfer::Event::Noted(_)
                    | transfer::Event::Queued(_)
                    | transfer::Event::Ringing(_)
                    | transfer::Event::Returned(_)
                    | transfer::Event::Consulted(_)
                    | transfer::Event::Held(_)
                    | transfer::Event::Resumed(_)
                    | transfer::Event::LegRequested(_)
                    | transfer::Event::LegEnded(_)
                    | transfer::Event::Rated(_),
                )
                | Event::Opened(_)
                | Event::NotHeard(_)
                | Event::Updated(_)
                | Event::Delivered(_)
                | Event::Unreached(_)
                | Event::Callback(_)
                | Event::Closed(_),
            )
            | None => None,
        };
        steps.extend(kind.map(|kind| Step { number: line.number, kind }));
    }
    steps
}

fn words(conversation: ConversationId, said: &Said) -> Option<StepKind> {
    let numbered = said.parts.iter().enumerate();
    let texts = numbered.map(|(index, part)| match part {
        Part::Text(Text { text }) => visible(text).trim().to_owned(),
        Part::Attachment(Attachment { name, media_type, size_bytes, .. }) => {
            let path = file_path(conversation, said.number, index);
            let n_bytes = size_bytes.unwrap_or_default();
            format!("[file {}, {media_type}, {n_bytes} bytes: {path}]", visible(name))
        }
        Part::File(FilePart { name, media_type, .. }) => {
            let path = file_path(conversation, said.number, index);
            format!("[file {}, {media_type}: {path}]", visible(name))
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

fn route(routed: &Routed) -> Handoff {
    let Routed { holder, to, reason, context, .. } = routed;
    let (tool, result) = match &routed.instead_of {
        Some(meant) => (name::forth(meant), Redirect::Supervisor(to.clone()).text(meant.as_str())),
        None => {
            let why = match routed.how {
                How::AgentHandoff | How::SupervisorRouting => "",
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
    let is_of_agent = whose(by) == "agent";
    let own = if is_of_agent { reason.as_str() } else { "" };
    let (tool, mut result) = match &it.instead_of {
        Some(meant) => (name::forth(meant), Redirect::Queue(queue.clone()).text(meant.as_str())),
        None => (name::PERSON.to_owned(), waits_in(queue)),
    };
    let mut arguments = arguments(&[("reason", own)]);
    if it.instead_of.is_none() {
        arguments.insert("queue".to_owned(), queue.as_str().into());
    }
    if !is_of_agent && !reason.is_empty() {
        let author = if whose(by) == "customer" { "the customer" } else { whose(by) };
        result.push_str(&in_words_of(author, reason));
    }
    handoff(holder, queue, tool, arguments, result)
}

fn connected(it: &Connected) -> Handoff {
    let Connected { holder, agent, .. } = it;
    let result = format!("Successfully transferred to {agent}, a person, who answers now");
    handoff(holder, agent, name::forth(agent), Map::new(), result)
}

/// The end of a transfer, if an agent gets the conversation: its former holder, or the bot to which
/// a person gave it.
fn over(it: &Over, asked_by: Option<&AgentId>, actor: &str) -> Option<Handoff> {
    let Over { holder, to, outcome, reason, summary, .. } = it;
    let how = match outcome {
        Outcome::Completed => "",
        Outcome::Failed => ": no person took it over",
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
    if !reason.is_empty() {
        let author = match whose(actor) {
            "agent" => holder.as_str(),
            "customer" => "the customer",
            other => other,
        };
        result.push_str(&in_words_of(author, reason));
    }
    if !summary.is_empty() {
        result.push_str(&in_words_of(holder.as_str(), summary));
    }
    let tool = if is_back { name::back(to) } else { name::forth(to) };
    Some(Handoff { says, is_back, ..handoff(holder, to, tool, Map::new(), result) })
}

fn handoff(
    from: &AgentId,
    to: &AgentId,
    tool: String,
    arguments: Map<String, Value>,
    result: String,
) -> Handoff {
    let (from, to) = (from.clone(), to.clone());
    Handoff { from, to, tool, arguments, says: None, result, is_back: false }
}

/// The texts that are not empty.
fn arguments(texts: &[(&str, &str)]) -> Map<String, Value> {
    let given = texts.iter().filter(|(_, text)| !text.is_empty());
    given.map(|(name, text)| ((*name).to_owned(), visible(text).into_owned().into())).collect()
}
