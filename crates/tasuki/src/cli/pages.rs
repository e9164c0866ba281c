//! Lists of the server, page by page.

use anyhow::Result;
use serde_json::{Value, json};

use crate::client::{Call, Client, percent_encode};

/// One page of a list.
const PAGE_ITEMS: usize = 200;

/// Every page of a list, as one.
pub async fn all(client: &Client, path: &str) -> Result<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = Call::get(format!("{path}?limit={PAGE_ITEMS}{cursor}"));
        let mut answer = client.call(page).await?.success()?;
        items.append(answer["items"].as_array_mut().unwrap_or(&mut Vec::new()));
        match answer["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={}", percent_encode(next)),
            None => return Ok(json!({ "items": items })),
        }
    }
}
