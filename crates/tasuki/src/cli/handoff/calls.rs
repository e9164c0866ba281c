//! The call of the API that each action of `tasuki handoff` makes.

use std::path::Path;

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::HandoffCommand;
use crate::cli::offer::fields;
use crate::cli::{expect_object, put, read_json};
use crate::client::{Call, percent_encode};

pub(super) fn call_of(action: HandoffCommand) -> Result<Call> {
    Ok(match action {
        HandoffCommand::Draft { id: None, offer } => {
            Call::post("/v1/handoffs/drafts", offer.body()?)
        }
        HandoffCommand::Draft { id: Some(id), offer } => {
            Call::put(path(&id, "draft"), offer.body()?)
        }
        HandoffCommand::Initiate { id: None, offer, .. } => {
            Call::post("/v1/handoffs", offer.body()?)
        }
        HandoffCommand::Initiate { id: Some(id), offer, .. } => {
            Call::post(path(&id, "initiate"), offer.body()?)
        }
        HandoffCommand::Accept { id, notes, artifacts } => {
            Call::post(path(&id, "accept"), acceptance(notes, &artifacts))
        }
        HandoffCommand::Approve { id, revision, why } => answer(&id, "approve", revision, why),
        HandoffCommand::Refuse { id, revision, why } => answer(&id, "refuse", revision, Some(why)),
        HandoffCommand::Counter { id, offer } => Call::post(path(&id, "counter"), offer.body()?),
        HandoffCommand::Delegate { id, offer } => Call::post(path(&id, "delegate"), offer.body()?),
        HandoffCommand::Reassign { id, to, why, deadline } => {
            let deadline = deadline.map(|deadline| deadline.to_string());
            let fields = [("to_agent", Some(to)), ("why", Some(why)), ("deadline", deadline)];
            on(&id, "reassign", fields)
        }
        HandoffCommand::Withdraw { id, why } => on(&id, "withdraw", [("why", why)]),
        HandoffCommand::ExtendSla { id, due, why } => {
            on(&id, "extend_sla", [("due", Some(due.to_string())), ("why", Some(why))])
        }
        HandoffCommand::Reject { id, reason, detail, suggested_fix } => {
            let reason = Some(reason.to_string());
            let fields =
                [("reason", reason), ("detail", Some(detail)), ("suggested_fix", suggested_fix)];
            on(&id, "reject", fields)
        }
        HandoffCommand::Activate { id, work } => {
            Call::post(path(&id, "activate"), fields([("work_state_update", work.state())]))
        }
        HandoffCommand::Progress { id, report } => Call::post(path(&id, "progress"), report.body()),
        HandoffCommand::Recall { id, reason } => on(&id, "recall", [("reason", Some(reason))]),
        HandoffCommand::Complete { id, notes, evidence, file } => {
            Call::post(path(&id, "complete"), completion(notes, &evidence, file.as_deref())?)
        }
        HandoffCommand::Confirm { id, why } => on(&id, "confirm", [("why", why)]),
        HandoffCommand::Dispute { id, why } => on(&id, "dispute", [("why", Some(why))]),
        HandoffCommand::Close { id, notes } => on(&id, "close", [("closure_notes", notes)]),
        HandoffCommand::Discard { id, why } => on(&id, "discard", [("why", why)]),
        HandoffCommand::Erase { id, position, reason } => {
            let body = json!({ "position": position, "reason": reason });
            Call::post(path(&id, "erase"), body)
        }
        HandoffCommand::List(_)
        | HandoffCommand::Lint { .. }
        | HandoffCommand::Detect { .. }
        | HandoffCommand::Show { .. }
        | HandoffCommand::Watch(_) => {
            unreachable!("reading is not an action")
        }
    })
}

fn acceptance(notes: Option<String>, artifacts: &[String]) -> Value {
    let mut fields = Map::new();
    put(&mut fields, "notes", notes);
    if !artifacts.is_empty() {
        fields.insert("artifacts".to_owned(), json!(artifacts));
    }
    Value::Object(fields)
}

/// The report of a completion: from a file, from flags, or from a file with flags on top.
fn completion(notes: Option<String>, evidence: &[String], file: Option<&Path>) -> Result<Value> {
    let mut body = match file {
        Some(path) => read_json(path)?,
        None => json!({}),
    };
    expect_object("--file", &body)?;
    if let Some(notes) = notes {
        body["completion_notes"] = notes.into();
    }
    let answers = evidence.chunks_exact(2);
    let mut answers: Vec<_> =
        answers.map(|answer| json!({ "criterion": answer[0], "evidence": answer[1] })).collect();
    if !answers.is_empty() {
        let given = body["evidence"].as_array().cloned().unwrap_or_default();
        answers.splice(0..0, given);
        body["evidence"] = answers.into();
    }
    Ok(body)
}

/// A human's answer to the revision that they have read.
fn answer(id: &str, action: &str, revision: Option<u32>, why: Option<String>) -> Call {
    let mut fields = Map::new();
    put(&mut fields, "why", why);
    if let Some(revision) = revision {
        fields.insert("revision".to_owned(), revision.into());
    }
    Call::post(path(id, action), Value::Object(fields))
}

fn on<const N: usize>(id: &str, action: &str, given: [(&str, Option<String>); N]) -> Call {
    let mut fields = Map::new();
    for (name, value) in given {
        put(&mut fields, name, value);
    }
    Call::post(path(id, action), Value::Object(fields))
}

fn path(id: &str, action: &str) -> String {
    format!("/v1/handoffs/{}/{action}", percent_encode(id))
}
