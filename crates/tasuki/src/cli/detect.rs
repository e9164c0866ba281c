//! `tasuki handoff detect`: the handoffs in a model's history, and whether its provider takes it.

use std::path::Path;

use anyhow::{Context, Result};
use protocol::tools::Form;
use protocol::tools::check::{Weight, check};
use protocol::tools::detect::{Found, handoffs};
use protocol::tools::history::form_of;
use serde_json::{Value, json};

use super::ending::usage;
use super::read_json;
use crate::{exit_code, output};

/// The members of a request or a response that have messages.
const LISTS: [&str; 3] = ["messages", "input", "output"];

/// Works offline. The file has the messages, or a request with them in it; for the Responses API
/// also a response.
pub fn run(file: &Path, form: Option<Form>, json: bool) -> Result<u8> {
    let value = read_json(file)?;
    let list = LISTS.iter().find_map(|name| value.get(name).filter(|list| list.is_array()));
    let messages = list.unwrap_or(&value).as_array();
    let messages = usage(messages.with_context(|| {
        format!(
            "{}: expected a list of messages, or an object with `messages`, `input` or `output`",
            file.display()
        )
    }))?;
    let form = form.unwrap_or_else(|| form_of(messages));
    let found = handoffs(form, messages)
        .with_context(|| format!("{} is no history of {}", file.display(), form.as_str()));
    let found = usage(found)?;
    let problems = check(form, messages);
    let is_refused = problems.iter().any(|problem| problem.weight == Weight::Refused);
    let code = if is_refused { exit_code::FAILED } else { exit_code::OK };
    if json {
        output::json(&json!({ "form": form, "handoffs": found, "problems": problems }));
        return Ok(code);
    }
    if !found.is_empty() {
        output::line(&table(&found));
    }
    let n_found = counted(found.len(), "handoff");
    output::remark(&format!("{n_found} in {}", counted(messages.len(), "message")));
    for problem in &problems {
        let weight = match problem.weight {
            Weight::Refused => "refused",
            Weight::Advice => "advice",
        };
        output::remark(&output::clean(&format!("{weight}: {problem}")));
    }
    Ok(code)
}

fn counted(n_things: usize, thing: &str) -> String {
    match n_things {
        0 => format!("no {thing}s"),
        1 => format!("1 {thing}"),
        _ => format!("{n_things} {thing}s"),
    }
}

fn table(found: &[Found]) -> String {
    let rows = found.iter().map(|found| {
        let said = serde_json::to_value(found).expect("findings are plain data");
        let text = |name: &str| match &said[name] {
            Value::String(text) => text.clone(),
            Value::Null => "?".to_owned(),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                other.to_string()
            }
        };
        let reason = found.reason.clone().unwrap_or_default();
        let [index, from, to, outcome] = ["index", "from", "to", "outcome"].map(text);
        vec![index, text("direction"), from, to, outcome, reason, text("call_id")]
    });
    let header = ["message", "way", "from", "to", "outcome", "reason", "call"];
    output::table(&header, rows.collect())
}
