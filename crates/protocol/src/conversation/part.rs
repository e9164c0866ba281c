//! The parts of a message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::hidden::is_blank;
use crate::ids::{ConversationId, FileId};
use crate::rejection::Rejection;
use crate::{canonical, form};

/// A sender with more to say sends another message.
pub const PARTS_MAX: usize = 16;
pub const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Larger files are sent as a link.
pub const ATTACHMENT_BYTES_MAX: usize = 128 * 1024;
pub const ATTACHMENT_NAME_BYTES_MAX: usize = 200;

const FILE_NAME: &str =
    r"^[^/\\\x00-\x1F\x7F-\x9F]*[^\s/\\\x00-\x1F\x7F-\x9F][^/\\\x00-\x1F\x7F-\x9F]*$";
const MEDIA_TYPE: &str = r"^[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}$";
const MEDIA_TYPE_EXPECTED: &str = "a media type such as image/png";

/// With padding, and with zeros as unused bits.
const BASE64: &str = concat!(
    "^([A-Za-z0-9+/]{4})*",
    "([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
);

fn name_expected() -> String {
    format!("a file name of 1 to {ATTACHMENT_NAME_BYTES_MAX} bytes without a path")
}

fn data(schema: &mut Schema) {
    form::pattern(BASE64, "base64 with padding")(schema);
    schema.insert("minLength".to_owned(), 4.into());
    schema.insert("maxLength".to_owned(), (ATTACHMENT_BYTES_MAX.div_ceil(3) * 4).into());
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Part {
    Text(Text),
    Attachment(Attachment),
    File(FilePart),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Text {
    #[schemars(transform = form::speech(TEXT_BYTES_MAX))]
    pub text: String,
}

/// A file, with its bytes. It is erased with its message, and offered only as a download.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    #[schemars(transform = form::patterned(FILE_NAME, ATTACHMENT_NAME_BYTES_MAX, name_expected()))]
    pub name: String,
    #[schemars(transform = form::pattern(MEDIA_TYPE, MEDIA_TYPE_EXPECTED))]
    pub media_type: String,
    /// Base64.
    #[schemars(transform = data)]
    pub data: String,
    /// Compared with the data if it is given, computed if not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(transform = form::sha256)]
    pub sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
}

/// A stored file, by its name. It is kept as long as a message or a package names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilePart {
    /// The file, as its upload answered.
    pub file: FileId,
    #[schemars(transform = form::patterned(FILE_NAME, ATTACHMENT_NAME_BYTES_MAX, name_expected()))]
    pub name: String,
    /// What the sender takes it for. Browsers get the type that the bytes have.
    #[schemars(transform = form::pattern(MEDIA_TYPE, MEDIA_TYPE_EXPECTED))]
    pub media_type: String,
}

/// Where a reader of a conversation gets a file of a message.
pub fn file_path(conversation: ConversationId, number: u64, index: usize) -> String {
    format!("/v1/conversations/{conversation}/messages/{number}/attachments/{index}")
}

impl Attachment {
    /// The decoded bytes; empty if they cannot be decoded.
    pub fn bytes(&self) -> Vec<u8> {
        STANDARD.decode(&self.data).unwrap_or_default()
    }
}

/// A text as parts; `None` if a message cannot hold it.
pub fn of_text(text: &str) -> Option<Vec<Part>> {
    let (mut parts, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(piece_len(rest));
        parts.push(Part::Text(Text { text: piece.to_owned() }));
        rest = after.trim_start();
    }
    (parts.len() <= PARTS_MAX).then_some(parts)
}

/// How much of a text goes into one part. A longer text is split after a word, or at least not
/// within a joined picture or before a mark that belongs to the letter before it.
fn piece_len(text: &str) -> usize {
    if text.len() <= TEXT_BYTES_MAX {
        return text.len();
    }
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    let start = text.floor_char_boundary(end - JOINED_BYTES_MAX);
    let ends_word = text[start..end].rfind(char::is_whitespace).map(|index| start + index);
    let is_apart = |(index, next): &(usize, char)| {
        let last = text[..*index].chars().next_back();
        !is_joined(*next) && last.is_some_and(|last| last != ZERO_WIDTH_JOINER)
    };
    let boundaries = || text[start..].char_indices().map(|(index, next)| (start + index, next));
    let fitting = boundaries().take_while(|(index, _)| *index <= end);
    let apart = fitting.filter(is_apart).map(|(index, _)| index).last();
    ends_word.or(apart).unwrap_or(end)
}

const ZERO_WIDTH_JOINER: char = '\u{200d}';

/// How far back a text is searched for a place to split it. The longest joined pictures are
/// shorter.
const JOINED_BYTES_MAX: usize = 256;

/// Whether a character is shown as one with the character before it.
fn is_joined(character: char) -> bool {
    matches!(
        character,
        ZERO_WIDTH_JOINER
            | '\u{300}'..='\u{36f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{1f1e6}'..='\u{1f1ff}'
            | '\u{1f3fb}'..='\u{1f3ff}'
            | '\u{e0020}'..='\u{e007f}'
    )
}

/// The parts as they are recorded, if all of them are valid.
pub fn check(parts: &[Part]) -> Result<Vec<Part>, Rejection> {
    if parts.is_empty() || parts.len() > PARTS_MAX {
        return Err(invalid("parts", &format!("1 to {PARTS_MAX} parts")));
    }
    let numbered = parts.iter().enumerate();
    numbered.map(|(index, part)| check_part(part, &format!("parts[{index}]"))).collect()
}

fn check_part(part: &Part, field: &str) -> Result<Part, Rejection> {
    match part {
        Part::Text(Text { text }) if is_blank(text) => {
            Err(invalid(&format!("{field}.text"), "some text"))
        }
        Part::Text(Text { text }) if text.len() > TEXT_BYTES_MAX => {
            let expected = format!("at most {TEXT_BYTES_MAX} bytes; send several messages");
            Err(invalid(&format!("{field}.text"), &expected))
        }
        Part::Text(_) => Ok(part.clone()),
        Part::Attachment(attachment) => check_attachment(attachment, field).map(Part::Attachment),
        Part::File(file) => {
            check_label(&file.name, &file.media_type, field)?;
            Ok(part.clone())
        }
    }
}

fn check_attachment(attachment: &Attachment, field: &str) -> Result<Attachment, Rejection> {
    let Attachment { name, media_type, data, sha256, size_bytes } = attachment;
    check_label(name, media_type, field)?;
    let invalid = |name: &str, expected: &str| Err(invalid(&format!("{field}.{name}"), expected));
    let Ok(bytes) = STANDARD.decode(data) else {
        return invalid("data", "base64 with padding");
    };
    if bytes.is_empty() || bytes.len() > ATTACHMENT_BYTES_MAX {
        return invalid("data", &format!("1 to {ATTACHMENT_BYTES_MAX} bytes; send a link instead"));
    }
    let actual = canonical::hex(&canonical::sha256(&[&bytes]));
    if sha256.as_ref().is_some_and(|given| *given != actual) {
        return invalid("sha256", "the SHA-256 of the data, or nothing");
    }
    if size_bytes.is_some_and(|given| given != bytes.len() as u64) {
        return invalid("size_bytes", "the size of the data, or nothing");
    }
    Ok(Attachment {
        sha256: Some(actual),
        size_bytes: Some(bytes.len() as u64),
        ..attachment.clone()
    })
}

fn check_label(name: &str, media_type: &str, field: &str) -> Result<(), Rejection> {
    let invalid = |name: &str, expected: &str| Err(invalid(&format!("{field}.{name}"), expected));
    let is_plain = |character: char| !character.is_control() && !"/\\".contains(character);
    if is_blank(name) || name.len() > ATTACHMENT_NAME_BYTES_MAX || !name.chars().all(is_plain) {
        return invalid("name", &name_expected());
    }
    let is_token = |text: &str| {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !text.is_empty() && text.len() <= 127 && text.bytes().all(is_allowed)
    };
    if !media_type.split_once('/').is_some_and(|(kind, rest)| is_token(kind) && is_token(rest)) {
        return invalid("media_type", MEDIA_TYPE_EXPECTED);
    }
    Ok(())
}

fn invalid(field: &str, expected: &str) -> Rejection {
    Rejection::SchemaInvalid { field: field.to_owned(), expected: expected.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_split_between_words_and_pictures() {
        let family = "\u{1f469}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        let accents = "e\u{301}";
        for unit in [family, accents, "word ", "x", "\u{1f1e9}\u{1f1ea} "] {
            let text = unit.repeat(2 * TEXT_BYTES_MAX / unit.len() + 3);
            let parts = of_text(&text).expect("it fits");
            assert!(parts.len() > 1);
            for part in &parts {
                let Part::Text(Text { text }) = part else { panic!("{part:?}") };
                assert!(text.len() <= TEXT_BYTES_MAX);
                assert!(text.starts_with(unit.trim_end()), "{unit:?}: {text:.20}");
                assert!(text.ends_with(unit.trim_end()));
            }
        }
    }
}
