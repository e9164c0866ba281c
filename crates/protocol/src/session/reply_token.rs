//! The tokens with which listeners answer. Each copy of a question has its own token, which tells
//! the server the place of the question in the ledger and proves which listener got it. Nothing is
//! stored: the proof derives from one key of the server, so a token stays valid after a restart.
//! The place is masked, because it reveals how many entries all teamspaces have.
//!
//! A token is no credential. The caller who answers is identified by its own credential, and must
//! be entitled.

use std::fmt;

use crate::canonical::Hash;
use crate::ids::SubscriptionId;
use crate::keyed::hmac;
use crate::ledger::Stream;
use aaep::cursor::Cursor;

const PREFIX: &str = "rpl_";

/// The length of the proof: 256 bits in base 62.
const PROOF_CHARS: usize = 43;

/// The length of a place: 96 bits in base 62.
const PLACE_CHARS: usize = 17;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The keys of all proofs, and of the masks of their places.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplyKey {
    proof: Hash,
    mask: Hash,
}

/// The question, and the listener who got it.
#[derive(Debug, Clone, Copy)]
pub struct Put<'a> {
    pub session: &'a Stream,
    pub event_id: &'a str,
    pub subscription: &'a SubscriptionId,
    /// The bearer of the subscription, as the record names principals.
    pub listener: &'a str,
}

impl fmt::Debug for ReplyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReplyKey")
    }
}

impl ReplyKey {
    /// From a secret that has other uses too. The derived keys reveal nothing about it.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self {
            proof: hmac(seed, &[b"tasuki reply tokens"]),
            mask: hmac(seed, &[b"tasuki reply token places"]),
        }
    }

    pub fn token(&self, at: Cursor, put: Put<'_>) -> String {
        let mut proof = String::with_capacity(PROOF_CHARS);
        push_proof(&mut proof, &self.proof(at, put));
        let mut token = String::with_capacity(PREFIX.len() + PLACE_CHARS + PROOF_CHARS);
        token.push_str(PREFIX);
        let place = u128::from(at.sequence) << 32 | u128::from(at.index);
        push_digits(&mut token, place ^ self.mask(&proof));
        token.push_str(&proof);
        token
    }

    /// The place of the question that a token claims. That of a forged one is arbitrary.
    pub fn place(&self, token: &str) -> Option<Cursor> {
        let body = token.strip_prefix(PREFIX).filter(|body| body.is_ascii())?;
        let (place, proof) = body.split_at_checked(PLACE_CHARS)?;
        if proof.len() != PROOF_CHARS {
            return None;
        }
        let place = number(place)? ^ self.mask(proof);
        let sequence = u64::try_from(place >> 32).ok()?;
        Some(Cursor { sequence, index: (place & u128::from(u32::MAX)) as u32 })
    }

    /// Whether exactly this token was made for this question and this listener.
    pub fn is_genuine(&self, token: &str, put: Put<'_>) -> bool {
        // Comparing hashes of both takes constant time.
        let made = self.place(token).map(|at| self.token(at, put));
        made.is_some_and(|made| {
            let hash = |text: &str| hmac(&self.proof, &[text.as_bytes()]);
            hash(&made) == hash(token)
        })
    }

    /// 96 bits that differ for each proof.
    fn mask(&self, proof: &str) -> u128 {
        let hash = hmac(&self.mask, &[proof.as_bytes()]);
        hash[..12].iter().fold(0, |mask, byte| mask << 8 | u128::from(*byte))
    }

    fn proof(&self, at: Cursor, put: Put<'_>) -> Hash {
        let parts = [
            put.session.teamspace.as_str(),
            &put.session.subject.to_string(),
            put.event_id,
            put.subscription.as_str(),
            put.listener,
            &at.to_string(),
        ];
        // No part has a line break, so different parts never join to the same text.
        hmac(&self.proof, &[parts.join("\n").as_bytes()])
    }
}

fn push_digits(text: &mut String, mut number: u128) {
    let start = text.len();
    for _ in 0..PLACE_CHARS {
        text.insert(start, char::from(DIGITS[(number % 62) as usize]));
        number /= 62;
    }
}

fn number(digits: &str) -> Option<u128> {
    digits.bytes().try_fold(0_u128, |number, byte| {
        let digit = DIGITS.iter().position(|digit| *digit == byte)?;
        number.checked_mul(62)?.checked_add(digit as u128)
    })
}

/// 256 bits as 43 digits: a long division by 62.
fn push_proof(text: &mut String, proof: &Hash) {
    let mut rest = *proof;
    let mut digits = [0_u8; PROOF_CHARS];
    for place in digits.iter_mut().rev() {
        let mut remainder = 0_u16;
        for byte in &mut rest {
            let dividend = remainder << 8 | u16::from(*byte);
            *byte = (dividend / 62) as u8;
            remainder = dividend % 62;
        }
        *place = DIGITS[usize::from(remainder)];
    }
    text.extend(digits.map(char::from));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(teamspace: &str) -> Stream {
        // Any stream will do.
        let subject = "graph/sess".parse().unwrap();
        Stream { teamspace: teamspace.parse().unwrap(), subject }
    }

    #[test]
    fn a_token_is_good_for_one_question_and_one_listener() {
        let (ours, theirs) = (session("default"), session("other"));
        let (sub_1, sub_2) = ("sub_1".parse().unwrap(), "sub_2".parse().unwrap());
        let key = ReplyKey::from_seed(&[7; 32]);
        let put = Put {
            session: &ours,
            event_id: "evt_1",
            subscription: &sub_1,
            listener: "customer:ann",
        };
        let at = Cursor { sequence: 81_234, index: 17 };
        let token = key.token(at, put);
        assert_eq!(key.place(&token), Some(at));
        assert!(key.is_genuine(&token, put));
        let others = [
            Put { session: &theirs, ..put },
            Put { event_id: "evt_2", ..put },
            Put { subscription: &sub_2, ..put },
            Put { listener: "customer:eve", ..put },
        ];
        for other in others {
            assert!(!key.is_genuine(&token, other), "{other:?}");
        }
        assert!(!ReplyKey::from_seed(&[8; 32]).is_genuine(&token, put));
        let moved = key.token(Cursor { sequence: 81_235, index: 17 }, put);
        assert_ne!(moved[moved.len() - PROOF_CHARS..], token[token.len() - PROOF_CHARS..]);
        let shown = |token: &str| token[PREFIX.len()..PREFIX.len() + PLACE_CHARS].to_owned();
        assert_ne!(shown(&moved)[..8], shown(&token)[..8], "the next place looks like any other");
    }

    #[test]
    fn tokens_have_the_form_that_the_protocol_wants() {
        let key = ReplyKey::from_seed(&[0; 32]);
        let (stream, subscription) = (session("default"), "sub_1".parse().unwrap());
        let (event_id, listener) = ("evt_1", "agent:bob");
        let put = Put { session: &stream, event_id, subscription: &subscription, listener };
        for sequence in [0, 1, 61, 62, 3_843, 3_844, u64::MAX] {
            for index in [0, 1, 61, 62, 255, u32::MAX] {
                let at = Cursor { sequence, index };
                let token = key.token(at, put);
                let body = token.strip_prefix("rpl_").unwrap();
                assert!(body.len() <= 64 && body.bytes().all(|b| b.is_ascii_alphanumeric()));
                assert_eq!(key.place(&token), Some(at), "{token}");
            }
        }
        for hostile in ["", "rpl_", "rpl_0", "rpl_é", "sub_1", &format!("rpl_{}", "z".repeat(64))]
        {
            assert!(!key.is_genuine(hostile, put), "{hostile}");
        }
    }
}
