//! Copies: what a subscription gets instead of the original event. Each is a valid event.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::super::extension::put_into_extension;
use super::super::language;
use super::body::Body;
use super::held::{Held, More, Several, output};
use super::joined::{Head, Joined};
use super::prepared::Prepared;
use super::terms::{Changes, DETAILED, TERSE, Terms};

/// The body of a held delivery.
pub fn body(held: &Held, terms: &Terms) -> Body {
    match &held.more {
        More::One => single(&held.last, terms),
        More::Several(several) => Body::Copy(several_as_one(&held.last, several, terms)),
        More::Text(joined) => match &joined.head {
            Some(head) if is_single(joined, head) => single(&head.base, terms),
            Some(head) => Body::Copy(text(joined, head, terms)),
            None => unreachable!("a text goes out with what may go out"),
        },
    }
}

/// The body of a single event.
pub fn single(event: &Arc<Prepared>, terms: &Terms) -> Body {
    let changes = terms.changes(event);
    let is_hint_allowed = output(event).is_none_or(|chunk| terms.allows_hint(chunk.hint));
    match changes {
        Changes { language: None, summary: None, is_unnumbered, is_masked: false }
            if is_hint_allowed =>
        {
            if is_unnumbered {
                Body::Unnumbered(Arc::clone(event))
            } else {
                Body::Verbatim(Arc::clone(event))
            }
        }
        Changes { .. } => {
            let mut document = changed(event, terms);
            if !is_hint_allowed {
                document.remove("coalesce_hint");
            }
            Body::Copy(Value::Object(document).to_string())
        }
    }
}

/// The id of the first part of an event that was cut: the same each time it is cut there.
fn part_id(event_id: &str, position: u64) -> String {
    let digest = Sha256::digest(format!("{event_id} {position}"));
    let mut id = String::from("evt_");
    for byte in &digest[..16] {
        id.push_str(&format!("{byte:02x}"));
    }
    id
}

fn is_single(joined: &Joined, head: &Head) -> bool {
    head.is_whole
        && joined.n_events == 1
        && output(&head.base).is_some_and(|chunk| {
            chunk.position == joined.position && chunk.n_chars == joined.n_chars
        })
}

fn text(joined: &Joined, head: &Head, terms: &Terms) -> String {
    let mut document = changed(&head.base, terms);
    let end = joined.position.saturating_add(joined.n_chars);
    let is_complete = head.is_whole && output(&head.base).is_some_and(|chunk| chunk.is_complete);
    document.insert("chunk".to_owned(), joined.text.as_str().into());
    document.insert("position".to_owned(), joined.position.into());
    document.insert("complete".to_owned(), is_complete.into());
    match head.boundary.filter(|boundary| terms.boundaries.contains(*boundary)) {
        Some(boundary) => document.insert("coalesce_hint".to_owned(), boundary.as_str().into()),
        None => document.remove("coalesce_hint"),
    };
    let mut merged = json!({"n_events": joined.n_events, "first_event_id": &*joined.first_id});
    if !head.is_whole {
        let id = &head.base.event_id;
        merged["part_of"] = (**id).into();
        document.insert("event_id".to_owned(), part_id(id, end).into());
    }
    note(&mut document, merged);
    Value::Object(document).to_string()
}

fn several_as_one(last: &Prepared, several: &Several, terms: &Terms) -> String {
    let mut document = changed(last, terms);
    if let Some(from) = &several.from {
        document.insert("from_state".to_owned(), (**from).into());
    }
    let merged = json!({"n_events": several.n_events, "first_event_id": &*several.first_id});
    note(&mut document, merged);
    Value::Object(document).to_string()
}

/// The event with all changes that the terms require for a single event.
fn changed(event: &Prepared, terms: &Terms) -> Map<String, Value> {
    let Changes { language, summary, is_unnumbered, is_masked: _ } = terms.changes(event);
    let mut document = event.document();
    if is_unnumbered {
        document.remove("sequence_number");
    }
    if let Some(masked) = &event.masked {
        document.insert("args_summary".to_owned(), (**masked).into());
    }
    if let Some(variant) = language {
        language::tell_in(&mut document, variant);
    }
    // The chosen language may have no such summary.
    if let Some(name) = summary
        && let Some(text) = document.get(name).cloned()
    {
        document.insert("summary_normal".to_owned(), text);
        if name == TERSE {
            document.remove(DETAILED);
        }
    }
    if terms.withholds(event) {
        withhold(&mut document);
    }
    document
}

/// The reason for a handoff and the packed context are for the next agent only. Listeners get the
/// summary instead.
fn withhold(document: &mut Map<String, Value>) {
    let told = document.get("summary_normal").cloned().unwrap_or_default();
    document.insert("reason".to_owned(), told);
    document.remove("packaged_context");
}

/// Notes in our extension which events were merged.
fn note(document: &mut Map<String, Value>, merged: Value) {
    put_into_extension(document, "merged", merged);
}
