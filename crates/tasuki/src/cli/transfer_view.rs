//! The fields of a transfer in answers.

use serde_json::Value;

use crate::client::percent_encode;
use crate::output;

pub fn path_of(id: &str, below: &str) -> String {
    format!("/v1/transfers/{}{below}", percent_encode(id))
}

/// `place 2, likely 1m to 3m`.
pub fn place(transfer: &Value) -> Option<String> {
    let place = transfer["queue_position"].as_u64()?;
    let likely = likely(transfer).map(|wait| format!(", likely {wait}")).unwrap_or_default();
    Some(format!("place {place}{likely}"))
}

/// The likely wait, if it is known.
pub fn likely(view: &Value) -> Option<String> {
    let wait = &view["estimated_wait"];
    let end = |name: &str| wait[name].as_str().map(output::clean);
    Some(format!("{} to {}", end("from")?, end("to")?))
}

pub fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

/// The customer's name, as far as people may see it.
pub fn name_of(transfer: &Value) -> String {
    let name = transfer["bundle"]["identity"]["displayName"].as_str();
    // A step that brings nothing along leaves the name to the record.
    let name = name.or_else(|| transfer["record"]["customer"].as_str());
    name.unwrap_or("a customer").to_owned()
}
