//! Notes and details that people write.

use crate::hidden::is_blank;
use crate::rejection::Rejection;

/// People read notes and details; longer text belongs in an artifact.
pub const NOTES_BYTES_MAX: usize = 16 * 1024;

/// The text as it is recorded. One that shows nothing counts as left out.
pub(crate) fn check_text(field: &str, text: Option<&str>) -> Result<Option<String>, Rejection> {
    match text {
        Some(text) if text.len() > NOTES_BYTES_MAX => Err(Rejection::SchemaInvalid {
            field: field.to_owned(),
            expected: format!("at most {NOTES_BYTES_MAX} bytes; put more into an artifact"),
        }),
        Some(text) if !is_blank(text) => Ok(Some(text.to_owned())),
        Some(_) | None => Ok(None),
    }
}
