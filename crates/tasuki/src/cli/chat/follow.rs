//! The transcript of a conversation, shown as it grows. Reads by message number, so that nothing is
//! missed or repeated, whatever happens to the connection.

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Value, json};

use super::EARLIER_LINES;
use super::wire::Wire;
use super::words::{self, Reader};
use crate::client::{Call, percent_encode};
use crate::output;

/// Messages of one page at most.
const PAGE_LINES: u64 = 200;

#[derive(Debug)]
pub struct Follow {
    pub id: String,
    /// The conversation at the last poll.
    pub seen: Value,
    pub reader: Reader,
    after: u64,
    /// Messages that were typed here, and are on the screen already.
    own: BTreeSet<u64>,
}

impl Follow {
    /// Starts a few messages before the end.
    pub async fn start(wire: &Wire, id: &str, reader: Reader) -> Result<Self> {
        let seen = wire.ask(Call::get(path_of(id, ""))).await?;
        let n_messages = seen["n_messages"].as_u64().unwrap_or_default();
        let after = n_messages.saturating_sub(EARLIER_LINES);
        if after > 0 {
            let messages = if after == 1 { "message is" } else { "messages are" };
            output::remark(&format!("{after} earlier {messages} not shown"));
        }
        let mut follow = Self { id: id.to_owned(), seen, reader, after, own: BTreeSet::new() };
        follow.show_after(wire, n_messages).await?;
        Ok(follow)
    }

    /// Polls, and shows new messages.
    pub async fn look(&mut self, wire: &Wire) -> Result<()> {
        self.seen = wire.ask(Call::get(path_of(&self.id, ""))).await?;
        let n_messages = self.seen["n_messages"].as_u64().unwrap_or_default();
        self.show_after(wire, n_messages).await
    }

    /// Says something; agents do so in the epoch that they have seen.
    pub async fn say(&mut self, wire: &Wire, text: &str) -> Result<()> {
        let mut body = json!({ "parts": [{ "type": "text", "text": text }] });
        if !self.is_customers() {
            body["epoch"] = self.seen["epoch"].clone();
        }
        let call = Call::post(path_of(&self.id, "/messages"), body);
        if let Some(number) = wire.try_to(call).await?.and_then(|taken| taken["number"].as_u64()) {
            self.own.insert(number);
        }
        Ok(())
    }

    /// Whether this is the customer's view, which has less.
    pub fn is_customers(&self) -> bool {
        self.seen.get("opened_by").is_none()
    }

    pub fn is_closed(&self) -> bool {
        self.seen["status"] == "closed"
    }

    async fn show_after(&mut self, wire: &Wire, n_messages: u64) -> Result<()> {
        while self.after < n_messages {
            let below = format!("/messages?after={}&limit={PAGE_LINES}", self.after);
            let page = wire.ask(Call::get(path_of(&self.id, &below))).await?;
            for line in page["items"].as_array().into_iter().flatten() {
                let number = line["number"].as_u64().unwrap_or_default();
                self.after = self.after.max(number);
                let is_own = self.own.remove(&number);
                match wire.json {
                    true => output::json(line),
                    false if is_own => {}
                    false => output::line(&words::told(line, &self.seen, &self.reader)),
                }
            }
            let next = page["next_cursor"].as_str().and_then(|next| next.parse().ok());
            // Messages between colleagues have numbers too, but are not shown to customers.
            self.after = self.after.max(next.unwrap_or(n_messages));
        }
        Ok(())
    }
}

pub fn path_of(id: &str, below: &str) -> String {
    format!("/v1/conversations/{}{below}", percent_encode(id))
}
