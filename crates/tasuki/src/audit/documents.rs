//! Packages, drafts and graphs: the entries name them by hash, so a changed document no longer fits
//! its entry.

use protocol::canonical::{self, Hash};
use protocol::handoff::package;
use protocol::ledger::{Body, Entry};
use protocol::step::Event;
use protocol::{graph, handoff};
use serde_json::Value;

/// A document as it was found.
#[derive(Debug)]
pub struct FoundDocument<'d> {
    pub hash: &'d str,
    pub text: Option<&'d str>,
}

/// Whether entries of this name come with a document.
pub fn belongs_to(entry: &Entry) -> bool {
    matches!(
        entry.name.as_ref(),
        "handoff.drafted" | "handoff.proposed" | "handoff.countered" | "graph.saved"
    )
}

/// What is wrong with the document of an entry, if anything is.
pub fn problem(
    entry: &Entry,
    event: Option<&Event>,
    found: Option<&FoundDocument<'_>>,
) -> Option<&'static str> {
    let Some(FoundDocument { hash, text }) = found else {
        return belongs_to(entry).then_some("its document is missing");
    };
    let (named, hashed): (&str, fn(&str) -> Option<Hash>) = match event {
        Some(Event::Handoff(handoff::Event::Drafted(drafted))) => (&drafted.offer_hash, hash_text),
        Some(Event::Graph(graph::Event::Saved(saved))) => (&saved.hash, hash_text),
        Some(Event::Handoff(handoff::Event::Proposed(proposed))) => {
            (&proposed.package_hash, hash_package)
        }
        Some(Event::Handoff(handoff::Event::Countered(countered))) => {
            (&countered.proposed.package_hash, hash_package)
        }
        Some(_) => return Some("there is a document, and nothing says of what"),
        None => return problem_without_event(entry, *text),
    };
    let Some(text) = text else {
        return Some("the text of its document is missing, and no entry says that it was erased");
    };
    if named != *hash {
        return Some("its document is kept under another hash than the entry names");
    }
    let fits = hashed(text).is_some_and(|found| canonical::hex(&found) == named);
    (!fits).then_some("its document is not the one that the entry names by hash")
}

fn problem_without_event(entry: &Entry, text: Option<&str>) -> Option<&'static str> {
    match (&entry.body, text) {
        (_, _) if !belongs_to(entry) => Some("there is a document, and nothing says of what"),
        (Body::Erased { .. }, Some(_)) => Some("its body was erased, but its document is there"),
        // A body that cannot be read is a finding already.
        (Body::Erased { .. }, None) | (Body::Kept { .. }, _) => None,
    }
}

fn hash_text(text: &str) -> Option<Hash> {
    Some(canonical::sha256(&[text.as_bytes()]))
}

/// The hash of a package, if the text is the one that sealing it would write: the hash alone does
/// not cover the spelling, nor the place where the package repeats its own hash.
fn hash_package(text: &str) -> Option<Hash> {
    let value: Value = serde_json::from_str(text).ok()?;
    let hash = package::hash_of_stored(text)?;
    let repeated = value.get("verification").and_then(|part| part.get("package_hash"));
    let is_sealed = canonical::canonical(&value) == text
        && repeated.and_then(Value::as_str) == Some(&canonical::hex(&hash));
    is_sealed.then_some(hash)
}
