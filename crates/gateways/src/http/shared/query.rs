//! Parameters in the URL.

use axum::extract::Query;
use axum::http::Uri;
use protocol::json;
use serde_json::Value;

use crate::http::shared::problem::Problem;

/// Marks a request that has a query at an operation that takes none.
#[derive(Debug, Clone, Copy)]
pub struct QueryNotTaken;

/// Refuses parameters where none are read.
pub fn check_no_query(uri: &Uri) -> Result<(), Problem> {
    let Some(name) = parameters(uri)?.into_iter().map(|(name, _)| name).next() else {
        return Ok(());
    };
    Err(Problem::schema_invalid(&name, "no parameters in the URL here"))
}

/// The parameters of a query, each once and in plain text.
pub fn parameters(uri: &Uri) -> Result<serde_json::Map<String, Value>, Problem> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri)
        .map_err(|_| Problem::schema_invalid("query", "percent-encoded parameters"))?;
    let is_plain = |text: &str| !text.chars().any(json::is_forbidden);
    let mut fields = serde_json::Map::new();
    for (name, text) in pairs {
        if !is_plain(&name) || !is_plain(&text) {
            // Errors repeat what was sent, so text that must not be shown is not repeated.
            let field = if is_plain(&name) { &name } else { "query" };
            return Err(Problem::schema_invalid(field, "text without control characters"));
        }
        if fields.insert(name.clone(), Value::String(text)).is_some() {
            return Err(Problem::schema_invalid(&name, "to be given once"));
        }
    }
    Ok(fields)
}
