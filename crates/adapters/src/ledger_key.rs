//! The key that signs checkpoints: `ledger.key`, made on the first start and readable only by its
//! owner, and `ledger.pub`, with which auditors check the signatures.
//!
//! An attacker who can write the database cannot sign without the key. Its public half names the
//! log: a checkpoint of another key is a checkpoint of another log.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use protocol::canonical;
use protocol::checkpoint::Signer;
use protocol::row_mac::{self, RowKey};

use crate::durable;

/// The seed, as 64 hexadecimal digits on one line. Once the rows of the database are signed with
/// it, a mark stands before it.
///
/// The mark is here because rows are signed once, without knowing who wrote them. An attacker who
/// removes or changes the mark has to write the seed again, and so must have it; who has it can
/// sign rows anyway. It stands before the seed, so that a file that was cut short has no seed.
pub const KEY_FILE: &str = "ledger.key";

/// The verifier key in C2SP's form, on one line.
pub const PUBLIC_FILE: &str = "ledger.pub";

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error(
        "{} can be read by others (mode {mode:03o}); make it yours alone with chmod 600, or \
         replace it if another user may have read it",
        .path.display()
    )]
    Exposed { path: PathBuf, mode: u32 },
    #[error(
        "{} does not hold a key: expected 64 hexadecimal digits, alone or after `{} `; restore \
         your copy of it",
        .path.display(),
        mark()
    )]
    Unreadable { path: PathBuf },
    #[error(
        "{} is gone, but checkpoints were signed with it; restore it, or remove {PUBLIC_FILE} to \
         go on with a new key that does not vouch for the past",
        .path.display()
    )]
    Lost { path: PathBuf },
    #[error("{} does not belong to {KEY_FILE}; one of them was replaced", .path.display())]
    Mismatch { path: PathBuf },
    #[error("cannot use {}", .path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// Loads the key of a data folder, or makes it from `seed`, which must be random.
pub fn open(folder: &Path, seed: impl FnOnce() -> [u8; 32]) -> Result<Signer, KeyError> {
    let (key_path, public_path) = (folder.join(KEY_FILE), folder.join(PUBLIC_FILE));
    let public = read(&public_path)?;
    let signer = match read(&key_path)? {
        Some(text) => {
            check_mode(&key_path)?;
            named(&KeyLine::parse(&text).ok_or(KeyError::Unreadable { path: key_path })?.seed)
        }
        None if public.is_some() => return Err(KeyError::Lost { path: key_path }),
        None => {
            let seed = seed();
            write(&key_path, &canonical::hex(&seed), durable::PRIVATE)?;
            named(&seed)
        }
    };
    let verifier_key = signer.verifier_key();
    match public {
        Some(text) if text.trim_end() == verifier_key => {}
        Some(_) => return Err(KeyError::Mismatch { path: public_path }),
        None => write(&public_path, &verifier_key, durable::PUBLIC)?,
    }
    Ok(signer)
}

/// Whether the rows of the database were signed with the key of the folder.
pub fn has_signed_rows(folder: &Path) -> Result<bool, KeyError> {
    Ok(key_line(folder)?.is_some_and(|line| line.has_signed_rows))
}

/// From here on no row is signed again that the server did not write.
pub fn mark_rows_signed(folder: &Path) -> Result<(), KeyError> {
    let path = folder.join(KEY_FILE);
    let Some(line) = key_line(folder)? else { return Err(KeyError::Lost { path }) };
    let marked = format!("{} {}", mark(), canonical::hex(&line.seed));
    write(&path, &marked, durable::PRIVATE)
}

/// The key of the rows, as an auditor finds it.
#[derive(Debug, Default)]
pub enum FoundRowKey {
    /// The auditor has no key, and cannot check rows.
    #[default]
    Absent,
    /// The key does not say that rows were signed with it.
    Unmarked,
    Known(RowKey),
    /// There is a file, and it holds no key or cannot be read.
    Invalid(KeyError),
}

/// The key of the rows in a folder.
pub fn row_key(folder: &Path) -> FoundRowKey {
    match key_line(folder) {
        Ok(None) => FoundRowKey::Absent,
        Ok(Some(line)) if line.has_signed_rows => FoundRowKey::Known(named(&line.seed).row_key()),
        Ok(Some(_)) => FoundRowKey::Unmarked,
        Err(error) => FoundRowKey::Invalid(error),
    }
}

/// What stands before the seed once rows are signed, and how they are.
fn mark() -> String {
    format!("rows:{}", row_mac::METHOD)
}

/// What [`KEY_FILE`] says.
struct KeyLine {
    seed: [u8; 32],
    has_signed_rows: bool,
}

impl KeyLine {
    /// Another mark is an error: it must not be taken for none.
    fn parse(text: &str) -> Option<Self> {
        let line = text.trim_end();
        let (seed, has_signed_rows) = match line.split_once(' ') {
            Some((found, seed)) if found == mark() => (seed, true),
            Some(_) => return None,
            None => (line, false),
        };
        Some(Self { seed: canonical::parse_hex32(seed)?, has_signed_rows })
    }
}

fn key_line(folder: &Path) -> Result<Option<KeyLine>, KeyError> {
    let path = folder.join(KEY_FILE);
    let Some(text) = read(&path)? else { return Ok(None) };
    KeyLine::parse(&text).map(Some).ok_or(KeyError::Unreadable { path })
}

/// The signer under the name that follows from its public half, so that no two logs share a name.
fn named(seed: &[u8; 32]) -> Signer {
    let unnamed = Signer::new("tasuki", seed).expect("a plain word is a key name");
    let digest = canonical::hex(&canonical::sha256(&[unnamed.verifier_key().as_bytes()]));
    let name = format!("tasuki-{}", &digest[..16]);
    Signer::new(&name, seed).expect("letters, digits and a dash are a key name")
}

fn check_mode(path: &Path) -> Result<(), KeyError> {
    let failed = |source| KeyError::Io { path: path.to_owned(), source };
    let mode = fs::metadata(path).map_err(failed)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyError::Exposed { path: path.to_owned(), mode });
    }
    Ok(())
}

fn read(path: &Path) -> Result<Option<String>, KeyError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(KeyError::Io { path: path.to_owned(), source }),
    }
}

fn write(path: &Path, line: &str, mode: u32) -> Result<(), KeyError> {
    durable::replace(path, format!("{line}\n").as_bytes(), mode)
        .map_err(|source| KeyError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use protocol::checkpoint::{Checkpoint, Verifier, is_origin};

    use super::*;

    #[test]
    fn the_key_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let made = open(folder.path(), || [7; 32]).unwrap();
        let loaded = open(folder.path(), || unreachable!("there is a key already")).unwrap();
        assert_eq!(made.verifier_key(), loaded.verifier_key());
        let public = fs::read_to_string(folder.path().join(PUBLIC_FILE)).unwrap();
        let verifier = Verifier::new(public.strip_suffix('\n').unwrap()).unwrap();
        let origin = made.key_name().to_owned();
        assert!(is_origin(&origin) && origin.starts_with("tasuki-"), "{origin}");
        let checkpoint = Checkpoint { origin, size: 3, root: [1; 32] };
        assert_eq!(verifier.open(&made.sign(&checkpoint)), Ok(checkpoint));
    }

    #[test]
    fn only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path(), || [7; 32]).unwrap();
        let path = folder.path().join(KEY_FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o660, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = open(folder.path(), || unreachable!("there is a key already")).unwrap_err();
            assert!(matches!(error, KeyError::Exposed { .. }), "{error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert!(open(folder.path(), || [8; 32]).is_ok());
    }

    #[test]
    fn a_key_that_is_not_ours_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path(), || [7; 32]).unwrap();
        let key = folder.path().join(KEY_FILE);
        fs::remove_file(&key).unwrap();
        let error = open(folder.path(), || [8; 32]).unwrap_err();
        assert!(matches!(error, KeyError::Lost { .. }), "{error}");
        write(&key, &canonical::hex(&[8; 32]), durable::PRIVATE).unwrap();
        let error = open(folder.path(), || [8; 32]).unwrap_err();
        assert!(matches!(error, KeyError::Mismatch { .. }), "{error}");
        write(&key, "not a key", durable::PRIVATE).unwrap();
        let error = open(folder.path(), || [8; 32]).unwrap_err();
        assert!(matches!(error, KeyError::Unreadable { .. }), "{error}");
    }

    /// Without the seed the mark cannot be taken away, only the key with it.
    #[test]
    fn the_mark_of_signed_rows_is_bound_to_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let made = open(folder.path(), || [7; 32]).unwrap();
        assert!(!has_signed_rows(folder.path()).unwrap());
        assert!(matches!(row_key(folder.path()), FoundRowKey::Unmarked));
        mark_rows_signed(folder.path()).unwrap();
        assert!(has_signed_rows(folder.path()).unwrap());
        assert!(matches!(row_key(folder.path()), FoundRowKey::Known(_)));
        let key = folder.path().join(KEY_FILE);
        let marked = fs::read_to_string(&key).unwrap();
        let loaded = open(folder.path(), || unreachable!("there is a key already")).unwrap();
        assert_eq!(made.verifier_key(), loaded.verifier_key());
        let n_marked = mark().len();
        let over = |with: &str| format!("{with}{}", &marked[with.len()..]);
        for changed in [
            over(&" ".repeat(n_marked)),
            over(&" ".repeat(n_marked + 1)),
            over(&"0".repeat(n_marked + 1)),
            over("rows:none_"),
            over("\n"),
            marked[..64].to_owned(),
            String::new(),
        ] {
            fs::write(&key, &changed).unwrap();
            let error = open(folder.path(), || unreachable!("there is a key already")).unwrap_err();
            assert!(matches!(error, KeyError::Unreadable { .. }), "{changed:?}: {error}");
            assert!(has_signed_rows(folder.path()).is_err());
            assert!(matches!(row_key(folder.path()), FoundRowKey::Invalid(_)), "{changed:?}");
        }
    }

    #[test]
    fn a_start_that_was_cut_short_is_taken_up_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ledger.key.new"), "half a ke").unwrap();
        let made = open(folder.path(), || [7; 32]).unwrap();
        fs::remove_file(folder.path().join(PUBLIC_FILE)).unwrap();
        let again = open(folder.path(), || unreachable!("there is a key already")).unwrap();
        assert_eq!(made.verifier_key(), again.verifier_key());
        assert!(folder.path().join(PUBLIC_FILE).exists());
    }
}
