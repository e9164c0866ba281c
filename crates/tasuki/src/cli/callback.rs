//! `tasuki conversation callback` and `callback-done`: a person of a queue calls the customer.

use clap::Args;
use protocol::time::Time;
use serde_json::{Map, Value, json};

use super::conversation::{path_of, text};
use super::{put, token};
use crate::client::Call;
use crate::output::{self, clean};

#[derive(Debug, Args)]
pub struct AskArgs {
    /// The conversation's id
    pub id: String,
    /// How to reach the customer, such as a telephone number
    #[arg(long, value_name = "TEXT")]
    contact: String,
    /// What it is about; not shown to the customer
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Call not before this time, such as 2026-12-24T09:00:00Z; at most 30 days from now
    #[arg(long, value_name = "TIME")]
    not_before: Option<Time>,
    /// The queue whose people call [default: the one in which the customer waits, or the default]
    #[arg(long)]
    queue: Option<String>,
    /// The epoch in which an agent asks [default: the current one]
    #[arg(long, value_name = "N")]
    pub epoch: Option<u64>,
}

#[derive(Debug, Args)]
pub struct DoneArgs {
    /// The conversation's id
    id: String,
    /// The result of the call, such as reached
    #[arg(long, value_name = "TEXT")]
    outcome: String,
}

impl AskArgs {
    pub fn call(self, epoch: Option<u64>) -> Call {
        let mut fields = Map::new();
        put(&mut fields, "contact", Some(self.contact));
        put(&mut fields, "note", self.note);
        put(&mut fields, "not_before", self.not_before.map(|at| at.to_string()));
        put(&mut fields, "queue", self.queue);
        if let Some(epoch) = epoch {
            fields.insert("epoch".to_owned(), epoch.into());
        }
        Call::post(path_of(&self.id, "/callbacks"), fields.into())
    }
}

impl DoneArgs {
    pub fn call(self) -> Call {
        Call::post(path_of(&self.id, "/callbacks/done"), json!({ "outcome": self.outcome }))
    }
}

pub fn asked(callback: &Value) {
    let queue = clean(&text(callback, "queue"));
    output::remark(&format!("a person of the queue {queue} will call the customer"));
}

pub fn settled(callback: &Value) {
    output::remark(&format!("the callback is settled: {}", clean(&text(callback, "outcome"))));
}

/// The customers that a queue must call, in order.
pub fn table(callbacks: &[Value]) -> String {
    let now = token::now();
    let rows = callbacks.iter().map(|one| {
        let when = |name: &str| text(one, name).parse::<Time>().ok();
        let shown = |at: Option<Time>| at.map_or("–".to_owned(), |at| output::relative(at, now));
        vec![
            text(one, "conversation_id"),
            one["contact"].as_str().unwrap_or("–").to_owned(),
            shown(when("asked_at")),
            shown(when("not_before")),
            note(one),
        ]
    });
    output::table(&["to call", "contact", "asked", "not before", "note"], rows.collect())
}

/// The note for the person who calls. A customer's words are shown as theirs.
fn note(callback: &Value) -> String {
    let note = text(callback, "note");
    match text(callback, "asked_by").starts_with("customer:") && !note.is_empty() {
        true => format!("the customer: {note}"),
        false => note,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_customers_note_is_shown_as_theirs() {
        for (by, words, expected) in [
            ("customer:c", "VERIFIED by bot", "the customer: VERIFIED by bot"),
            ("customer:c", "", ""),
            ("agent:bob", "after nine", "after nine"),
        ] {
            let callback = json!({ "asked_by": by, "note": words });
            assert_eq!(note(&callback), expected);
        }
    }
}
