//! What the agent does, one event each, and how that becomes the payload of the event.

use protocol::aaep::event::{Risk, ToolStatus, Urgency};
use protocol::canonical;
use serde_json::{Map, Value, json};

use super::words::{LANGUAGES, Words};
use super::{NotTaken, Reply, WaitKind};

#[derive(Debug, Clone)]
pub enum Step {
    Started {
        summary: Summary,
        tools: &'static [&'static str],
    },
    State {
        from: &'static str,
        to: &'static str,
        summary: Summary,
    },
    Progress {
        percent: u8,
        step: u8,
        n_steps: u8,
        summary: Summary,
    },
    Invoke {
        call: Call,
        summary: Summary,
    },
    Invoked {
        call: Call,
        status: ToolStatus,
        error: Option<&'static str>,
        summary: Summary,
    },
    /// `position` is in characters.
    Write {
        text: &'static str,
        position: usize,
        complete: bool,
    },
    Ask(Box<Asked>),
    HandOff {
        summary: Summary,
        context: Value,
    },
    Completed {
        summary: Summary,
    },
    Errored {
        summary: Summary,
        code: &'static str,
        hint: &'static str,
    },
    Cancelled {
        summary: Summary,
        reason: &'static str,
    },
}

/// A question, and how it goes on after each answer.
#[derive(Debug, Clone)]
pub enum Asked {
    Confirmation {
        call: Call,
        action: &'static str,
        consequence: &'static str,
        summary: Summary,
        timeout_seconds: u32,
        accepted: Vec<Step>,
        rejected: Vec<Step>,
        timed_out: Vec<Step>,
    },
    Clarification {
        question: &'static str,
        context: &'static str,
        summary: Summary,
        timeout_seconds: u32,
        /// Value, label, and what follows.
        choices: Vec<(&'static str, &'static str, Vec<Step>)>,
        timed_out: Vec<Step>,
    },
}

/// A text for those who listen: in all languages, and in English also shorter and longer.
#[derive(Debug, Clone, Copy)]
pub struct Summary {
    pub normal: &'static Words,
    pub terse: Option<&'static str>,
    pub detailed: Option<&'static str>,
}

/// A call of a tool. Nothing is called.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub which: Which,
    pub tool: &'static str,
    pub description: &'static str,
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
pub struct Names {
    pub first_call: String,
    pub second_call: String,
    pub output: String,
}

impl Asked {
    pub fn kind(&self) -> WaitKind {
        match self {
            Asked::Confirmation { .. } => WaitKind::Confirmation,
            Asked::Clarification { .. } => WaitKind::Clarification,
        }
    }

    pub fn timeout(&self) -> u32 {
        match self {
            Asked::Confirmation { timeout_seconds, .. }
            | Asked::Clarification { timeout_seconds, .. } => *timeout_seconds,
        }
    }

    pub fn after(&self, reply: Reply<'_>) -> Result<Vec<Step>, NotTaken> {
        match (self, reply) {
            (Asked::Confirmation { accepted, .. }, Reply::Accept) => Ok(accepted.clone()),
            (Asked::Confirmation { rejected, .. }, Reply::Reject) => Ok(rejected.clone()),
            (
                Asked::Confirmation { timed_out, .. } | Asked::Clarification { timed_out, .. },
                Reply::TimedOut,
            ) => Ok(timed_out.clone()),
            (Asked::Confirmation { .. }, Reply::Answer(_)) => Err(NotTaken::NotADecision),
            (Asked::Clarification { choices, .. }, Reply::Answer(answer)) => {
                let chosen = choices.iter().find(|(value, _, _)| *value == answer);
                chosen.map(|(_, _, steps)| steps.clone()).ok_or(NotTaken::NotAChoice)
            }
            (Asked::Clarification { .. }, Reply::Accept | Reply::Reject) => {
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

    /// At which pace people can follow.
    pub fn pause_ms(&self) -> u64 {
        match self {
            Step::Started { .. } => 0,
            Step::State { .. } | Step::Completed { .. } | Step::Cancelled { .. } => 100,
            Step::Write { .. } | Step::Progress { .. } => 400,
            Step::Invoke { .. } | Step::Ask(_) | Step::HandOff { .. } => 200,
            Step::Invoked { .. } | Step::Errored { .. } => 600,
        }
    }

    pub fn hints(&self) -> Value {
        let languages: Vec<&str> = match self.summary() {
            Some(_) => LANGUAGES.to_vec(),
            None => vec!["en"],
        };
        json!({
            "primary_language": "en",
            "text_direction": "ltr",
            "available_languages": languages,
        })
    }

    /// What binds a confirmation to the very call.
    pub fn link(&self, names: &Names) -> Map<String, Value> {
        let mut link = Map::new();
        let call = match self {
            Step::Ask(asked) => match &**asked {
                Asked::Confirmation { call, .. } => Some(call),
                Asked::Clarification { .. } => None,
            },
            Step::Invoke { call, .. } => Some(call).filter(|call| call.irreversible),
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
        link
    }

    fn summary(&self) -> Option<&Summary> {
        match self {
            Step::Started { summary, .. }
            | Step::State { summary, .. }
            | Step::Progress { summary, .. }
            | Step::Invoke { summary, .. }
            | Step::Invoked { summary, .. }
            | Step::HandOff { summary, .. }
            | Step::Completed { summary }
            | Step::Errored { summary, .. }
            | Step::Cancelled { summary, .. } => Some(summary),
            Step::Ask(asked) => match &**asked {
                Asked::Confirmation { summary, .. } | Asked::Clarification { summary, .. } => {
                    Some(summary)
                }
            },
            Step::Write { .. } => None,
        }
    }

    /// All that its type has besides the envelope, but for the reply token.
    pub fn put_into(&self, event: &mut Map<String, Value>, names: &Names) {
        let payload = match self {
            Step::Started { tools, .. } => json!({ "tools_available": tools }),
            Step::State { from, to, .. } => json!({ "from_state": from, "to_state": to }),
            Step::Progress { percent, step, n_steps, summary } => json!({
                "progress": {
                    "percent": percent,
                    "step": step,
                    "total_steps": n_steps,
                    "description": summary.normal.en,
                },
            }),
            Step::Invoke { call, .. } => json!({
                "tool": call.tool,
                "tool_call_id": call.id(names),
                "description": call.description,
                "args_summary": call.args_summary,
                "risk_level": call.risk.as_str(),
                "irreversible": call.irreversible,
            }),
            Step::Invoked { call, status, error, .. } => {
                let mut payload = json!({
                    "tool": call.tool,
                    "tool_call_id": call.id(names),
                    "status": status.as_str(),
                });
                if let Some(error) = error {
                    payload["error_message"] = (*error).into();
                }
                payload
            }
            Step::Write { text, position, complete } => json!({
                "chunk": text,
                "position": position,
                "complete": complete,
                "coalesce_hint": "sentence",
                "output_id": names.output,
                "content_type": "text/plain",
                "language": "en",
            }),
            Step::Ask(asked) => question(asked),
            Step::HandOff { context, summary } => json!({
                "reason": summary.normal.en,
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
                "remediation_hint": hint,
            }),
            Step::Cancelled { reason, .. } => {
                json!({ "cancelled_by": "timeout", "cancellation_reason": reason })
            }
        };
        let Value::Object(payload) = payload else { unreachable!("each payload is an object") };
        event.extend(payload);
        if let Some(summary) = self.summary() {
            summary.put_into(event);
        }
    }
}

fn question(asked: &Asked) -> Value {
    match asked {
        Asked::Confirmation { call, action, consequence, timeout_seconds, .. } => json!({
            "action": action,
            "consequence": consequence,
            "timeout_seconds": timeout_seconds,
            "default_decision": "reject",
            "risk_level": call.risk.as_str(),
            "irreversible": call.irreversible,
            "reversibility": if call.irreversible { "irreversible" } else { "reversible" },
            "allowed_replies": ["accept", "reject"],
        }),
        Asked::Clarification { question, context, timeout_seconds, choices, .. } => {
            let choices =
                choices.iter().map(|(value, label, _)| json!({ "value": value, "label": label }));
            json!({
                "question": question,
                "context": context,
                "timeout_seconds": timeout_seconds,
                "accepted_response_kinds": ["multiple_choice"],
                "choices": choices.collect::<Vec<Value>>(),
            })
        }
    }
}

impl Summary {
    fn put_into(&self, event: &mut Map<String, Value>) {
        for (language, text) in self.normal.all() {
            let key = match language {
                "en" => "summary_normal".to_owned(),
                other => format!("summary_normal_{other}"),
            };
            event.insert(key, text.into());
        }
        for (key, text) in [("summary_terse", self.terse), ("summary_detailed", self.detailed)] {
            if let Some(text) = text {
                event.insert(key.to_owned(), text.into());
            }
        }
    }
}

impl Call {
    fn id<'n>(&self, names: &'n Names) -> &'n str {
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
