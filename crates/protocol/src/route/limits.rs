//! The limits that several parts of a graph share.

/// A keyword is a few words. Longer text is a sentence that no customer types again.
pub const KEYWORD_BYTES_MAX: usize = 100;

/// One regex, as written.
pub const REGEX_BYTES_MAX: usize = 500;

/// Names and values of attributes, intent labels and language tags.
pub const LABEL_BYTES_MAX: usize = 200;

/// One regex, as compiled: `\w{50}` is a short text and a large program.
pub const REGEX_PROGRAM_BYTES_MAX: usize = 256 * 1024;

/// All regexes of one router, as compiled.
pub const REGEX_SET_BYTES_MAX: usize = 8 * 1024 * 1024;
