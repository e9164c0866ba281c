//! The keys of the manifest: the signing one, the next one, and the retired ones.
//!
//! The next key is published long before it signs, so that a client with a copy of the published
//! keys knows it already. A retired key stays published, so that its signatures can still be
//! checked. It leaves a signed statement that names its successor.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::jws::{Jwk, Jwks, JwsError, Key};
use base::canonical;
use base::time::{Span, Time};

/// The `typ` of a statement that names the next key.
pub const ROTATION_KIND: &str = "tasuki-key-rotation+jws";

/// How long a retired key stays published. A client that keeps a signed manifest longer should
/// fetch it again.
pub const RETIRED_KEPT: Span = Span::from_millis(90 * 24 * 60 * 60 * 1_000);

/// The most retired keys that stay published: enough for an operator who rotates every week.
pub const RETIRED_MAX: usize = 16;

/// All keys of a server.
#[derive(Debug, Clone)]
pub struct KeyRing {
    signing: Key,
    signing_since: Time,
    next: Key,
    next_since: Time,
    /// Oldest first.
    retired: Vec<Retired>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Retired {
    key: Jwk,
    at: Time,
    /// Its last signature.
    statement: String,
}

/// A key, for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub kid: String,
    pub role: Role,
    /// When it got this role.
    pub since: Time,
    /// When it stops being published.
    pub until: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Signing,
    Next,
    Retired,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Signing => "signing",
            Role::Next => "next",
            Role::Retired => "retired",
        }
    }
}

/// The statement of a retired key about its successor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rotation {
    pub from: String,
    pub to: Jwk,
    pub at: Time,
}

/// The content of the key file, which only the owner of the data folder can read.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    signing: KeptKey,
    next: KeptKey,
    retired: Vec<KeptRetired>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptKey {
    seed: String,
    since: Time,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptRetired {
    x: String,
    at: Time,
    statement: String,
}

impl KeyRing {
    /// Both seeds must be random.
    pub fn new(signing: &[u8; 32], next: &[u8; 32], now: Time) -> Self {
        Self {
            signing: Key::new(signing),
            signing_since: now,
            next: Key::new(next),
            next_since: now,
            retired: Vec::new(),
        }
    }

    /// The key that signs now.
    pub fn signing(&self) -> &Key {
        &self.signing
    }

    /// The next key signs from now on, and `seed` makes the one after it. The old one is kept
    /// without its secret half.
    pub fn rotated(&self, seed: &[u8; 32], now: Time) -> Self {
        let from = self.signing.kid().to_owned();
        let rotation = Rotation { from, to: self.next.public().clone(), at: now };
        let statement = canonical::canonical(&json!(rotation));
        let mut retired = self.retired.clone();
        retired.push(Retired {
            key: self.signing.public().clone(),
            at: now,
            statement: self.signing.sign(ROTATION_KIND, statement.as_bytes()),
        });
        retired.retain(|one| one.at.plus(RETIRED_KEPT) > now);
        let too_many = retired.len().saturating_sub(RETIRED_MAX);
        retired.drain(..too_many);
        Self {
            signing: self.next.clone(),
            signing_since: now,
            next: Key::new(seed),
            next_since: now,
            retired,
        }
    }

    /// The public keys with which clients check our signatures.
    pub fn published(&self, now: Time) -> Jwks {
        let retired = || self.retired.iter().filter(|one| one.at.plus(RETIRED_KEPT) > now);
        let in_use = [self.signing.public(), self.next.public()];
        let keys = in_use.into_iter().chain(retired().rev().map(|one| &one.key));
        Jwks {
            keys: keys.map(|key| json!(key)).collect(),
            rotations: retired().map(|one| one.statement.clone()).collect(),
        }
    }

    /// All keys, the signing one first.
    pub fn list(&self) -> Vec<Listed> {
        let listed = |key: &Jwk, role, since: Time, until| Listed {
            kid: key.kid.clone(),
            role,
            since,
            until,
        };
        let mut all = vec![
            listed(self.signing.public(), Role::Signing, self.signing_since, None),
            listed(self.next.public(), Role::Next, self.next_since, None),
        ];
        all.extend(
            self.retired.iter().rev().map(|one| {
                listed(&one.key, Role::Retired, one.at, Some(one.at.plus(RETIRED_KEPT)))
            }),
        );
        all
    }

    /// With its secrets: for the key file and nothing else.
    pub fn to_secret_text(&self) -> String {
        let seed = |key: &Key| canonical::hex(key.seed());
        let retired = self.retired.iter().map(|one| KeptRetired {
            x: one.key.x.clone(),
            at: one.at,
            statement: one.statement.clone(),
        });
        let kept = Kept {
            signing: KeptKey { seed: seed(&self.signing), since: self.signing_since },
            next: KeptKey { seed: seed(&self.next), since: self.next_since },
            retired: retired.collect(),
        };
        json!(kept).to_string()
    }

    /// Reads what [`KeyRing::to_secret_text`] wrote.
    pub fn from_secret_text(text: &str) -> Option<Self> {
        let kept: Kept = serde_json::from_str(text).ok()?;
        let key = |kept: &KeptKey| Some(Key::new(&canonical::parse_hex32(&kept.seed)?));
        let mut retired = Vec::with_capacity(kept.retired.len());
        for one in kept.retired {
            let point: [u8; 32] = URL_SAFE_NO_PAD.decode(&one.x).ok()?.try_into().ok()?;
            retired.push(Retired { key: Jwk::new(&point), at: one.at, statement: one.statement });
        }
        Some(Self {
            signing: key(&kept.signing)?,
            signing_since: kept.signing.since,
            next: key(&kept.next)?,
            next_since: kept.next.since,
            retired,
        })
    }
}

impl Jwks {
    /// Follows the statements from a trusted key to its last successor, so that a client that
    /// pinned an old key gets to the current one.
    pub fn successor(&self, trusted: &Jwk) -> Jwk {
        let mut current = trusted.clone();
        for statement in self.rotations.iter().take(super::jws::KEYS_MAX) {
            let by_current = Jwks { keys: vec![json!(current)], rotations: Vec::new() };
            if let Ok(rotation) = by_current.rotation(statement)
                && rotation.from == current.kid
            {
                current = rotation.to;
            }
        }
        current
    }

    fn rotation(&self, statement: &str) -> Result<Rotation, JwsError> {
        let (_, payload) = self.open(ROTATION_KIND, statement)?;
        serde_json::from_slice(&payload)
            .map_err(|_| JwsError::Form { expected: "a statement of which key comes next" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(n: i64) -> Time {
        Time::from_millis(n * 24 * 60 * 60 * 1_000)
    }

    fn roles(ring: &KeyRing) -> Vec<&'static str> {
        ring.list().iter().map(|one| one.role.as_str()).collect()
    }

    #[test]
    fn a_rotation_breaks_no_verifier() {
        let first = KeyRing::new(&[1; 32], &[2; 32], days(0));
        let (copied, old) = (first.published(days(0)), first.signing().sign("thing", b"old"));
        let second = first.rotated(&[3; 32], days(10));
        let new = second.signing().sign("thing", b"new");
        // A client with a copy from before the rotation knows the new key; a client that fetches
        // after it still gets the old one.
        assert!(copied.open("thing", &new).is_ok());
        assert!(second.published(days(10)).open("thing", &old).is_ok());
        assert_eq!(roles(&second), ["signing", "next", "retired"]);
        // In the end it is gone.
        assert!(second.published(days(99)).open("thing", &old).is_ok());
        let error = second.published(days(100)).open("thing", &old).unwrap_err();
        assert_eq!(error, JwsError::UnknownKey);
        assert!(second.published(days(100)).rotations.is_empty());
    }

    #[test]
    fn whoever_trusts_an_old_key_is_led_to_the_new_one() {
        let first = KeyRing::new(&[1; 32], &[2; 32], days(0));
        let third = first.rotated(&[3; 32], days(1)).rotated(&[4; 32], days(2));
        let published = third.published(days(2));
        assert_eq!(&published.successor(first.signing().public()), third.signing().public());
        // A statement of another server's key is ignored.
        let stranger = KeyRing::new(&[8; 32], &[9; 32], days(0)).rotated(&[7; 32], days(1));
        let mut forged = stranger.published(days(1));
        forged.keys.push(json!(first.signing().public()));
        assert_eq!(&forged.successor(first.signing().public()), first.signing().public());
    }

    #[test]
    fn it_is_kept_and_read_again() {
        let mut ring = KeyRing::new(&[1; 32], &[2; 32], days(0));
        for day in 1..40 {
            ring = ring.rotated(&[day + 2; 32], days(day.into()));
        }
        assert_eq!(ring.list().len(), 2 + RETIRED_MAX);
        let again = KeyRing::from_secret_text(&ring.to_secret_text()).unwrap();
        assert_eq!(again.list(), ring.list());
        assert_eq!(again.published(days(40)), ring.published(days(40)));
        assert_eq!(again.to_secret_text(), ring.to_secret_text());
        let public = json!(ring.published(days(40))).to_string();
        assert!(!public.contains(&canonical::hex(ring.signing().seed())));
        for wrong in ["", "{}", "[]", &ring.to_secret_text().replace("seed", "sead")] {
            assert!(KeyRing::from_secret_text(wrong).is_none());
        }
        assert!(!format!("{ring:?}").contains(&canonical::hex(ring.signing().seed())));
    }
}
