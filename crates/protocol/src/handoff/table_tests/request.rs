//! Parses the commands of the tables: a valid request, with the changes of the line.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::script::{World, handoff_id, offer, start};
use crate::handoff::artifact::{Finding, Seen};
use crate::handoff::command::{Accept, Command, Looked, Reassign, Reject};
use crate::handoff::completion::Completion;
use crate::handoff::recall::RECALL;
use crate::handoff::sla::SlaStage;
use crate::handoff::{Handoff, derive};
use crate::ids::HandoffId;
use crate::time::{Span, Time};

impl World {
    pub(super) fn read_command(&self, action: &str, name: &str, request: &[&str]) -> Command {
        match (action, request) {
            ("initiate", ["saved"]) => return Command::Initiate { offer: None },
            ("verified", _) => return self.read_verified(name, request),
            ("workq_answered", _) => return self.read_answered(name, request),
            (_, _) => {}
        }
        let mut value = usual_request(action, self.now);
        apply(&mut value, request, self.now);
        let other = value.as_object_mut().and_then(|fields| fields.remove("as"));
        let other = || handoff_id(other.as_ref().and_then(Value::as_str).expect("a new name"));
        let offered = || serde_json::from_value(value.clone()).expect("an offer");
        let text = |field: &str| value[field].as_str().map(str::to_owned);
        let number = |field: &str| value[field].as_u64().and_then(|n| u32::try_from(n).ok());
        match action {
            "draft" => Command::Draft { offer: Box::new(offered()) },
            "initiate" => Command::Initiate { offer: Some(Box::new(offered())) },
            "accept" => Command::Accept(Accept {
                notes: text("notes"),
                artifacts: value.get("artifacts").map(|list| {
                    serde_json::from_value(list.clone()).expect("a list of artifact ids")
                }),
            }),
            "approve" => Command::Approve { revision: number("revision"), why: text("why") },
            "refuse" => {
                Command::Refuse { revision: number("revision"), why: text("why").expect("why") }
            }
            "counter" => Command::Counter { edit: read(&value) },
            "delegate" => Command::Delegate { child: other(), offer: read(&value) },
            "reassign" => Command::Reassign(Box::new(read_reassign(&value, other()))),
            "withdraw" => Command::Withdraw { why: text("why") },
            "extend_sla" => Command::ExtendSla {
                due: text("due").expect("a time").parse().expect("a time"),
                why: text("why").expect("a reason"),
            },
            "reject" => Command::Reject(Reject {
                reason: text("reason").expect("a reason").parse().expect("one of the ten"),
                detail: text("detail").expect("a detail"),
                suggested_fix: text("suggested_fix"),
            }),
            "activate" => Command::Activate {
                work_state_update: serde_json::from_value(value["work_state_update"].clone())
                    .expect("a work state or nothing"),
            },
            "complete" => Command::Complete(Completion {
                notes: text("completion_notes"),
                final_artifacts: value.get("final_artifacts").map_or(Vec::new(), |list| {
                    serde_json::from_value(list.clone()).expect("a list of artifacts")
                }),
                evidence: value.get("evidence").map_or(Vec::new(), |list| {
                    serde_json::from_value(list.clone()).expect("a list of answers")
                }),
            }),
            "progress" => Command::Progress(read(&value)),
            "recall" => Command::Recall { reason: text("reason").expect("a reason") },
            "discard" => Command::Discard { why: text("why") },
            "elapse_recall" => Command::ElapseRecall { due: self.recall_due(name) },
            "confirm" => Command::Confirm { why: text("why") },
            "dispute" => Command::Dispute { why: text("why").expect("a reason") },
            "close" => Command::Close { closure_notes: text("closure_notes") },
            "elapse" => self.read_elapse(name, &value),
            "warn" => {
                let armed = self.armed.iter().find(|(owner, _)| owner == name);
                let (_, armed) = armed.expect("something is armed");
                let stage = armed.name.trim_start_matches(derive::WARN).parse();
                Command::Warn { stage: stage.expect("a stage"), at: armed.due }
            }
            other => panic!("no such action: {other}"),
        }
    }

    /// The result of each artifact, as in `log=verified plan=missing`. `of=` names another package
    /// than the one being verified, or the number of a completion.
    fn read_verified(&self, name: &str, request: &[&str]) -> Command {
        let mut looked = match self.handoffs.get(name) {
            Some(Handoff::Made(made)) if made.completions > 0 => {
                Looked::Completion { attempt: made.completions }
            }
            Some(handoff) => Looked::Package { hash: handoff.document_hash().to_owned() },
            None => Looked::Package { hash: String::new() },
        };
        let mut seen = Vec::new();
        for word in request {
            let (id, found) = word.split_once('=').expect("artifact=finding");
            let detail = format!("{id} is {found}");
            let finding = match found {
                _ if id == "of" => {
                    looked = match found.parse() {
                        Ok(attempt) => Looked::Completion { attempt },
                        Err(_) => Looked::Package { hash: found.to_owned() },
                    };
                    continue;
                }
                "verified" => Finding::Verified { sha256: "ab".repeat(32), size_bytes: 7 },
                "present" => Finding::Present,
                "unverifiable" => Finding::NotVerifiable { detail },
                "missing" => Finding::Missing { detail },
                "changed" => Finding::Mismatch { detail },
                "forbidden" => Finding::Forbidden { detail },
                "unavailable" => Finding::Unavailable { detail },
                other => panic!("no such finding: {other}"),
            };
            seen.push(Seen { artifact_id: id.to_owned(), path: None, finding });
        }
        Command::Verified { looked, seen }
    }

    /// The limit of the open recall, if there is one.
    fn recall_due(&self, name: &str) -> Time {
        let armed = self.armed.iter().find(|(owner, it)| owner == name && it.name == RECALL);
        armed.map_or(self.now, |(_, armed)| armed.due)
    }

    /// The armed deadline, unless the line names another one, as `stage` and `due`.
    fn read_elapse(&self, name: &str, value: &Value) -> Command {
        let armed = self.armed.iter().find(|(owner, _)| owner == name).map(|(_, armed)| armed);
        let stage = value["stage"].as_str().or(armed.map(|armed| &*armed.name));
        let stage = stage.map_or(SlaStage::Proposed, |text| text.parse().expect("a stage"));
        let due = value["due"].as_str().map(|text| start().plus(read_span(text)));
        Command::Elapse { stage, due: due.or(armed.map(|armed| armed.due)).unwrap_or(self.now) }
    }
}

fn read_reassign(value: &Value, successor: HandoffId) -> Reassign {
    let text = |field: &str| value[field].as_str().map(str::to_owned);
    Reassign {
        successor,
        to: text("to").expect("an agent").parse().expect("an agent"),
        why: text("why").expect("a reason"),
        work_state: value
            .get("work_state")
            .map(|state| serde_json::from_value(state.clone()).expect("a state of the work")),
        deadline: text("deadline").map(|at| at.parse().expect("a time")),
    }
}

/// A valid request, before the script changes it.
fn usual_request(action: &str, now: Time) -> Value {
    match action {
        "draft" | "initiate" => offer(),
        "extend_sla" => {
            json!({ "due": now.plus(Span::from_hours(48)).to_string(), "why": "it is hard" })
        }
        "delegate" => json!({
            "as": "h2",
            "to_agent": "helper",
            "task": { "title": "Bisect", "success_criteria": ["The commit is known"] },
            "context": { "summary": "It began on Tuesday" },
            "work_state": { "next_step": "Run the script" },
        }),
        "reassign" => json!({ "as": "h2", "to": "other", "why": "nobody answers" }),
        "refuse" => json!({ "why": "not this week" }),
        "progress" => json!({ "percent": 40 }),
        "recall" => json!({ "reason": "plans changed" }),
        "dispute" => json!({ "why": "the build is red" }),
        "reject" => json!({ "reason": "other", "detail": "not mine to do" }),
        _ => json!({}),
    }
}

/// Changes a JSON value by `path=value` and `-path`.
pub(super) fn apply(value: &mut Value, changes: &[&str], now: Time) {
    for change in changes {
        if let Some(path) = change.strip_prefix('-') {
            let (parent, field) = path.rsplit_once('.').unwrap_or(("", path));
            let parent = if parent.is_empty() { &mut *value } else { place(value, parent) };
            parent.as_object_mut().expect("an object").remove(field);
            continue;
        }
        let (path, text) = change.split_once('=').expect("path=value");
        *place(value, path) = read_value(text, now);
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).expect("what the action takes")
}

fn place<'a>(value: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(value, |value, field| &mut value[field])
}

fn read_value(text: &str, now: Time) -> Value {
    if let Some(span) = text.strip_prefix('+') {
        return now.plus(read_span(span)).to_string().into();
    }
    if let Some((letter, times)) = text.split_once('*')
        && let Ok(times) = times.parse()
    {
        return letter.repeat(times).into();
    }
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

pub(super) fn read_span(text: &str) -> Span {
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let number: i64 = number.parse().expect("a number of units");
    match unit {
        "ms" => Span::from_millis(number),
        "s" => Span::from_millis(number * 1_000),
        "m" => Span::from_minutes(number),
        "h" => Span::from_hours(number),
        other => panic!("no such unit: {other}"),
    }
}
