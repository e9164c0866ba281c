//! The reader against the upstream schemas and their examples, and against documents that are
//! broken in one place each.

mod broken;
mod garbage;
mod mutation;
mod schema;
mod upstream;

use serde_json::Value;

use crate::aaep::flaw::{Flaw, Tier};
use crate::aaep::handshake::read_message;

/// What is wrong with a document, whichever message it is.
fn flaws_of(document: &Value) -> Vec<Flaw> {
    read_message(&document.to_string()).err().unwrap_or_default()
}

fn breaks_schema(flaws: &[Flaw]) -> bool {
    flaws.iter().any(|flaw| flaw.tier == Tier::Schema)
}
