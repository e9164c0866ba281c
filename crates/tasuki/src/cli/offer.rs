//! What is offered: as a file, as flags, or as a file with flags on top.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use protocol::time::Time;
use serde_json::{Map, Value, json};

use super::read_json;
use crate::client::{Call, Client, percent_encode};

/// What is offered: as a file, as flags, or as a file with flags on top.
#[derive(Debug, Args)]
pub struct OfferArgs {
    /// A JSON file with the offer; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The agent that shall own the task
    #[arg(long)]
    to: Option<String>,
    /// The task's id
    #[arg(long)]
    task: Option<String>,
    /// What it is called in lists
    #[arg(long)]
    title: Option<String>,
    /// What shall come of it [default: its title]
    #[arg(long)]
    objective: Option<String>,
    /// When it is done; may be repeated
    #[arg(long = "criterion", value_name = "TEXT")]
    criteria: Vec<String>,
    /// What the next owner must know
    #[arg(long)]
    summary: Option<String>,
    /// What to do first
    #[arg(long)]
    next_step: Option<String>,
    /// When the work must be done, such as 2026-12-24T18:00:00Z
    #[arg(long)]
    deadline: Option<Time>,
    /// Why the task changes hands
    #[arg(long)]
    reason: Option<String>,
    /// Hand the task back to its previous owner
    #[arg(long = "return")]
    is_return: bool,
}

impl OfferArgs {
    /// What was given: the file, with flags on top.
    pub fn body(self) -> Result<Value> {
        let mut body = match &self.file {
            Some(path) => read_json(path)?,
            None => json!({}),
        };
        let set = |body: &mut Value, outer: &str, inner: &str, value: Option<String>| {
            if let Some(value) = value {
                body[outer][inner] = value.into();
            }
        };
        set(&mut body, "task", "task_id", self.task);
        set(&mut body, "task", "title", self.title);
        set(&mut body, "task", "objective", self.objective);
        set(&mut body, "context", "summary", self.summary);
        set(&mut body, "work_state", "next_step", self.next_step);
        if !self.criteria.is_empty() {
            body["task"]["success_criteria"] = json!(self.criteria);
        }
        let outer = [
            ("to_agent", self.to),
            ("deadline", self.deadline.map(|deadline| deadline.to_string())),
            ("reason", self.reason),
        ];
        for (name, value) in outer {
            if let Some(value) = value {
                body[name] = value.into();
            }
        }
        if self.is_return {
            body["return"] = true.into();
        }
        Ok(body)
    }
}

/// A draft is sent whole, so what is not changed is sent as it was.
pub async fn lay_over_draft(client: &Client, id: &str, changes: &mut Value) -> Result<()> {
    if changes.as_object().is_none_or(Map::is_empty) {
        return Ok(());
    }
    let path = format!("/v1/handoffs/{}", percent_encode(id));
    let mut shown = client.call(Call::get(path)).await?.success()?;
    // What is a draft no longer is refused by the server, which says why.
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
