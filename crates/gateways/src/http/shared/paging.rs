//! Pages of lists.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::shared::problem::Problem;

/// The size of a page if the client gives no limit.
const PAGE_ROWS: usize = 50;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageInput {
    #[serde(default)]
    pub limit: Option<String>,
    #[serde(default)]
    pub cursor: Option<String>,
}

pub fn parse_limit(text: Option<&str>) -> Result<usize, Problem> {
    let Some(text) = text else { return Ok(PAGE_ROWS) };
    match text.parse() {
        Ok(limit @ 1..=engine::read::query::LIST_ROWS_MAX) => Ok(limit),
        Ok(_) | Err(_) => {
            let expected = format!("a number from 1 to {}", engine::read::query::LIST_ROWS_MAX);
            Err(Problem::schema_invalid("limit", &expected))
        }
    }
}

pub fn parse_cursor<T: FromStr>(text: Option<&str>) -> Result<Option<T>, Problem> {
    text.map(|text| {
        text.parse().map_err(|_| {
            let detail = "cursor: expected the `next_cursor` of an earlier page";
            Problem::new("cursor_invalid", detail).field("cursor")
        })
    })
    .transpose()
}

/// A page of a list. `next_cursor` is there when there is more.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListPage<T> {
    pub items: Vec<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}
