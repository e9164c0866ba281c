//! `tasuki handoff lint` and `--dry-run`: what is wrong with an offer, and what could be better.

use std::path::Path;

use anyhow::Result;
use protocol::form::Form;
use protocol::handoff::Offer;
use protocol::handoff::lint::{Remark, Weight, not_as_expected, read};
use protocol::json::Bounds;
use serde_json::{Value, json};

use super::{names, read_json, token};
use crate::client::{Call, Client};
use crate::{exit_code, output};

/// Parts of a sealed package that only the server fills in; an offer has no place for them.
const SERVER_PARTS: [&str; 4] = ["handoff_id", "protocol", "verification", "version"];

/// The sender, which a request may repeat.
const SENDER: [&str; 2] = ["from", "from_agent"];

/// Works offline.
pub fn run(file: &Path, json: bool) -> Result<u8> {
    let mut value = read_json(file)?;
    if let Some(fields) = value.as_object_mut() {
        for part in SERVER_PARTS.iter().chain(&SENDER) {
            fields.remove(*part);
        }
        if let Some(provenance) = fields.get_mut("provenance").and_then(Value::as_object_mut) {
            provenance.retain(|name, _| name == "decision_refs" || name == "related_sessions");
        }
    }
    let refused = refused_as_json(&value);
    let (_, remarks) = read(&value, &Form::of::<Offer>(), token::now());
    let remarks: Vec<_> = refused.into_iter().chain(remarks).collect();
    let ok = remarks.iter().all(|remark| remark.weight != Weight::Refused);
    print(&json!({ "ok": ok, "remarks": remarks }), json);
    Ok(if ok { exit_code::OK } else { exit_code::FAILED })
}

/// The server reads every request with these bounds, and without hidden characters.
fn refused_as_json(value: &Value) -> Option<Remark> {
    let error = protocol::json::parse(value.to_string().as_bytes(), &Bounds::default()).err()?;
    Some(not_as_expected(error.path, &error.kind.to_string()))
}

/// Asks the server, which also knows the owner of the task and whether the target exists.
pub async fn dry_run(client: &Client, offer: Value, json: bool) -> Result<u8> {
    let found = client.call(Call::post("/v1/handoffs?dry_run=true", offer)).await?.success()?;
    print(&found, json);
    Ok(if is_ok(&found) { exit_code::OK } else { exit_code::REFUSED })
}

fn is_ok(found: &Value) -> bool {
    found["ok"].as_bool() == Some(true)
}

fn print(found: &Value, json: bool) {
    let ok = is_ok(found);
    if json {
        output::json(found);
        return;
    }
    let remarks = found["remarks"].as_array().map_or(&[][..], Vec::as_slice);
    for remark in remarks {
        let text = |name: &str| output::clean(remark[name].as_str().unwrap_or_default());
        let weight = match remark["weight"].as_str() {
            Some("refused") => "refused",
            _ => "advice ",
        };
        let field = text("field");
        output::line(&format!("{weight}  {}: {}", names::of(&field), text("problem")));
        output::line(&format!("         {}", names::of_sentence(&text("fix"))));
    }
    output::remark(match (ok, remarks.is_empty()) {
        (true, true) => "nothing to say: it would be proposed",
        (true, false) => "it would be proposed",
        (false, _) => "it would be refused",
    });
}
