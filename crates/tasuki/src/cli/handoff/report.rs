//! `tasuki handoff progress`: the report of an owner, from flags.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::put;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The part of the work that is done, from 0 to 100
    #[arg(long, value_name = "NUMBER")]
    percent: Option<u8>,
    /// What the sender should know
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// A step that is done; may be repeated
    #[arg(long = "done-step", value_name = "TEXT")]
    done_steps: Vec<String>,
    /// A step that is still to do, after those that are done; may be repeated
    #[arg(long = "step", value_name = "TEXT")]
    steps: Vec<String>,
    /// What you wait for before you can go on
    #[arg(long, value_name = "TEXT")]
    blocked_by: Option<String>,
}

impl ReportArgs {
    pub fn body(self) -> Value {
        let mut fields = Map::new();
        put(&mut fields, "note", self.note);
        put(&mut fields, "blocked_by", self.blocked_by);
        if let Some(percent) = self.percent {
            fields.insert("percent".to_owned(), percent.into());
        }
        let done = self.done_steps.into_iter().map(|text| json!({ "text": text, "done": true }));
        let open = self.steps.into_iter().map(|text| json!({ "text": text }));
        let steps: Vec<Value> = done.chain(open).collect();
        if !steps.is_empty() {
            fields.insert("steps".to_owned(), steps.into());
        }
        Value::Object(fields)
    }
}
