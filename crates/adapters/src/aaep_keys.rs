//! The keys that sign our manifest: `aaep.keys`, made on the first start and readable only by its
//! owner. The server itself publishes the public keys.
//!
//! Unlike the key of the ledger, these are replaceable. If the file is missing, new keys are made,
//! and clients that verify signatures fetch them as they did the first.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use aaep::keys::KeyRing;
use engine::aaep::manifest_signing::KeyKeeper;

use crate::durable;

/// JSON with the seeds of the key that signs and of the next one, and the retired ones without.
pub const FILE: &str = "aaep.keys";

#[derive(Debug, thiserror::Error)]
pub enum AaepKeysError {
    #[error(
        "{} can be read by others (mode {mode:03o}); make it yours alone with chmod 600, or \
         remove it to go on with new keys if another user may have read it",
        .path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error(
        "{} does not hold keys; restore it, or remove it to go on with new ones",
        .path.display()
    )]
    Unreadable { path: PathBuf },
    #[error("cannot use {}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The file of a data folder.
#[derive(Debug, Clone)]
pub struct KeyFile {
    path: PathBuf,
}

impl KeyFile {
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join(FILE) }
    }

    /// Reads the keys, or makes them with `fresh`, whose seeds must be random.
    pub fn open(&self, fresh: impl FnOnce() -> KeyRing) -> Result<KeyRing, AaepKeysError> {
        let path = || self.path.clone();
        let failed = |source| AaepKeysError::Io { path: path(), source };
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let keys = fresh();
                self.keep(&keys).map_err(failed)?;
                return Ok(keys);
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Err(AaepKeysError::Unreadable { path: path() });
            }
            Err(source) => return Err(failed(source)),
        };
        let mode = fs::metadata(&self.path).map_err(failed)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(AaepKeysError::Exposed { path: path(), mode });
        }
        KeyRing::from_secret_text(text.trim_end())
            .ok_or_else(|| AaepKeysError::Unreadable { path: path() })
    }
}

impl KeyKeeper for KeyFile {
    fn keep(&self, keys: &KeyRing) -> io::Result<()> {
        let text = format!("{}\n", keys.to_secret_text());
        durable::replace(&self.path, text.as_bytes(), durable::PRIVATE)
    }
}

#[cfg(test)]
mod tests {
    use aaep::AGENT_ID;
    use aaep::jws::Jwks;
    use aaep::manifest::verify;
    use engine::aaep::manifest_signing::{Ending, ManifestSigner};
    use protocol::narrator::manifest::of_server;
    use protocol::time::Time;

    use super::*;

    fn fresh() -> KeyRing {
        KeyRing::new(&[1; 32], &[2; 32], Time::from_millis(0))
    }

    fn never() -> KeyRing {
        unreachable!("there are keys already")
    }

    #[test]
    fn keys_are_made_once_and_only_their_owner_reads_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = KeyFile::new(folder.path());
        let made = file.open(fresh).unwrap();
        assert_eq!(file.open(never).unwrap().list(), made.list());
        let path = folder.path().join(FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o660, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = file.open(never).unwrap_err();
            assert!(matches!(error, AaepKeysError::Exposed { .. }), "{error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert!(file.open(never).is_ok());
    }

    #[test]
    fn what_is_no_key_file_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        for content in [&b""[..], b"{}", b"\xFF\xFE", b"not a key"] {
            durable::replace(&path, content, durable::PRIVATE).unwrap();
            let error = KeyFile::new(folder.path()).open(never).unwrap_err();
            assert!(matches!(error, AaepKeysError::Unreadable { .. }), "{error}");
            assert_eq!(fs::read(&path).unwrap(), content);
        }
    }

    #[test]
    fn a_rotation_survives_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let now = Time::from_millis(1_000);
        let start = || {
            let file = KeyFile::new(folder.path());
            let keys = file.open(fresh).unwrap();
            ManifestSigner::new(keys, Box::new(file), of_server("0.1.0", 10))
        };
        let server = start();
        let before = server.published(now);
        let first = server.list()[0].kid.clone();
        let listed = server.rotate(Some(&first), Ending::Retired, &[[3; 32]; 2], now).unwrap();
        // The same request once more changes nothing.
        let again = server.rotate(Some(&first), Ending::Retired, &[[4; 32]; 2], now).unwrap();
        assert_eq!(again, listed);

        let server = start();
        assert_eq!(server.list(), listed);
        let keys = |text: &str| serde_json::from_str::<Jwks>(text).unwrap();
        let after = keys(&server.published(now).keys);
        assert!(verify(&before.signed_manifest, &after, AGENT_ID).is_ok());
        assert!(verify(&server.signed_manifest(), &keys(&before.keys), AGENT_ID).is_ok());

        server.rotate(None, Ending::Compromised, &[[5; 32], [6; 32]], now).unwrap();
        let after = keys(&start().published(now).keys);
        let error = verify(&before.signed_manifest, &after, AGENT_ID).unwrap_err();
        assert_eq!(error.code(), "signature_key_unknown");
        assert!(verify(&start().signed_manifest(), &after, AGENT_ID).is_ok());
    }

    #[test]
    fn what_cannot_be_kept_does_not_sign() {
        let folder = tempfile::tempdir().unwrap();
        let gone = folder.path().join("gone");
        let file = KeyFile::new(&gone);
        let server = ManifestSigner::new(fresh(), Box::new(file), of_server("0.1.0", 10));
        let listed = server.list();
        let now = Time::from_millis(0);
        assert!(server.rotate(None, Ending::Retired, &[[3; 32]; 2], now).is_err());
        assert_eq!(server.list(), listed);
    }
}
