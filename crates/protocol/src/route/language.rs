//! Comparing language tags.

/// Whether a language is the wanted one, or a variety of it: `es-MX` is `es`, `est` is not.
pub fn is_language(spoken: &str, wanted: &str) -> bool {
    let (head, rest) = match spoken.split_at_checked(wanted.len()) {
        Some(parts) => parts,
        None => return false,
    };
    head.eq_ignore_ascii_case(wanted) && (rest.is_empty() || rest.starts_with(['-', '_']))
}
