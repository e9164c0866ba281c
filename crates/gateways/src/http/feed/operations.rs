//! The live feed among the operations.

use super::filter::FollowInput;
use crate::http::shared::operation::{Operation, Response, read, schema};

pub const FEED: [Operation; 1] = [Operation {
    query: Some(schema::<FollowInput>),
    response: Response::Text("text/event-stream"),
    ..read("/v1/events", "follow_events", "Follows the ledger live; resumes by Last-Event-ID.")
}];
