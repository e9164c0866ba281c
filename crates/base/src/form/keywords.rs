//! The keywords of our own in a schema.

/// The most bytes of a text in UTF-8, or of an object as canonical JSON.
pub const BYTES_MAX: &str = "x-maxBytes";

/// The shortest and the longest span, both included.
pub const SPAN_MIN: &str = "x-minSpan";
pub const SPAN_MAX: &str = "x-maxSpan";

/// The expected value in words, for the error about a value that does not fit.
pub const EXPECTED: &str = "x-expected";
