//! An offer: from a file, from flags, or from a file with flags on top.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use clap::Args;
use protocol::handoff::restrictions::barred_agent;
use protocol::time::{Span, Time};
use serde_json::{Map, Value, json};

use super::ending::usage;
use super::file::UPLOAD;
use super::{expect_object, read_json};
use crate::client::{Call, Client, percent_encode};

/// What is offered: as a file, as flags, or as a file with flags on top.
#[derive(Debug, Args)]
pub struct OfferArgs {
    /// A JSON file with the offer; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The agent that shall own the task
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// The task's id
    #[arg(long, value_name = "ID")]
    task: Option<String>,
    /// What it is called in lists
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// What shall be true in the end [default: its title]
    #[arg(long, value_name = "TEXT")]
    objective: Option<String>,
    /// A success criterion; may be repeated
    #[arg(long = "criterion", value_name = "TEXT")]
    criteria: Vec<String>,
    /// What the next owner must know
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// How urgent it is [default: normal]
    #[arg(long, value_parser = ["low", "normal", "high", "critical"])]
    priority: Option<String>,
    /// What kind of work it is; said with the first handoff of a task [default: execution]
    #[arg(long, value_name = "KIND", value_parser = ["execution", "merge"])]
    task_kind: Option<String>,
    /// When the work must be done, such as 2026-12-24T18:00:00Z
    #[arg(long, value_name = "TIME")]
    deadline: Option<Time>,
    /// How long a stage may take: proposed, validating, accepted or activated, such as
    /// proposed=10m; may be repeated
    #[arg(long, value_name = "STAGE=SPAN", value_parser = limit)]
    sla: Vec<(&'static str, Span)>,
    /// Why the task changes hands
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Hand the task back to its previous owner
    #[arg(long = "return")]
    is_return: bool,
    #[command(flatten)]
    context: ContextArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    policy: PolicyArgs,
}

/// What else belongs to the task.
#[derive(Debug, Args)]
#[command(next_help_heading = "What belongs to it")]
struct ContextArgs {
    /// A file or URL that goes with it: report=/srv/report.pdf, then, if wanted, ,sha256=HEX
    /// ,type=TYPE ,optional and ,upload to store the file on the server; may be repeated
    #[arg(long = "artifact", value_name = "ID=PATH", value_parser = artifact)]
    artifacts: Vec<Value>,
    /// Something elsewhere that it is about, such as ticket=PAY-311 or pr=URL; may be repeated
    #[arg(long = "ref", value_name = "TYPE=VALUE", value_parser = reference)]
    refs: Vec<Value>,
    /// What must hold whatever is done; may be repeated
    #[arg(long = "constraint", value_name = "TEXT")]
    constraints: Vec<String>,
    /// What may go wrong; may be repeated
    #[arg(long = "risk", value_name = "TEXT")]
    risks: Vec<String>,
    /// What is not known yet; may be repeated
    #[arg(long = "question", value_name = "TEXT")]
    questions: Vec<String>,
    /// What is taken for granted; may be repeated
    #[arg(long = "assumption", value_name = "TEXT")]
    assumptions: Vec<String>,
}

/// How far the work is.
#[derive(Debug, Args)]
#[command(next_help_heading = "State of the work")]
pub struct WorkArgs {
    /// What to do first
    #[arg(long, value_name = "TEXT")]
    next_step: Option<String>,
    /// Whether it was begun
    #[arg(long, value_name = "STATUS",
          value_parser = ["not_started", "in_progress", "blocked", "review"])]
    work_status: Option<String>,
    /// How much of it is done, 0 to 100
    #[arg(long, value_name = "PERCENT")]
    percent: Option<f64>,
    /// A step that is done; may be repeated
    #[arg(long = "completed-step", value_name = "TEXT")]
    completed_steps: Vec<String>,
    /// The branch with the work
    #[arg(long)]
    branch: Option<String>,
    /// Where the branch is checked out
    #[arg(long, value_name = "PATH")]
    worktree_path: Option<String>,
    /// How the tests stand
    #[arg(long, value_name = "STATUS", value_parser = ["passing", "failing", "untested"])]
    test_status: Option<String>,
}

/// Who may see it, and who must agree.
#[derive(Debug, Args)]
#[command(next_help_heading = "Policy")]
struct PolicyArgs {
    /// How confidential it is [default: internal]
    #[arg(long, value_name = "LEVEL", value_parser = ["internal", "restricted"])]
    classification: Option<String>,
    /// Who may read it besides those it concerns
    #[arg(long, value_name = "WHO", value_parser = ["private", "team", "human-audit"])]
    visibility: Option<String>,
    /// How much harm a leak does
    #[arg(long, value_name = "LEVEL", value_parser = ["low", "moderate", "high"])]
    sensitivity: Option<String>,
    /// A human must approve before it is accepted
    #[arg(long)]
    requires_human_approval: bool,
    /// An agent other than the owner must confirm that it is done
    #[arg(long)]
    requires_verifier: bool,
    /// It is completed only with evidence for each criterion
    #[arg(long)]
    requires_evidence: bool,
    /// An agent that may not get it, such as agent:mallory; may be repeated
    #[arg(long = "export-restriction", value_name = "agent:ID", value_parser = restriction)]
    export_restrictions: Vec<String>,
}

impl OfferArgs {
    /// What was given: the file, with flags on top.
    pub fn body(self) -> Result<Value> {
        let mut body = match &self.file {
            Some(path) => read_json(path)?,
            None => json!({}),
        };
        expect_object("--file", &body)?;
        for (index, (stage, _)) in self.sla.iter().enumerate() {
            if self.sla[..index].iter().any(|(earlier, _)| earlier == stage) {
                let said = format!("--sla: expected a stage that is not used twice, not {stage}");
                return usage(Err(anyhow!(said)));
            }
        }
        let sla = self.sla.into_iter().map(|(stage, span)| (stage.to_owned(), json!(span)));
        let given = [
            ("to_agent", json!(self.to)),
            ("deadline", json!(self.deadline.map(|deadline| deadline.to_string()))),
            ("reason", json!(self.reason)),
            ("return", if self.is_return { json!(true) } else { Value::Null }),
            ("sla", Value::Object(sla.collect())),
            (
                "task",
                fields([
                    ("task_id", json!(self.task)),
                    ("title", json!(self.title)),
                    ("objective", json!(self.objective)),
                    ("success_criteria", json!(self.criteria)),
                    ("priority", json!(self.priority)),
                    ("kind", json!(self.task_kind)),
                    ("external_refs", json!(self.context.refs)),
                ]),
            ),
            (
                "context",
                fields([
                    ("summary", json!(self.summary)),
                    ("constraints", json!(self.context.constraints)),
                    ("known_risks", json!(self.context.risks)),
                    ("open_questions", json!(self.context.questions)),
                    ("assumptions", json!(self.context.assumptions)),
                ]),
            ),
            ("work_state", self.work.state()),
            ("policy", self.policy.policy()),
            ("artifacts", json!(self.context.artifacts)),
        ];
        merge(&mut body, fields(given));
        Ok(body)
    }
}

impl WorkArgs {
    pub fn state(self) -> Value {
        fields([
            ("next_step", json!(self.next_step)),
            ("status", json!(self.work_status)),
            ("percent_complete", json!(self.percent)),
            ("completed_steps", json!(self.completed_steps)),
            ("branch", json!(self.branch)),
            ("worktree_path", json!(self.worktree_path)),
            ("test_status", json!(self.test_status)),
        ])
    }
}

impl PolicyArgs {
    fn policy(self) -> Value {
        let asked = |is_asked: bool| if is_asked { json!(true) } else { Value::Null };
        fields([
            ("classification", json!(self.classification)),
            ("visibility", json!(self.visibility)),
            ("sensitivity", json!(self.sensitivity)),
            ("requires_human_approval", asked(self.requires_human_approval)),
            ("requires_verifier", asked(self.requires_verifier)),
            ("requires_evidence", asked(self.requires_evidence)),
            ("export_restrictions", json!(self.export_restrictions)),
        ])
    }
}

/// An object of the given values, without the empty ones.
pub fn fields<const N: usize>(given: [(&str, Value); N]) -> Value {
    let is_given = |value: &Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    };
    let given = given.into_iter().filter(|(_, value)| is_given(value));
    Value::Object(given.map(|(name, value)| (name.to_owned(), value)).collect())
}

fn limit(text: &str) -> Result<(&'static str, Span), String> {
    let stages = ["proposed", "validating", "accepted", "activated"];
    let expected = || {
        format!(
            "expected a stage and a span, such as proposed=10m; the stages are {}",
            stages.join(", ")
        )
    };
    let (stage, span) = text.split_once('=').ok_or_else(expected)?;
    let stage = stages.into_iter().find(|known| *known == stage).ok_or_else(expected)?;
    Ok((stage, span.parse().map_err(|_| expected())?))
}

/// The path ends at the first comma; a path with commas needs a file.
fn artifact(text: &str) -> Result<Value, String> {
    let expected = || "expected an id and a path, such as report=/srv/report.pdf".to_owned();
    let (id, rest) = text.split_once('=').ok_or_else(expected)?;
    let mut parts = rest.split(',');
    let path = parts.next().filter(|path| !path.is_empty()).ok_or_else(expected)?;
    let kind = if path.contains("://") { "url" } else { "file" };
    let mut reference = json!({ "path": path, "type": kind });
    for part in parts {
        match part.split_once('=') {
            Some((name @ ("sha256" | "type"), value)) => reference[name] = value.into(),
            None if part == "optional" => reference["required"] = false.into(),
            None if part == UPLOAD => reference[UPLOAD] = true.into(),
            Some(_) | None => {
                return Err(format!("expected sha256=, type=, optional or upload, not `{part}`"));
            }
        }
    }
    Ok(json!({ "artifact_id": id, "ref": reference }))
}

fn restriction(text: &str) -> Result<String, String> {
    barred_agent(text).map(|_| text.to_owned()).ok_or_else(|| {
        "expected agent: and the id of an agent that may not get it, such as agent:mallory"
            .to_owned()
    })
}

fn reference(text: &str) -> Result<Value, String> {
    let kinds = ["workq_item", "file", "branch", "pr", "url", "session", "ticket", "other"];
    let expected = || {
        format!(
            "expected a type and a value, such as ticket=PAY-311; the types are {}",
            kinds.join(", ")
        )
    };
    let (kind, value) = text.split_once('=').ok_or_else(expected)?;
    if !kinds.contains(&kind) {
        return Err(expected());
    }
    Ok(json!({ "type": kind, "value": value }))
}

/// The server replaces a draft as a whole, so unchanged fields are sent as they were.
pub async fn lay_over_draft(client: &Client, id: &str, changes: &mut Value) -> Result<()> {
    if changes.as_object().is_none_or(Map::is_empty) {
        return Ok(());
    }
    let path = format!("/v1/handoffs/{}", percent_encode(id));
    let mut shown = client.call(Call::get(path)).await?.success()?;
    // The server refuses a handoff that is no longer a draft, and says why.
    if shown["status"] == "draft" {
        let mut draft = shown["package"].take();
        merge(&mut draft, std::mem::take(changes));
        *changes = draft;
    }
    Ok(())
}

fn merge(into: &mut Value, changes: Value) {
    match (into, changes) {
        (Value::Object(into), Value::Object(changes)) => {
            for (name, change) in changes {
                merge(into.entry(name).or_insert(Value::Null), change);
            }
        }
        (into, change) => *into = change,
    }
}
