//! Hashes with a key: HMAC-SHA-256 (RFC 2104). Only a holder of the key can make or check one.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::canonical::Hash;

/// The block size of SHA-256.
const BLOCK_BYTES: usize = 64;

/// HMAC-SHA-256 (RFC 2104).
pub fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> Hash {
    HmacKey::new(key).sign(parts)
}

/// A key of [`hmac`] that is used often: both hash states have absorbed it already.
#[derive(Clone)]
pub struct HmacKey {
    inner: Sha256,
    outer: Sha256,
}

impl fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HmacKey")
    }
}

impl HmacKey {
    /// A key of any length. One that is longer than a block is hashed first, as RFC 2104 says.
    pub fn new(key: &[u8]) -> Self {
        let hashed = Sha256::digest(key);
        let key = if key.len() > BLOCK_BYTES { hashed.as_slice() } else { key };
        let padded = |byte: u8| {
            let mut block = [byte; BLOCK_BYTES];
            for (padded, key) in block.iter_mut().zip(key) {
                *padded ^= key;
            }
            let mut hasher = Sha256::new();
            hasher.update(block);
            hasher
        };
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    pub fn sign(&self, parts: &[&[u8]]) -> Hash {
        let (mut inner, mut outer) = (self.inner.clone(), self.outer.clone());
        parts.iter().for_each(|part| inner.update(part));
        outer.update(inner.finalize());
        outer.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::hex;

    /// Cases 1, 2 and 6 of RFC 4231: keys that are short, shorter, and longer than a block.
    #[test]
    fn hmacs_are_those_of_the_rfc() {
        for (key, message, expected) in [
            (
                &[0x0b; 20][..],
                "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 131],
                "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            let key = HmacKey::new(key);
            assert_eq!(hex(&key.sign(&[message.as_bytes()])), expected, "{message}");
        }
    }
}
