//! What can be read of a conversation besides its story: its history for a model, and the agents
//! that its customer may choose.

use anyhow::Result;
use protocol::tools::history_form::HistoryForm;

use super::conversation::{path_of, text};
use crate::client::{Call, Client};
use crate::output;

/// The messages alone, or with what was left out.
pub async fn history(client: &Client, id: &str, form: HistoryForm, json: bool) -> Result<()> {
    let path = path_of(id, &format!("/history?form={}", form.as_str()));
    let answer = client.call(Call::get(path)).await?.success()?;
    output::json(if json { &answer } else { &answer["messages"] });
    Ok(())
}

/// All pages: a page may have fewer agents than its limit, or none.
pub async fn agents(client: &Client, id: &str, json: bool) -> Result<()> {
    let first = path_of(id, "/agents?limit=200");
    let mut items = Vec::new();
    let mut path = first.clone();
    loop {
        let mut page = client.call(Call::get(path)).await?.success()?;
        items.extend(page["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("{first}&cursor={cursor}"),
            None => break,
        }
    }
    if json {
        output::json(&items);
        return Ok(());
    }
    if items.is_empty() {
        output::remark("no agent can be chosen now");
        return Ok(());
    }
    let rows = items.iter().map(|one| {
        let languages = one["languages"].as_array().into_iter().flatten();
        let languages: Vec<_> = languages.filter_map(|it| it.as_str()).collect();
        let languages = if languages.is_empty() { "–".to_owned() } else { languages.join(", ") };
        let holds = if one["holds"] == true { "yes" } else { "no" };
        vec![text(one, "agentId"), text(one, "agentName"), languages, holds.to_owned()]
    });
    output::list(&["id", "name", "languages", "answers now"], rows.collect());
    Ok(())
}
