//! `tasuki graph save`, `show`, `list` and `remove`: the graphs of a teamspace.

use anyhow::Result;
use protocol::route::AgentGraph;
use serde_json::{Value, json};

use crate::cli::names;
use crate::cli::reach::Reach;
use crate::client::{Call, percent_encode};
use crate::{exit_code, output};

/// One page of a list.
const PAGE_ITEMS: usize = 200;

pub async fn save(reach: &Reach, id: &str, graph: &AgentGraph, version: Option<u64>) -> Result<u8> {
    let query = version.map(|version| format!("?version={version}")).unwrap_or_default();
    let call = Call::put(format!("{}{query}", path(id)), serde_json::to_value(graph)?);
    let answer = ask(reach, call).await?;
    if reach.json {
        output::json(&answer);
    } else {
        output::line(&format!("{id}: version {}", answer["version"]));
        names::warnings(&answer);
    }
    Ok(exit_code::OK)
}

/// The document alone, so that it can be saved again; with `--json` all fields.
pub async fn show(reach: &Reach, id: &str) -> Result<u8> {
    let answer = ask(reach, Call::get(path(id))).await?;
    output::json(if reach.json { &answer } else { &answer["document"] });
    Ok(exit_code::OK)
}

pub async fn list(reach: &Reach) -> Result<u8> {
    let reached = reach.connect().await?;
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = Call::get(format!("/v1/graphs?limit={PAGE_ITEMS}{cursor}"));
        let mut answer = reached.client.call(page).await?.success()?;
        items.append(answer["items"].as_array_mut().unwrap_or(&mut Vec::new()));
        match answer["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={}", percent_encode(next)),
            None => break,
        }
    }
    reached.finish().await;
    if reach.json {
        output::json(&json!({ "items": items }));
        return Ok(exit_code::OK);
    }
    let columns = ["graph", "version", "n_specialists", "n_rules", "n_signals", "changed_at"];
    let rows = items.iter().map(|item| columns.map(|name| text(&item[name])).to_vec());
    let headers = ["graph", "version", "specialists", "rules", "signals", "saved"];
    output::list(&headers, rows.collect());
    Ok(exit_code::OK)
}

pub async fn remove(reach: &Reach, id: &str) -> Result<u8> {
    let answer = ask(reach, Call::post(format!("{}/remove", path(id)), json!({}))).await?;
    if reach.json {
        output::json(&answer);
    } else {
        output::line(&format!("{id}: removed"));
    }
    Ok(exit_code::OK)
}

async fn ask(reach: &Reach, call: Call) -> Result<Value> {
    let reached = reach.connect().await?;
    let answer = reached.client.call(call).await?.success()?;
    reached.finish().await;
    Ok(answer)
}

fn path(id: &str) -> String {
    format!("/v1/graphs/{}", percent_encode(id))
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
