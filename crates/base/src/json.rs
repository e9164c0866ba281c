//! Strict parsing of JSON input, and plain writing of our own.
//!
//! One pass over the bytes gives either a value that every reader understands alike, or an error
//! with its place. It refuses the cases where JSON readers differ (repeated keys, integers a double
//! cannot hold), values that are too large to keep, and characters that show a person another text
//! than a machine reads. Every accepted value has a canonical form that is accepted too, as the
//! same value.

use std::fmt;

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// How many arrays and objects may be open at once. Our own messages nest about eight deep; 32
/// leaves room for a caller's payload and keeps every recursive reader far from its stack.
pub const DEPTH_MAX: usize = 32;

/// The longest string or key, in bytes. It holds a long page of text in any script. Longer text
/// belongs in an artifact, which is referred to by its hash.
pub const STRING_BYTES_MAX: usize = 64 * 1024;

/// The longest array. No agent reads a list of a thousand entries during a handoff. A value takes
/// ten times the memory of its text, so a body of commas must be bounded.
pub const ARRAY_ITEMS_MAX: usize = 1_000;

/// The most keys in one object. Our largest message has about thirty; metadata with more than 256
/// keys is a table, and belongs in an artifact.
pub const OBJECT_KEYS_MAX: usize = 256;

/// The largest integer that every JSON reader holds exactly, 2^53 − 1.
pub const INTEGER_MAX: u64 = (1 << 53) - 1;

/// `serde_json` fails at 128 levels with an error of its own; below that, ours always comes first.
const DEPTH_MAX_OF_PARSER: usize = 126;

/// From here on the canonical form writes an exponent. Doubles between `INTEGER_MAX` and this would
/// be written as an integer that we refuse to read back, so they are refused too.
const EXPONENT_FORM_MIN: f64 = 1e21;

/// Long enough to recognise a key in an error, short enough for a log line.
const PATH_KEY_CHARS_MAX: usize = 64;

/// The limits of a document. A depth above 126 counts as 126.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub depth_max: usize,
    pub string_bytes_max: usize,
    pub array_items_max: usize,
    pub object_keys_max: usize,
    /// Keys whose texts people wrote in a chat. These texts are kept as they were sent, with any
    /// characters. Only U+0000 is refused, which many programs take for the end of a text.
    pub free_text: &'static [&'static str],
    /// Keys below which all texts are kept like that, at any depth.
    pub free_below: &'static [&'static str],
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            depth_max: DEPTH_MAX,
            string_bytes_max: STRING_BYTES_MAX,
            array_items_max: ARRAY_ITEMS_MAX,
            object_keys_max: OBJECT_KEYS_MAX,
            free_text: &[],
            free_below: &[],
        }
    }
}

/// Why a document was refused, and where. The path has no character that `parse` refuses, and long
/// keys are shortened, so it is safe to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// As in `task.success_criteria[2]`; empty for the document as a whole.
    pub path: String,
    pub kind: JsonErrorKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonErrorKind {
    #[error("expected valid JSON, stopped at line {line} column {column}")]
    Syntax { line: usize, column: usize },
    #[error("expected each key once")]
    DuplicateKey,
    #[error("expected at most {depth_max} levels of nesting")]
    TooDeep { depth_max: usize },
    #[error("expected at most {bytes_max} bytes")]
    StringTooLong { bytes_max: usize },
    #[error("expected at most {items_max} items")]
    TooManyItems { items_max: usize },
    #[error("expected at most {keys_max} keys")]
    TooManyKeys { keys_max: usize },
    #[error("expected a number that every reader holds exactly, integers within ±(2^53 - 1)")]
    NumberNotExact,
    #[error("expected text without the character U+{:04X}", u32::from(*character))]
    ForbiddenCharacter { character: char },
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.path.is_empty() { "body" } else { &self.path };
        write!(f, "{place}: {}", self.kind)
    }
}

impl std::error::Error for JsonError {}

/// Reads one document. Decimals become the nearest double; integers must be exact.
pub fn parse(bytes: &[u8], bounds: &Bounds) -> Result<Value, JsonError> {
    let mut reading = Reading {
        bounds: Bounds { depth_max: bounds.depth_max.min(DEPTH_MAX_OF_PARSER), ..*bounds },
        refusal: None,
        path_reversed: Vec::new(),
        n_numbers: 0,
        literals: NumberLiterals { bytes, at: 0, n_passed: 0 },
    };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let root = AnyValue { reading: &mut reading, depth: 0, is_free: false, is_free_below: false };
    root.deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| reading.into_error(&error))
}

/// Our own data as text. `about` is how many bytes to reserve, because a buffer that grows is
/// copied each time.
pub fn text_of(data: &impl Serialize, about: usize) -> String {
    let mut bytes = Vec::with_capacity(about);
    serde_json::to_writer(&mut bytes, data).expect("our own data is strings, numbers and lists");
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// Whether a character may not occur in text that people are shown: controls other than line
/// breaks and tabs, overrides and isolates of the writing direction, and invisible tags.
pub fn is_forbidden(character: char) -> bool {
    match character {
        '\n' | '\t' | '\r' => false,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{E0000}'..='\u{E007F}' => true,
        other => other.is_control(),
    }
}

/// State that the visitors share while one document is read.
///
/// The path costs nothing until something fails: each level adds its own step while the error
/// passes through it, innermost first.
struct Reading<'b> {
    bounds: Bounds,
    refusal: Option<JsonErrorKind>,
    path_reversed: Vec<Step>,
    n_numbers: usize,
    literals: NumberLiterals<'b>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl Reading<'_> {
    fn refuse<E: Error>(&mut self, kind: JsonErrorKind) -> E {
        self.refusal = Some(kind);
        E::custom("refused")
    }

    fn failed_at_key(&mut self, key: &str) {
        let step = match key.char_indices().nth(PATH_KEY_CHARS_MAX) {
            Some((end, _)) => format!("{}…", &key[..end]),
            None => key.to_owned(),
        };
        self.path_reversed.push(Step::Key(step));
    }

    fn checked_text<E: Error>(&mut self, text: &str, is_free: bool) -> Result<String, E> {
        let bytes_max = self.bounds.string_bytes_max;
        if text.len() > bytes_max {
            return Err(self.refuse(JsonErrorKind::StringTooLong { bytes_max }));
        }
        // Nearly all text is plain ASCII, and bytes are faster to check than characters.
        let is_plain = |byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r');
        if !text.bytes().all(is_plain)
            && let Some(character) = text.chars().find(|character| match is_free {
                true => *character == '\0',
                false => is_forbidden(*character),
            })
        {
            return Err(self.refuse(JsonErrorKind::ForbiddenCharacter { character }));
        }
        Ok(text.to_owned())
    }

    fn checked_double<E: Error>(&mut self, double: f64) -> Result<Value, E> {
        self.n_numbers += 1;
        let size = double.abs();
        let exact = size <= INTEGER_MAX as f64
            || (size >= EXPONENT_FORM_MIN && !self.literals.is_integer(self.n_numbers));
        // For JSON, 1.0 is the integer 1.
        if double.fract() == 0.0 && size <= INTEGER_MAX as f64 {
            return Ok(Value::from(double as i64));
        }
        match Number::from_f64(double) {
            Some(number) if exact => Ok(Value::Number(number)),
            Some(_) | None => Err(self.refuse(JsonErrorKind::NumberNotExact)),
        }
    }

    fn into_error(self, error: &serde_json::Error) -> JsonError {
        let kind = self.refusal.unwrap_or_else(|| {
            // Only the error text of the parser tells this case from a syntax error.
            if error.to_string().starts_with("number out of range") {
                JsonErrorKind::NumberNotExact
            } else {
                JsonErrorKind::Syntax { line: error.line(), column: error.column() }
            }
        });
        let mut path = String::new();
        for step in self.path_reversed.iter().rev() {
            match step {
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => path.extend([".", key]),
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        JsonError { path, kind }
    }
}

/// Reads any value; it is both the seed and the visitor.
struct AnyValue<'r, 'b> {
    reading: &'r mut Reading<'b>,
    depth: usize,
    /// Whether it is the text of a chat.
    is_free: bool,
    /// Whether all texts in it are.
    is_free_below: bool,
}

impl<'r, 'b> AnyValue<'r, 'b> {
    /// One level deeper, or an error.
    fn entered<E: Error>(self) -> Result<AnyValue<'r, 'b>, E> {
        let depth_max = self.reading.bounds.depth_max;
        if self.depth == depth_max {
            return Err(self.reading.refuse(JsonErrorKind::TooDeep { depth_max }));
        }
        Ok(AnyValue { depth: self.depth + 1, is_free: false, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for AnyValue<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyValue<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: Error>(self, integer: u64) -> Result<Value, E> {
        self.reading.n_numbers += 1;
        if integer > INTEGER_MAX {
            return Err(self.reading.refuse(JsonErrorKind::NumberNotExact));
        }
        Ok(Value::from(integer))
    }

    fn visit_i64<E: Error>(self, integer: i64) -> Result<Value, E> {
        self.reading.n_numbers += 1;
        if integer.unsigned_abs() > INTEGER_MAX {
            return Err(self.reading.refuse(JsonErrorKind::NumberNotExact));
        }
        Ok(Value::from(integer))
    }

    fn visit_f64<E: Error>(self, double: f64) -> Result<Value, E> {
        self.reading.checked_double(double)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.reading.checked_text(text, self.is_free).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let AnyValue { reading, depth, is_free_below, .. } = self.entered()?;
        let items_max = reading.bounds.array_items_max;
        let mut array = Vec::new();
        loop {
            let is_free = is_free_below;
            let item = AnyValue { reading: &mut *reading, depth, is_free, is_free_below };
            match items.next_element_seed(item) {
                Ok(None) => return Ok(Value::Array(array)),
                Ok(Some(_)) if array.len() == items_max => {
                    return Err(reading.refuse(JsonErrorKind::TooManyItems { items_max }));
                }
                Ok(Some(item)) => array.push(item),
                Err(error) => {
                    reading.path_reversed.push(Step::Index(array.len()));
                    return Err(error);
                }
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let AnyValue { reading, depth, is_free_below: inherited, .. } = self.entered()?;
        let keys_max = reading.bounds.object_keys_max;
        let mut object = Map::new();
        while let Some(key) = entries.next_key_seed(Key { reading: &mut *reading })? {
            let n_keys = object.len();
            match object.entry(key) {
                Entry::Occupied(taken) => {
                    reading.failed_at_key(taken.key());
                    return Err(reading.refuse(JsonErrorKind::DuplicateKey));
                }
                Entry::Vacant(_) if n_keys == keys_max => {
                    return Err(reading.refuse(JsonErrorKind::TooManyKeys { keys_max }));
                }
                Entry::Vacant(free) => {
                    let key = free.key().as_str();
                    let is_free_below = inherited || reading.bounds.free_below.contains(&key);
                    let is_free = is_free_below || reading.bounds.free_text.contains(&key);
                    let value = AnyValue { reading: &mut *reading, depth, is_free, is_free_below };
                    match entries.next_value_seed(value) {
                        Ok(value) => free.insert(value),
                        Err(error) => {
                            reading.failed_at_key(free.key());
                            return Err(error);
                        }
                    };
                }
            }
        }
        Ok(Value::Object(object))
    }
}

struct Key<'r, 'b> {
    reading: &'r mut Reading<'b>,
}

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'_, '_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        self.reading.checked_text(text, false)
    }
}

/// Looks up how a number was written. The parser silently turns an integer of more than 64 bits
/// into a double, so for huge numbers, which are rare, we look at the source. All lookups together
/// read the source once.
struct NumberLiterals<'b> {
    bytes: &'b [u8],
    at: usize,
    n_passed: usize,
}

impl NumberLiterals<'_> {
    /// Whether the number with this ordinal, counted from one, has neither fraction nor exponent.
    /// Ordinals must increase from call to call. The parser has read this far already, so the
    /// source is well formed up to the end of that number.
    fn is_integer(&mut self, ordinal: usize) -> bool {
        loop {
            let start = self.at;
            match self.bytes.get(start) {
                None => unreachable!("the parser saw more numbers than the source has"),
                Some(b'"') => self.pass_string(),
                Some(b'-' | b'0'..=b'9') => {
                    self.pass_while(|byte| {
                        matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
                    });
                    self.n_passed += 1;
                    if self.n_passed == ordinal {
                        let literal = &self.bytes[start..self.at];
                        return !literal.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
                    }
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn pass_string(&mut self) {
        self.at += 1;
        loop {
            self.pass_while(|byte| !matches!(byte, b'"' | b'\\'));
            match self.bytes.get(self.at) {
                Some(b'\\') => self.at += 2,
                Some(_) | None => {
                    self.at += 1;
                    return;
                }
            }
        }
    }

    fn pass_while(&mut self, matches: impl Fn(&u8) -> bool) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| matches(byte)).count();
    }
}

#[cfg(test)]
mod tests;
