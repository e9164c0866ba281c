//! An entry of the ledger, as answers show it.

use engine::ledger::feed::entry_cursor;
use engine::ports::store::Sequenced;
use protocol::canonical;
use protocol::time::Time;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;

/// An entry of the ledger.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntryView {
    /// Its place in the whole ledger, for operators of the whole server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The cursor with which `/v1/events` continues after this entry.
    pub cursor: String,
    pub stream: String,
    pub position: u64,
    pub event: String,
    pub version: u32,
    pub actor: String,
    pub at: String,
    /// `null` once erased.
    pub data: Option<Value>,
    pub hash: String,
}

/// Converts stored times into the form of answers.
pub fn show_times(fields: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        let stored = fields.get(*name).and_then(Value::as_str);
        if let Some(at) = stored.and_then(|text| text.parse::<Time>().ok()) {
            fields.insert((*name).to_owned(), at.to_string().into());
        }
    }
}

pub fn entry(gateway: &Gateway, asker: &Asker, sequenced: &Sequenced) -> EntryView {
    let entry = &sequenced.entry;
    EntryView {
        seq: asker.is_server_operator().then_some(sequenced.seq),
        cursor: entry_cursor(gateway.engine.cursor_key(), sequenced),
        stream: entry.stream.subject.to_string(),
        position: entry.position,
        event: entry.name.clone().into_owned(),
        version: entry.version,
        actor: entry.actor.to_string(),
        at: entry.at.to_string(),
        data: entry.body.text().and_then(|text| serde_json::from_str(text).ok()),
        hash: canonical::hex(&entry.hash),
    }
}
