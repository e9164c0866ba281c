//! The manifest of this server, and the keys that vouch for it: what is published, and moving on to
//! the next key. The keys live in memory and in a file; the file is written first.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use aaep::keys::{KeyRing, Listed};
use aaep::manifest::Manifest;
use protocol::canonical;
use protocol::time::Time;
use serde_json::json;

/// Where the keys are kept. When this returns, they are durable, and only their owner can read
/// them.
pub trait KeyKeeper: Send + Sync + 'static {
    fn keep(&self, keys: &KeyRing) -> io::Result<()>;
}

/// What is public.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub manifest: String,
    /// The same, signed.
    pub signed_manifest: String,
    pub keys: String,
}

/// Why a key ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// In order: it stays published for a while.
    Retired,
    /// An attacker may have it, and the next one too. Nothing that they signed counts.
    Compromised,
}

/// Shared by everything that publishes the manifest.
pub struct ManifestSigner {
    held: Mutex<HeldManifest>,
    keeper: Box<dyn KeyKeeper>,
    manifest: Manifest,
}

struct HeldManifest {
    keys: KeyRing,
    /// Signed by the current key. It is cached, because clients may ask for it at any rate.
    signed_manifest: String,
}

impl std::fmt::Debug for ManifestSigner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ManifestSigner").finish_non_exhaustive()
    }
}

impl ManifestSigner {
    pub fn new(keys: KeyRing, keeper: Box<dyn KeyKeeper>, manifest: Manifest) -> Arc<Self> {
        let signed_manifest = manifest.sign(keys.signing());
        Arc::new(Self {
            held: Mutex::new(HeldManifest { keys, signed_manifest }),
            keeper,
            manifest,
        })
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// As `signed_manifest` of an accepted subscription has it.
    pub fn signed_manifest(&self) -> String {
        self.held().signed_manifest.clone()
    }

    pub fn published(&self, now: Time) -> Published {
        let held = self.held();
        Published {
            manifest: self.manifest.text(),
            signed_manifest: held.signed_manifest.clone(),
            keys: canonical::canonical(&json!(held.keys.published(now))),
        }
    }

    /// All keys, the one that signs first.
    pub fn list(&self) -> Vec<Listed> {
        self.held().keys.list()
    }

    /// Switches to the next key. With `from`, only if that key still signs, so that a repeated
    /// request does not switch twice. The seeds must be random.
    pub fn rotate(
        &self,
        from: Option<&str>,
        ending: Ending,
        seeds: &[[u8; 32]; 2],
        now: Time,
    ) -> io::Result<Vec<Listed>> {
        let mut held = self.held();
        if from.is_some_and(|kid| kid != held.keys.signing().kid()) {
            return Ok(held.keys.list());
        }
        let next = match ending {
            Ending::Retired => held.keys.rotated(&seeds[0], now),
            Ending::Compromised => KeyRing::new(&seeds[0], &seeds[1], now),
        };
        self.keeper.keep(&next)?;
        *held = HeldManifest { signed_manifest: self.manifest.sign(next.signing()), keys: next };
        Ok(held.keys.list())
    }

    fn held(&self) -> MutexGuard<'_, HeldManifest> {
        self.held.lock().expect("nothing panics while holding the keys")
    }
}
