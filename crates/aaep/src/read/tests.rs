//! The reader compared with the upstream schemas and their examples, and run on documents that are
//! broken in one place each.

mod broken;
mod garbage;
mod mutation;
mod schema;
mod upstream;

use serde_json::Value;

use crate::flaw::{Flaw, Tier};
use crate::handshake::read_message;
use crate::read::examine;

/// The flaws of a document, whichever message it is.
fn flaws_of(document: &Value) -> Vec<Flaw> {
    read_message(&document.to_string()).err().unwrap_or_default()
}

fn breaks_schema(flaws: &[Flaw]) -> bool {
    flaws.iter().any(|flaw| flaw.tier == Tier::Schema)
}

/// The specification advises 64 KiB; a longer event is a warning, and a far longer one is refused.
#[test]
fn a_long_event_is_a_warning_up_to_a_limit() {
    let of = |n_texts: usize| {
        let texts: Vec<String> = (0..n_texts).map(|_| "x".repeat(15_000)).collect();
        let document = serde_json::json!({
            "@context": ["https://aaep-protocol.org/context/v1", "urn:example:long"],
            "type": "aaep:agent.session.started", "event_id": "evt_1", "session_id": "sess_1",
            "timestamp": "2026-05-24T14:22:00.000Z", "producer": { "agent_id": "teller" },
            "urgency": "normal", "localization_hints": { "primary_language": "en" },
            "summary_normal": "Reads a long page.", "extensions": { "long": { "texts": texts } },
        });
        let text = document.to_string();
        let examined = examine(&text);
        let told = |flaws: &[Flaw]| flaws.iter().map(|it| it.rule).collect::<Vec<_>>();
        (examined.event.is_some(), told(&examined.flaws), told(&examined.warnings))
    };
    assert_eq!(of(4), (true, vec![], vec![]));
    assert_eq!(of(5), (true, vec![], vec!["3.7"]));
    assert_eq!(of(17), (true, vec![], vec!["3.7"]));
    assert_eq!(of(18), (false, vec!["3.7"], vec![]));
}
