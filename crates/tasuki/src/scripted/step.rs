//! The steps of the agent, one event each, and how a step becomes the payload of the event.

use aaep::event::{Risk, ToolStatus, Urgency};
use protocol::canonical;
use serde_json::{Map, Value, json};

use super::words::{Extent, SaidText, Words, languages};
use super::{NotTaken, Reply, WaitKind};

#[derive(Debug, Clone)]
pub enum Step {
    Started {
        summary: SaidText,
        tools: Vec<&'static str>,
    },
    State {
        from: &'static str,
        to: &'static str,
        summary: SaidText,
    },
    Progress {
        percent: u8,
        step: u8,
        n_steps: u8,
        summary: SaidText,
    },
    Invoke {
        call: ScriptedCall,
    },
    Invoked {
        call: ScriptedCall,
        status: ToolStatus,
        summary: SaidText,
    },
    /// `position` is in characters.
    Write {
        text: String,
        position: usize,
        complete: bool,
        /// All sentences up to this one, for listeners in another language, joined or not.
        so_far: Vec<Sentence>,
    },
    Ask(Box<ScriptedQuestion>),
    HandOff {
        summary: SaidText,
        context: Value,
    },
    Completed {
        summary: SaidText,
    },
    Errored {
        summary: SaidText,
        code: &'static str,
        hint: Words,
    },
    Cancelled {
        summary: SaidText,
        reason: &'static str,
    },
}

/// A sentence of an output, and where it begins in the language of the session.
#[derive(Debug, Clone, Copy)]
pub struct Sentence {
    pub position: usize,
    pub said: SaidText,
}

/// A question, and the steps after each answer.
#[derive(Debug, Clone)]
pub enum ScriptedQuestion {
    Confirmation {
        call: ScriptedCall,
        action: Words,
        consequence: Words,
        summary: Words,
        timeout_seconds: u32,
        accepted: Vec<Step>,
        rejected: Vec<Step>,
        timed_out: Vec<Step>,
    },
    Clarification {
        context: Words,
        /// The question itself.
        summary: Words,
        timeout_seconds: u32,
        choices: Vec<Choice>,
        timed_out: Vec<Step>,
    },
}

/// One answer that may be chosen, and what follows.
#[derive(Debug, Clone)]
pub struct Choice {
    pub value: &'static str,
    pub label: Words,
    pub steps: Vec<Step>,
}

/// A tool call. Nothing is actually called.
#[derive(Debug, Clone, Copy)]
pub struct ScriptedCall {
    pub which: Which,
    pub tool: &'static str,
    /// The texts while it is called, and once it has returned.
    pub doing: Words,
    pub done: Words,
    /// JSON text of an object.
    pub arguments: &'static str,
    pub args_summary: &'static str,
    pub risk: Risk,
    pub irreversible: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum Which {
    First,
    Second,
}

/// The ids of one session.
#[derive(Debug, Clone)]
pub struct ScriptNames {
    pub first_call: String,
    pub second_call: String,
    pub output: String,
}

impl ScriptedQuestion {
    pub fn kind(&self) -> WaitKind {
        match self {
            ScriptedQuestion::Confirmation { .. } => WaitKind::Confirmation,
            ScriptedQuestion::Clarification { .. } => WaitKind::Clarification,
        }
    }

    pub fn timeout(&self) -> u32 {
        match self {
            ScriptedQuestion::Confirmation { timeout_seconds, .. }
            | ScriptedQuestion::Clarification { timeout_seconds, .. } => *timeout_seconds,
        }
    }

    pub fn after(&self, reply: Reply<'_>) -> Result<Vec<Step>, NotTaken> {
        match (self, reply) {
            (ScriptedQuestion::Confirmation { accepted, .. }, Reply::Accept) => {
                Ok(accepted.clone())
            }
            (ScriptedQuestion::Confirmation { rejected, .. }, Reply::Reject) => {
                Ok(rejected.clone())
            }
            (
                ScriptedQuestion::Confirmation { timed_out, .. }
                | ScriptedQuestion::Clarification { timed_out, .. },
                Reply::TimedOut,
            ) => Ok(timed_out.clone()),
            (ScriptedQuestion::Confirmation { .. }, Reply::Answer(_)) => {
                Err(NotTaken::NotADecision)
            }
            (ScriptedQuestion::Clarification { choices, .. }, Reply::Answer(answer)) => {
                let chosen = choices.iter().find(|choice| choice.value == answer);
                chosen.map(|choice| choice.steps.clone()).ok_or(NotTaken::NotAChoice)
            }
            (ScriptedQuestion::Clarification { .. }, Reply::Accept | Reply::Reject) => {
                Err(NotTaken::NotAChoice)
            }
        }
    }
}

impl Step {
    pub fn name(&self) -> &'static str {
        match self {
            Step::Started { .. } => "aaep:agent.session.started",
            Step::State { .. } => "aaep:agent.state.changed",
            Step::Progress { .. } => "aaep:agent.progress.updated",
            Step::Invoke { .. } => "aaep:agent.tool.invoked",
            Step::Invoked { .. } => "aaep:agent.tool.completed",
            Step::Write { .. } => "aaep:agent.output.streaming",
            Step::Ask(asked) => match asked.kind() {
                WaitKind::Confirmation => "aaep:agent.awaiting.confirmation",
                WaitKind::Clarification => "aaep:agent.awaiting.clarification",
            },
            Step::HandOff { .. } => "aaep:agent.handoff.requested",
            Step::Completed { .. } => "aaep:agent.session.completed",
            Step::Errored { .. } => "aaep:agent.session.errored",
            Step::Cancelled { .. } => "aaep:agent.session.cancelled",
        }
    }

    pub fn urgency(&self) -> Urgency {
        match self {
            Step::Ask(_) | Step::HandOff { .. } | Step::Errored { .. } => Urgency::Critical,
            Step::Progress { .. } => Urgency::Background,
            Step::Started { .. }
            | Step::State { .. }
            | Step::Invoke { .. }
            | Step::Invoked { .. }
            | Step::Write { .. }
            | Step::Completed { .. }
            | Step::Cancelled { .. } => Urgency::Normal,
        }
    }

    /// The pause that lets people follow.
    pub fn pause_ms(&self) -> u64 {
        match self {
            Step::Started { .. } => 0,
            Step::State { .. } | Step::Completed { .. } | Step::Cancelled { .. } => 100,
            Step::Write { .. } | Step::Progress { .. } => 400,
            Step::Invoke { .. } | Step::Ask(_) | Step::HandOff { .. } => 200,
            Step::Invoked { .. } | Step::Errored { .. } => 600,
        }
    }

    pub fn hints(&self, language: &str) -> Value {
        let languages: Vec<&str> = match self.summary() {
            Some(_) => languages().collect(),
            None => vec![language],
        };
        json!({
            "primary_language": language,
            "text_direction": "ltr",
            "available_languages": languages,
        })
    }

    /// The fields that bind a confirmation to its exact call, and the texts in other languages that
    /// the event itself has no place for.
    pub fn link(&self, names: &ScriptNames, language: &str) -> Map<String, Value> {
        let mut link = Map::new();
        let call = match self {
            Step::Ask(asked) => match &**asked {
                ScriptedQuestion::Confirmation { call, .. } => Some(call),
                ScriptedQuestion::Clarification { .. } => None,
            },
            Step::Invoke { call } => Some(call),
            Step::Started { .. }
            | Step::State { .. }
            | Step::Progress { .. }
            | Step::Invoked { .. }
            | Step::Write { .. }
            | Step::HandOff { .. }
            | Step::Completed { .. }
            | Step::Errored { .. }
            | Step::Cancelled { .. } => None,
        };
        if let Some(call) = call {
            link.insert("tool_call_id".to_owned(), call.id(names).into());
            link.insert("action_hash".to_owned(), call.action_hash().into());
        }
        let others = languages().filter(|other| *other != language);
        let translations: Map<String, Value> =
            others.filter_map(|other| Some((other.to_owned(), self.translated(other)?))).collect();
        if !translations.is_empty() {
            link.insert("translations".to_owned(), translations.into());
        }
        link
    }

    /// The texts in a language that are no summaries, if there are any.
    fn translated(&self, language: &str) -> Option<Value> {
        match self {
            Step::Ask(asked) => Some(asked.texts(language)),
            Step::Errored { hint, .. } => {
                Some(json!({ "remediation_hint": hint.in_language(language) }))
            }
            Step::Write { so_far, .. } => {
                let sentences = so_far.iter().map(|one| {
                    json!({ "position": one.position, "text": one.said.in_language(language) })
                });
                Some(json!({ "sentences": sentences.collect::<Vec<_>>() }))
            }
            Step::Started { .. }
            | Step::State { .. }
            | Step::Progress { .. }
            | Step::Invoke { .. }
            | Step::Invoked { .. }
            | Step::HandOff { .. }
            | Step::Completed { .. }
            | Step::Cancelled { .. } => None,
        }
    }

    /// How much of its summary it carries.
    fn extent(&self) -> Extent {
        match self.urgency() {
            Urgency::Critical => Extent::Critical,
            Urgency::Background | Urgency::Normal => Extent::Whole,
        }
    }

    fn summary(&self) -> Option<SaidText> {
        match self {
            Step::Started { summary, .. }
            | Step::State { summary, .. }
            | Step::Progress { summary, .. }
            | Step::Invoked { summary, .. }
            | Step::HandOff { summary, .. }
            | Step::Completed { summary }
            | Step::Errored { summary, .. }
            | Step::Cancelled { summary, .. } => Some(*summary),
            Step::Invoke { call } => Some(call.doing.into()),
            Step::Ask(asked) => match &**asked {
                ScriptedQuestion::Confirmation { summary, .. }
                | ScriptedQuestion::Clarification { summary, .. } => Some((*summary).into()),
            },
            Step::Write { .. } => None,
        }
    }

    /// All fields of its type besides the envelope, except the reply token.
    pub fn put_into(&self, event: &mut Map<String, Value>, names: &ScriptNames, language: &str) {
        let payload = match self {
            Step::Started { tools, .. } => json!({ "tools_available": tools }),
            Step::State { from, to, .. } => json!({ "from_state": from, "to_state": to }),
            Step::Progress { percent, step, n_steps, summary } => json!({
                "progress": {
                    "percent": percent,
                    "step": step,
                    "total_steps": n_steps,
                    "description": summary.in_language(language),
                },
            }),
            Step::Invoke { call } => json!({
                "tool": call.tool,
                "tool_call_id": call.id(names),
                "description": call.doing.in_language(language),
                "args_summary": call.args_summary,
                "risk_level": call.risk.as_str(),
                "irreversible": call.irreversible,
            }),
            Step::Invoked { call, status, summary } => {
                let mut payload = json!({
                    "tool": call.tool,
                    "tool_call_id": call.id(names),
                    "status": status.as_str(),
                });
                if *status != ToolStatus::Success {
                    payload["error_message"] = summary.in_language(language).into();
                }
                payload
            }
            Step::Write { text, position, complete, .. } => json!({
                "chunk": text,
                "position": position,
                "complete": complete,
                "coalesce_hint": "sentence",
                "output_id": names.output,
                "content_type": "text/plain",
                "language": language,
            }),
            Step::Ask(asked) => question(asked, language),
            Step::HandOff { context, summary } => json!({
                "reason": summary.in_language(language),
                "target_kind": "human",
                "target_uri": "queue://support",
                "urgency_for_handoff": "medium",
                "packaged_context": context,
            }),
            Step::Completed { .. } => json!({}),
            Step::Errored { code, hint, .. } => json!({
                "error_category": "transient",
                "error_code": code,
                "recoverable": true,
                "remediation_hint": hint.in_language(language),
            }),
            Step::Cancelled { reason, .. } => {
                json!({ "cancelled_by": "timeout", "cancellation_reason": reason })
            }
        };
        let Value::Object(payload) = payload else { unreachable!("each payload is an object") };
        event.extend(payload);
        if let Some(summary) = self.summary() {
            summary.put_into(event, language, self.extent());
        }
    }
}

fn question(asked: &ScriptedQuestion, language: &str) -> Value {
    let mut payload = match asked {
        ScriptedQuestion::Confirmation { call, timeout_seconds, .. } => json!({
            "timeout_seconds": timeout_seconds,
            "default_decision": "reject",
            "risk_level": call.risk.as_str(),
            "irreversible": call.irreversible,
            "reversibility": if call.irreversible { "irreversible" } else { "reversible" },
            "allowed_replies": ["accept", "reject"],
        }),
        ScriptedQuestion::Clarification { timeout_seconds, .. } => json!({
            "timeout_seconds": timeout_seconds,
            "accepted_response_kinds": ["multiple_choice"],
        }),
    };
    for (name, text) in asked.texts(language).as_object().into_iter().flatten() {
        payload[name] = match (name.as_str(), asked) {
            ("choices", ScriptedQuestion::Clarification { choices, .. }) => {
                let label = |it: &Choice| json!({ "value": it.value, "label": text[it.value] });
                choices.iter().map(label).collect()
            }
            _ => text.clone(),
        };
    }
    payload
}

impl ScriptedQuestion {
    /// Its texts in one language, by the names of the fields; labels by their values.
    fn texts(&self, language: &str) -> Value {
        match self {
            ScriptedQuestion::Confirmation { action, consequence, .. } => json!({
                "action": action.in_language(language),
                "consequence": consequence.in_language(language),
            }),
            ScriptedQuestion::Clarification { summary, context, choices, .. } => {
                let label = |it: &Choice| {
                    (it.value.to_owned(), Value::from(it.label.in_language(language)))
                };
                let labels: Map<String, Value> = choices.iter().map(label).collect();
                json!({
                    "question": summary.in_language(language),
                    "context": context.in_language(language),
                    "choices": labels,
                })
            }
        }
    }
}

impl ScriptedCall {
    fn id<'n>(&self, names: &'n ScriptNames) -> &'n str {
        match self.which {
            Which::First => &names.first_call,
            Which::Second => &names.second_call,
        }
    }

    /// SHA-256 of the canonical form of the tool and its arguments: another amount is another
    /// action.
    fn action_hash(&self) -> String {
        let arguments: Value =
            serde_json::from_str(self.arguments).expect("a script has arguments that are JSON");
        let action = canonical::canonical(&json!({ "arguments": arguments, "tool": self.tool }));
        canonical::hex(&canonical::sha256(&[action.as_bytes()]))
    }
}
