//! A bundle in answers.

use protocol::hidden::make_visible;
use protocol::transfer::bundle::Bundle;
use serde_json::Value;

use crate::http::shared::entry_view::show_times;

/// A bundle is stored as one document; its time is shown in the form that answers have.
pub fn shown_bundle(bundle: &Bundle) -> Value {
    let mut shown = serde_json::to_value(bundle).expect("a bundle is plain data");
    if let Some(fields) = shown.as_object_mut() {
        show_times(fields, &["createdAt"]);
    }
    shown
}

/// The same bundle for a program: invisible characters are written out.
pub fn visible_bundle(bundle: Bundle) -> Bundle {
    let mut shown = serde_json::to_value(bundle).expect("a bundle is plain data");
    make_visible(&mut shown);
    serde_json::from_value(shown).expect("texts stay texts")
}
