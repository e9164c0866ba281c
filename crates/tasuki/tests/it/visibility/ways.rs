//! The ways to read a handoff: each says whether it shows one to a reader. An answer that is
//! neither yes nor no is a failure.

use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::{Answer, Call};

use super::stage::{Reader, Stage, Subject};
use crate::server::offer;

#[derive(Debug, Clone, Copy)]
pub enum Way {
    /// One handoff by its id.
    Show,
    List,
    AcpQuery,
    History,
    /// `/v1/events`, while it happened.
    Stream,
    /// `/ws`, while it happened.
    Socket,
    /// The answer to an action that the reader may not take, or not now.
    Refusal,
    AcpRefusal,
    /// The answer to a proposal of the same task.
    Conflict,
    DryRun,
    /// The history of the handoff that it is a part of.
    WholeHistory,
    /// The open parts of that one, and what it waits for.
    WholeParts,
    /// The same in a list.
    WholeList,
    WholeAcpQuery,
    /// The answer to an action on it that is refused.
    WholeRefusal,
    WholeAcpRefusal,
    CommandLine,
}

pub const WAYS: [Way; 17] = [
    Way::Show,
    Way::List,
    Way::AcpQuery,
    Way::History,
    Way::Stream,
    Way::Socket,
    Way::Refusal,
    Way::AcpRefusal,
    Way::Conflict,
    Way::DryRun,
    Way::WholeHistory,
    Way::WholeParts,
    Way::WholeList,
    Way::WholeAcpQuery,
    Way::WholeRefusal,
    Way::WholeAcpRefusal,
    Way::CommandLine,
];

impl Way {
    pub async fn reads(self, stage: &Stage, reader: &Reader, subject: &Subject) -> bool {
        let Subject { id, task, .. } = subject;
        let ask = async |call: Call| reader.client.call(call).await.expect("the server answers");
        let names_it = |value: &Value| value.to_string().contains(id.as_str());
        let same_task = || {
            let mut again = offer(task, "tara");
            again["task"]["priority"] = json!("low");
            again
        };
        match self {
            Way::Show => is_found(&ask(Call::get(format!("/v1/handoffs/{id}"))).await),
            Way::List => {
                let page = ask(Call::get(format!("/v1/handoffs?task_id={task}&limit=200"))).await;
                names_it(&page.body["items"])
            }
            Way::AcpQuery => {
                let query = json!({ "action": "query", "task_id": task });
                names_it(&ask(Call::post("/v1/acp/handoff", query)).await.body["handoffs"])
            }
            Way::History => is_found(&ask(Call::get(format!("/v1/handoffs/{id}/history"))).await),
            Way::Stream => reader.streamed.iter().any(names_it),
            Way::Socket => reader.told.iter().any(names_it),
            Way::Refusal => {
                let counter = json!({ "reason": "again" });
                is_found(&ask(Call::post(format!("/v1/handoffs/{id}/counter"), counter)).await)
            }
            Way::AcpRefusal => {
                let complete = json!({ "action": "complete", "handoff_id": id });
                is_found(&ask(Call::post("/v1/acp/handoff", complete)).await)
            }
            Way::Conflict => {
                let answer = ask(Call::post("/v1/handoffs", same_task())).await;
                assert_eq!(answer.body["code"], "ownership_conflict", "{}", answer.body);
                assert_eq!(answer.body["task_id"], task.as_str());
                names_it(&answer.body) || answer.body.get("handoff_chain").is_some()
            }
            Way::DryRun => {
                let answer = ask(Call::post("/v1/handoffs?dry_run=true", same_task())).await;
                assert_eq!(answer.body["ok"], false, "{}", answer.body);
                names_it(&answer.body)
            }
            Way::WholeHistory
            | Way::WholeParts
            | Way::WholeList
            | Way::WholeAcpQuery
            | Way::WholeRefusal
            | Way::WholeAcpRefusal => names_it(&self.of_whole(reader, subject).await),
            Way::CommandLine => {
                let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
                    .args(["handoff", "show", id, "--server", &stage.server.url])
                    .env("TASUKI_TOKEN", &reader.token)
                    .output()
                    .expect("the executable runs");
                let shown = String::from_utf8_lossy(&output.stdout);
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success() || said.contains("no such handoff"), "{said}");
                shown.contains(id.as_str())
            }
        }
    }

    /// What a reader is answered about the handoff that the subject is a part of. All may read it.
    async fn of_whole(self, reader: &Reader, subject: &Subject) -> Value {
        let Subject { whole, whole_task, .. } = subject;
        let counter = json!({ "reason": "again" });
        let by_tool = |action: &str| {
            let query = json!({ "action": action, "handoff_id": whole });
            Call::post("/v1/acp/handoff", query)
        };
        let (call, is_refused) = match self {
            Way::WholeHistory => {
                (Call::get(format!("/v1/handoffs/{whole}/history?limit=200")), false)
            }
            Way::WholeParts => (Call::get(format!("/v1/handoffs/{whole}")), false),
            Way::WholeList => (Call::get(format!("/v1/handoffs?task_id={whole_task}")), false),
            Way::WholeAcpQuery => (by_tool("query"), false),
            Way::WholeRefusal => {
                (Call::post(format!("/v1/handoffs/{whole}/counter"), counter), true)
            }
            Way::WholeAcpRefusal => (by_tool("complete"), true),
            Way::Show
            | Way::List
            | Way::AcpQuery
            | Way::History
            | Way::Stream
            | Way::Socket
            | Way::Refusal
            | Way::AcpRefusal
            | Way::Conflict
            | Way::DryRun
            | Way::CommandLine => panic!("{self:?} is not about the whole"),
        };
        let answer = reader.client.call(call).await.expect("the server answers");
        assert_eq!(answer.status >= 400, is_refused, "{}", answer.body);
        if is_refused {
            assert_eq!(answer.body["waiting_for"][0]["who"], "parts", "{}", answer.body);
        }
        answer.body
    }
}

/// Whether the answer is about the handoff. A "not found" says nothing else.
fn is_found(answer: &Answer) -> bool {
    let error = if answer.body["error"].is_object() { &answer.body["error"] } else { &answer.body };
    if answer.status != 404 {
        return true;
    }
    assert_eq!(error["code"], "not_found", "{}", answer.body);
    assert_eq!(error["detail"], "no such handoff", "{}", answer.body);
    false
}
