//! Cursors as callers see them. The sequence number of an entry counts the entries of all
//! teamspaces, so a caller gets it encrypted and authenticated, for its own teamspace and for one
//! purpose. A cursor reveals nothing to the caller, and a cursor that the server did not make for
//! it is refused.
//!
//! Nothing is stored: all cursors derive from one key of the server, so they stay valid after a
//! restart. The construction is a synthetic initialisation vector: the tag is an HMAC over the
//! plain cursor, and the mask that hides the plain cursor is an HMAC over the tag.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::ids::{HandoffId, TeamspaceId};
use crate::keyed::{HmacKey, hmac};
use crate::time::Time;
use aaep::cursor::Cursor;

/// Tells a cursor from other ids, and keeps it from beginning with a dash on a command line.
const PREFIX: &str = "cur_";

/// The form of a cursor: the prefix, and [`TAG_BYTES`] and [`PLAIN_BYTES`] as base64.
pub const PATTERN: &str = "^cur_[A-Za-z0-9_-]{32}$";

/// The form of a cursor, or 0 for the beginning.
pub const OR_BEGINNING: &str = "^(0|cur_[A-Za-z0-9_-]{32})$";

/// A forged cursor passes once in 2^64 tries. It then names a place in the caller's own teamspace,
/// which the caller may read anyway.
const TAG_BYTES: usize = 8;

/// The sequence number, the index, and the salt.
const PLAIN_BYTES: usize = 16;

/// The key of all cursors. The state of both HMACs after their keys is kept, because every streamed
/// entry gets a cursor.
#[derive(Clone)]
pub struct CursorKey {
    tag: HmacKey,
    mask: HmacKey,
}

/// The teamspace and the purpose that a cursor is valid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope<'a> {
    pub teamspace: &'a TeamspaceId,
    pub purpose: Purpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A position in the events of a teamspace.
    Events,
    /// A position in the events that agents announce in sessions.
    Announced,
    /// A row of the list with this name.
    List(&'static str),
    /// An entry of the history of one handoff.
    History(HandoffId),
}

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey")
    }
}

impl From<&'static str> for Purpose {
    fn from(list: &'static str) -> Self {
        Purpose::List(list)
    }
}

impl Purpose {
    fn name(self) -> (&'static str, Cow<'static, str>) {
        match self {
            Purpose::Events => ("events", "".into()),
            Purpose::Announced => ("announced", "".into()),
            Purpose::List(name) => ("list", name.into()),
            Purpose::History(id) => ("history", id.to_string().into()),
        }
    }
}

impl CursorKey {
    /// From a secret that has other uses too. The derived keys reveal nothing about it.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let key = |name: &[u8]| HmacKey::new(&hmac(seed, &[name]));
        Self { tag: key(b"tasuki cursor tags"), mask: key(b"tasuki cursor masks") }
    }

    /// The cursor of an entry, an event or a row. It is the same each time, so that a caller
    /// recognises a repeat.
    pub fn seal(&self, scope: Scope<'_>, cursor: Cursor) -> String {
        self.seal_salted(scope, cursor, 0)
    }

    /// The cursor of a position that moves when other callers act. It differs at each moment, so
    /// that a caller cannot tell whether the position has moved.
    pub fn seal_moving(&self, scope: Scope<'_>, cursor: Cursor, now: Time) -> String {
        let [.., a, b, c, d] = now.as_millis().to_be_bytes();
        self.seal_salted(scope, cursor, u32::from_be_bytes([a, b, c, d]).max(1))
    }

    fn seal_salted(&self, scope: Scope<'_>, cursor: Cursor, salt: u32) -> String {
        let mut plain = [0; PLAIN_BYTES];
        plain[..8].copy_from_slice(&cursor.sequence.to_be_bytes());
        plain[8..12].copy_from_slice(&cursor.index.to_be_bytes());
        plain[12..].copy_from_slice(&salt.to_be_bytes());
        let tag = self.tag_of(scope, &plain);
        let mut sealed = [0; TAG_BYTES + PLAIN_BYTES];
        sealed[..TAG_BYTES].copy_from_slice(&tag);
        sealed[TAG_BYTES..].copy_from_slice(&self.masked(scope, tag, plain));
        let mut text = String::with_capacity(PREFIX.len() + 32);
        text.push_str(PREFIX);
        URL_SAFE_NO_PAD.encode_string(sealed, &mut text);
        text
    }

    /// Opens a cursor that a caller sent; `None` if it was not made for this teamspace and this
    /// purpose.
    pub fn open(&self, scope: Scope<'_>, text: &str) -> Option<Cursor> {
        let mut sealed = [0; TAG_BYTES + PLAIN_BYTES];
        let body = text.strip_prefix(PREFIX)?;
        let n_bytes = URL_SAFE_NO_PAD.decode_slice(body, &mut sealed).ok()?;
        if n_bytes != sealed.len() {
            return None;
        }
        let (tag, masked) = sealed.split_at(TAG_BYTES);
        let tag: [u8; TAG_BYTES] = tag.try_into().expect("it was split there");
        let masked: [u8; PLAIN_BYTES] = masked.try_into().expect("it is the rest");
        let plain = self.masked(scope, tag, masked);
        // Comparing two integers takes constant time.
        if u64::from_be_bytes(tag) != u64::from_be_bytes(self.tag_of(scope, &plain)) {
            return None;
        }
        let (sequence, rest) = plain.split_at(8);
        Some(Cursor {
            sequence: u64::from_be_bytes(sequence.try_into().expect("it was split there")),
            index: u32::from_be_bytes(rest[..4].try_into().expect("they are four")),
        })
    }

    fn tag_of(&self, scope: Scope<'_>, plain: &[u8; PLAIN_BYTES]) -> [u8; TAG_BYTES] {
        let (purpose, name) = scope.purpose.name();
        let teamspace = scope.teamspace.as_str().as_bytes();
        let (purpose, name) = (purpose.as_bytes(), name.as_bytes());
        // No name has a line break, so different parts never concatenate to the same bytes.
        first(&self.tag.sign(&[teamspace, b"\n", purpose, b"\n", name, b"\n", plain]))
    }

    /// Masks plain text, or unmasks masked text.
    fn masked(
        &self,
        scope: Scope<'_>,
        tag: [u8; TAG_BYTES],
        mut text: [u8; PLAIN_BYTES],
    ) -> [u8; PLAIN_BYTES] {
        let teamspace = scope.teamspace.as_str().as_bytes();
        let mask: [u8; PLAIN_BYTES] = first(&self.mask.sign(&[teamspace, b"\n", &tag]));
        text.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
        text
    }
}

fn first<const N: usize>(hash: &[u8; 32]) -> [u8; N] {
    std::array::from_fn(|index| hash[index])
}

/// Whether a text is a sequence number, the old form of a cursor: `812`, or `812.3` of an event.
pub fn is_numeric(text: &str) -> bool {
    let mut parts = text.splitn(2, '.');
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    parts.all(is_number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::form::Form;

    fn teamspace(name: &str) -> TeamspaceId {
        name.parse().unwrap()
    }

    fn at(sequence: u64, index: u32) -> Cursor {
        Cursor { sequence, index }
    }

    #[test]
    fn a_cursor_is_good_for_one_teamspace_and_one_purpose() {
        let (red, blue) = (teamspace("red"), teamspace("blue"));
        let key = CursorKey::from_seed(&[7; 32]);
        let scope = Scope { teamspace: &red, purpose: Purpose::Events };
        let others = [
            Scope { teamspace: &blue, ..scope },
            Scope { purpose: Purpose::Announced, ..scope },
            Scope { purpose: Purpose::List("handoffs"), ..scope },
        ];
        for cursor in [at(0, 0), at(1, 0), at(812, 3), at(u64::MAX, u32::MAX)] {
            let moving = key.seal_moving(scope, cursor, Time::from_millis(1_234_567_890_123));
            for text in [key.seal(scope, cursor), moving] {
                assert_eq!(key.open(scope, &text), Some(cursor));
                for pattern in [PATTERN, OR_BEGINNING] {
                    let form = Form::new(&json!({ "pattern": pattern }));
                    assert_eq!(form.check(&text.as_str().into()), Ok(()));
                }
                for other in others {
                    assert_eq!(key.open(other, &text), None, "{other:?}");
                }
                assert_eq!(CursorKey::from_seed(&[8; 32]).open(scope, &text), None);
            }
        }
        let list = Scope { purpose: Purpose::List("agents"), ..scope };
        let row = key.seal(list, at(5, 0));
        assert_eq!(key.open(Scope { purpose: Purpose::List("handoffs"), ..scope }, &row), None);
        assert_eq!(format!("{key:?}"), "CursorKey");
    }

    /// Any change makes a cursor invalid, and so does anything that only looks like one.
    #[test]
    fn a_forged_cursor_is_refused() {
        let red = teamspace("red");
        let key = CursorKey::from_seed(&[7; 32]);
        let scope = Scope { teamspace: &red, purpose: Purpose::Events };
        let text = key.seal(scope, at(812, 3));
        for place in 0..text.len() {
            let mut forged = text.clone().into_bytes();
            forged[place] = if forged[place] == b'A' { b'B' } else { b'A' };
            assert_eq!(key.open(scope, &String::from_utf8(forged).unwrap()), None, "{place}");
            assert_eq!(key.open(scope, &text[..place]), None, "cut at {place}");
        }
        let longer = format!("{text}A");
        let hostile = ["", "cur_", "0", "812", "812.3", "cur_é", &text[4..], &longer, " ", "\n"];
        for hostile in hostile {
            assert_eq!(key.open(scope, hostile), None, "{hostile}");
        }
    }

    /// What a tenant could learn from the cursors of its own entries.
    #[test]
    fn cursors_tell_neither_order_nor_distance_nor_movement() {
        let red = teamspace("red");
        let key = CursorKey::from_seed(&[7; 32]);
        let scope = Scope { teamspace: &red, purpose: Purpose::Events };
        let texts: Vec<_> = (1..=64).map(|sequence| key.seal(scope, at(sequence, 0))).collect();
        let n_growing = texts.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((16..48).contains(&n_growing), "{n_growing} of 63 grow");
        assert_eq!(texts[8], key.seal(scope, at(9, 0)), "the same entry has the same cursor");
        let beat =
            |second: i64| key.seal_moving(scope, at(9, 0), Time::from_millis(second * 1_000));
        assert!(beat(1) != beat(2) && beat(1) != texts[8], "though nothing has moved");
    }

    #[test]
    fn numbers_are_known_as_the_cursors_of_old() {
        for (text, expected) in
            [("812", true), ("812.3", true), ("", false), ("812.", false), ("cur_8", false)]
        {
            assert_eq!(is_numeric(text), expected, "{text}");
        }
    }
}
