//! The lines of an export. First the header, then every entry in order with its document after it,
//! last the checkpoints and the key. A line has exactly one spelling, so verification notices a
//! change to any byte.

use protocol::canonical;
use protocol::ledger::{Body, Entry, Stream};
use protocol::time::Time;
use serde::{Deserialize, Serialize};

pub const FORMAT: &str = "tasuki-ledger";
pub const VERSION: u32 = 1;

/// Far more than any line of ours: a document is at most some hundred kilobytes. A longer line is
/// not read.
pub const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub format: String,
    pub version: u32,
    /// The sizes of the checkpoints at the end, so that one pass is enough.
    pub checkpoint_sizes: Vec<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ReportLine {
    Entry(EntryLine),
    Document(DocumentLine),
    End(EndLine),
}

/// An entry with all that is hashed, in the words of the feed. The body is text, because its hash
/// is over the very bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryLine {
    pub seq: u64,
    pub teamspace: String,
    pub stream: String,
    pub position: u64,
    pub event: String,
    pub version: u32,
    pub actor: String,
    pub at: Time,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Instead of salt and body once they are erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commitment: Option<String>,
    pub hash: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DocumentLine {
    /// The entry that names it, which stands before it.
    pub seq: u64,
    pub hash: String,
    /// `null` once erased.
    pub text: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndLine {
    pub n_entries: u64,
    /// Signed notes, oldest first.
    pub checkpoints: Vec<String>,
    /// The verifier key, in C2SP's form.
    pub key: Option<String>,
}

/// Why a line cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    #[error("expected a line of an export: {0}")]
    Json(String),
    #[error("expected the canonical form of this line")]
    Spelling,
    #[error("expected {0}")]
    Field(&'static str),
}

impl Header {
    pub fn new(checkpoint_sizes: Vec<u64>) -> Self {
        Self { format: FORMAT.to_owned(), version: VERSION, checkpoint_sizes }
    }

    pub fn parse(text: &str) -> Result<Self, BadLine> {
        let header: Header = parse(text)?;
        if header.format != FORMAT || header.version != VERSION {
            return Err(BadLine::Field("the format tasuki-ledger, version 1"));
        }
        Ok(header)
    }
}

impl ReportLine {
    pub fn parse(text: &str) -> Result<Self, BadLine> {
        parse(text)
    }
}

/// One line, without its line feed.
pub fn to_text(line: &impl Serialize) -> String {
    serde_json::to_string(line).expect("a line holds only strings, numbers and lists")
}

fn parse<T: for<'t> Deserialize<'t> + Serialize>(text: &str) -> Result<T, BadLine> {
    let line: T = serde_json::from_str(text).map_err(|error| BadLine::Json(error.to_string()))?;
    if to_text(&line) != text {
        return Err(BadLine::Spelling);
    }
    Ok(line)
}

impl EntryLine {
    pub fn of(seq: u64, entry: &Entry) -> Self {
        let (salt, body, commitment) = match &entry.body {
            Body::Kept { salt, text } => (Some(canonical::hex(salt)), Some(text.clone()), None),
            Body::Erased { commitment } => (None, None, Some(canonical::hex(commitment))),
        };
        Self {
            seq,
            teamspace: entry.stream.teamspace.to_string(),
            stream: entry.stream.subject.to_string(),
            position: entry.position,
            event: entry.name.clone().into_owned(),
            version: entry.version,
            actor: entry.actor.to_string(),
            at: entry.at,
            salt,
            body,
            commitment,
            hash: canonical::hex(&entry.hash),
        }
    }

    pub fn into_entry(self) -> Result<Entry, BadLine> {
        let field = BadLine::Field;
        let body = match (self.salt, self.body, self.commitment) {
            (Some(salt), Some(text), None) => {
                let salt = parse_salt(&salt).ok_or(field("a salt of 32 hexadecimal digits"))?;
                Body::Kept { salt, text }
            }
            (None, None, Some(commitment)) => {
                let commitment = canonical::parse_hex32(&commitment)
                    .ok_or(field("a commitment of 64 hexadecimal digits"))?;
                Body::Erased { commitment }
            }
            (_, _, _) => return Err(field("a salt and a body, or a commitment")),
        };
        Ok(Entry {
            stream: Stream {
                teamspace: self.teamspace.parse().map_err(|_| field("the name of a teamspace"))?,
                subject: self.stream.parse().map_err(|_| field("the name of a stream"))?,
            },
            position: self.position,
            name: self.event.into(),
            version: self.version,
            actor: self.actor.into(),
            at: self.at,
            body,
            hash: canonical::parse_hex32(&self.hash)
                .ok_or(field("a hash of 64 hexadecimal digits"))?,
        })
    }
}

fn parse_salt(text: &str) -> Option<[u8; 16]> {
    // A salt is half a hash.
    let padded = canonical::parse_hex32(&format!("{text}{}", "0".repeat(32)))?;
    padded.first_chunk().copied()
}
