//! Names of things. Each is a newtype whose only constructor validates it, so a value of the type
//! is always a valid name. Names are shared, not copied, because every state, event and entry
//! carries several.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use uuid::{Builder, Uuid};

use crate::time::Time;
use crate::{canonical, form};

/// Long enough for any scheme of names people use, short enough to be a file name.
pub const NAME_BYTES_MAX: usize = 64;

/// Task and thread ids come from trackers and URLs, so they are less restricted and longer than our
/// names.
pub const REFERENCE_BYTES_MAX: usize = 200;

/// Why a text is not a valid id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}")]
pub struct InvalidId {
    pub expected: &'static str,
}

/// What [`is_name`] checks.
const NAME: &str = "^[a-z0-9][a-z0-9._-]*$";
/// What [`is_reference`] checks.
const REFERENCE: &str =
    r"^[^\s\x00-\x1F\x7F-\x9F]([^\x00-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F])?$";
const SUBSCRIPTION: &str = "^sub_[A-Za-z0-9]+$";
const SESSION: &str = "^sess_[A-Za-z0-9]+$";
const FILE: &str = "^sha256:[0-9a-f]{64}$";
const UUID: &str = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$";

/// The maximum lengths of the texts of [`SUBSCRIPTION`] and [`SESSION`].
const SUBSCRIPTION_BYTES_MAX: usize = "sub_".len() + NAME_BYTES_MAX;
const SESSION_BYTES_MAX: usize = "sess_".len() + NAME_BYTES_MAX;

/// Every text of [`FILE`] has this length.
const FILE_BYTES: usize = FILE_PREFIX.len() + 64;

const FILE_PREFIX: &str = "sha256:";

const NAME_EXPECTED: &str =
    "1 to 64 of a-z, 0-9, '.', '_' and '-', starting with a letter or a digit";
const REFERENCE_EXPECTED: &str =
    "1 to 200 bytes of text without control characters, and without a blank at either end";
const SUBSCRIPTION_EXPECTED: &str = "`sub_` and 1 to 64 letters or digits";
const SESSION_EXPECTED: &str = "`sess_` and 1 to 64 of A-Z, a-z and 0-9";
const FILE_EXPECTED: &str = "`sha256:` and 64 lower-case hexadecimal digits";
const UUID_EXPECTED: &str = "a UUID in its hyphenated lower-case form";

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $check:ident, $pattern:ident, $max:ident, $expected:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if $check(text) { Ok(Self(text.into())) } else {
                    Err(InvalidId { expected: $expected })
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                if $check(&text) { Ok(Self(text.into())) } else {
                    Err(InvalidId { expected: $expected })
                }
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!({ "type": "string" });
                form::patterned($pattern, $max, $expected.to_owned())(&mut schema);
                schema
            }
        }
    };
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Uuid);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(&self.0.hyphenated())
            }
        }

        impl $name {
            pub fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                let invalid = InvalidId { expected: UUID_EXPECTED };
                let uuid = Uuid::try_parse(text).map_err(|_| invalid.clone())?;
                // One spelling per id: other forms of the same UUID would be different strings in
                // paths, logs and chains.
                let mut spelt = Uuid::encode_buffer();
                let is_ours = uuid.hyphenated().encode_lower(&mut spelt) == text;
                if is_ours { Ok(Self(uuid)) } else { Err(invalid) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!({ "type": "string", "format": "uuid" });
                form::pattern(UUID, UUID_EXPECTED)(&mut schema);
                schema
            }
        }
    };
}

text_id!(
    /// The tenant. Safe as a folder name.
    TeamspaceId, is_name, NAME, NAME_BYTES_MAX, NAME_EXPECTED
);
text_id!(
    /// Any party that can hold work. Lower-case ASCII only: one spelling, no look-alikes.
    AgentId, is_name, NAME, NAME_BYTES_MAX, NAME_EXPECTED
);
text_id!(
    /// A piece of work, named by the tracker it comes from.
    TaskId, is_reference, REFERENCE, REFERENCE_BYTES_MAX, REFERENCE_EXPECTED
);
text_id!(
    /// The exchange of messages that a handoff belongs to.
    ThreadId, is_reference, REFERENCE, REFERENCE_BYTES_MAX, REFERENCE_EXPECTED
);
text_id!(
    /// What a message is about, in a few words that others can filter by.
    Topic, is_reference, REFERENCE, REFERENCE_BYTES_MAX, REFERENCE_EXPECTED
);
text_id!(
    /// A team, as its members call it.
    TeamId, is_name, NAME, NAME_BYTES_MAX, NAME_EXPECTED
);
text_id!(
    /// A teamspace's own code for how a matter was settled, such as `refunded`.
    Disposition, is_name, NAME, NAME_BYTES_MAX, NAME_EXPECTED
);
text_id!(
    /// A graph of a teamspace.
    GraphId, is_name, NAME, NAME_BYTES_MAX, NAME_EXPECTED
);
text_id!(
    /// The subscription of one listener to what agents announce. Drawn at random; a name, not a
    /// credential.
    SubscriptionId, is_subscription, SUBSCRIPTION, SUBSCRIPTION_BYTES_MAX, SUBSCRIPTION_EXPECTED
);
text_id!(
    /// A session that an agent announces; the agent chooses its id.
    SessionId, is_session, SESSION, SESSION_BYTES_MAX, SESSION_EXPECTED
);
text_id!(
    /// A stored file of a teamspace, by the SHA-256 of its bytes. It names the file and grants
    /// nothing.
    FileId, is_file, FILE, FILE_BYTES, FILE_EXPECTED
);
uuid_id!(
    /// An upload that is not finished. Drawn at random.
    UploadId
);
uuid_id!(
    /// One message, never reused. UUIDv7, so that messages sort by the time they were sent.
    MessageId
);
uuid_id!(
    /// One conversation, never reused. UUIDv7, so that conversations sort by the time they began.
    ConversationId
);
uuid_id!(
    /// One transfer of a conversation to a person, never reused.
    TransferId
);
uuid_id!(
    /// One handoff, never reused. UUIDv7, so that handoffs sort by the time they were made.
    HandoffId
);
uuid_id!(
    /// One webhook.
    WebhookId
);
uuid_id!(
    /// One question to a human, never reused. UUIDv7, so that questions sort by the time they were
    /// asked.
    QuestionId
);
uuid_id!(
    /// One credential. Naming it reveals nothing about its secret.
    TokenId
);

impl TransferId {
    /// The id of a transfer that a rule of the conversation asks for. There is at most one in each
    /// epoch.
    pub fn derived(conversation: ConversationId, epoch: u64, now: Time) -> Self {
        let hash = canonical::sha256(&[conversation.0.as_bytes(), &epoch.to_be_bytes()]);
        Self::from_hash(&hash, now)
    }

    /// A UUIDv7 of this moment that takes its random bits from a hash.
    pub fn from_hash(hash: &canonical::Hash, now: Time) -> Self {
        let mut tail = [0; 10];
        tail.copy_from_slice(&hash[..10]);
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        Self(Builder::from_unix_timestamp_millis(millis, &tail).into_uuid())
    }
}

impl FileId {
    pub fn of_digest(digest: &canonical::Hash) -> Self {
        Self(format!("{FILE_PREFIX}{}", canonical::hex(digest)).into())
    }

    /// The 64 hexadecimal digits.
    pub fn digits(&self) -> &str {
        &self.0[FILE_PREFIX.len()..]
    }
}

impl TeamspaceId {
    /// The teamspace that exists from the start.
    pub fn default_teamspace() -> Self {
        Self("default".into())
    }
}

/// The schema of a text that is parsed as a name later.
pub fn name_form(schema: &mut Schema) {
    form::patterned(NAME, NAME_BYTES_MAX, NAME_EXPECTED.to_owned())(schema);
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first_is_plain = bytes.next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let rest_is_plain = bytes
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-'));
    first_is_plain && rest_is_plain && text.len() <= NAME_BYTES_MAX
}

fn is_subscription(text: &str) -> bool {
    text.strip_prefix("sub_").is_some_and(|rest| {
        (1..=NAME_BYTES_MAX).contains(&rest.len())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn is_session(text: &str) -> bool {
    text.strip_prefix("sess_").is_some_and(|rest| {
        (1..=NAME_BYTES_MAX).contains(&rest.len())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn is_file(text: &str) -> bool {
    text.strip_prefix(FILE_PREFIX).is_some_and(|digits| {
        digits.len() + FILE_PREFIX.len() == FILE_BYTES
            && digits.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    })
}

fn is_reference(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= REFERENCE_BYTES_MAX
        && text.trim() == text
        && !text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_spelling() {
        let cases = [
            ("barry", true),
            ("a", true),
            ("0.agent_x-1", true),
            ("", false),
            ("Barry", false),
            (".hidden", false),
            ("-flag", false),
            ("a/b", false),
            ("a b", false),
            ("bärry", false),
            ("b\u{430}rry", false),
            ("a\u{200b}", false),
            ("barry\n", false),
        ];
        for (text, valid) in cases {
            assert_eq!(text.parse::<AgentId>().is_ok(), valid, "{text:?}");
        }
        assert!("x".repeat(NAME_BYTES_MAX).parse::<AgentId>().is_ok());
        assert!("x".repeat(NAME_BYTES_MAX + 1).parse::<AgentId>().is_err());
    }

    #[test]
    fn sessions_are_named_as_the_protocol_says() {
        for (text, valid) in [
            ("sess_2c91A7", true),
            ("sess_", false),
            ("sess_a-b", false),
            ("sess_a_b", false),
            ("Sess_a", false),
            ("sess_\u{e9}", false),
        ] {
            assert_eq!(text.parse::<SessionId>().is_ok(), valid, "{text:?}");
        }
        assert!(format!("sess_{}", "x".repeat(64)).parse::<SessionId>().is_ok());
        assert!(format!("sess_{}", "x".repeat(65)).parse::<SessionId>().is_err());
    }

    #[test]
    fn uuids_have_one_spelling() {
        let id = "01938c2e-0000-7000-8000-000000000001";
        assert_eq!(id.parse::<HandoffId>().unwrap().to_string(), id);
        assert!(id.to_uppercase().replace("01938C2E", "ABCDEF12").parse::<HandoffId>().is_err());
        assert!(id.replace('-', "").parse::<HandoffId>().is_err());
    }

    #[test]
    fn references_are_free_text_without_surprises() {
        for (text, valid) in [
            ("workq:task-123", true),
            ("タスク 1", true),
            ("", false),
            (" x", false),
            ("a\tb", false),
        ] {
            assert_eq!(text.parse::<TaskId>().is_ok(), valid, "{text:?}");
        }
    }
}
