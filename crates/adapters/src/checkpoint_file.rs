//! Checkpoints outside the database: `checkpoint` holds the newest, `checkpoints.log` some of those
//! before it, so that an edited entry can be located. They are kept beside the database, and by
//! witnesses elsewhere if there are some: an attacker who restores an old data folder cannot
//! restore the witness.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use engine::ledger::seal::{CheckpointSink, NotKept};

use crate::durable;
use crate::remote_witness::RemoteWitness;

/// The newest note.
pub const NEWEST_FILE: &str = "checkpoint";

/// Notes one after the other, each followed by an empty line.
pub const LOG_FILE: &str = "checkpoints.log";

/// A note goes to the log when so many entries were sealed since the last one there, and the first
/// two after a start: an older database that is put back should not match the log. So a rewritten
/// entry can be located within ten thousand entries, at 250 bytes of log for each ten thousand.
pub const LOG_EVERY_ENTRIES: u64 = 10_000;

#[derive(Debug)]
pub struct CheckpointFiles {
    folder: PathBuf,
    logged: Mutex<Option<Logged>>,
}

/// What was written to the log since the start.
#[derive(Debug, Clone, Copy)]
struct Logged {
    size: u64,
    /// Whether the ledger has grown since the start.
    has_grown: bool,
}

/// The checkpoints in another place. Only this server writes them.
#[derive(Debug)]
pub struct Witness {
    files: CheckpointFiles,
    /// The newest note there, as this server read or wrote it. Several while it is not known which.
    known: Mutex<Vec<String>>,
}

/// Notes of this server that may be in the witness.
const KNOWN_NOTES_MAX: usize = 64;

/// All places of the checkpoints of a ledger.
#[derive(Debug)]
pub struct CheckpointPlaces {
    pub beside: CheckpointFiles,
    pub witness: Option<Witness>,
    pub http: Option<Arc<RemoteWitness>>,
}

impl Witness {
    /// Opens the witness of a ledger. Its part of the folder has the name of the ledger's key.
    pub fn open(folder: &Path, key_name: &str) -> io::Result<Self> {
        if !folder.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "there is no such folder"));
        }
        let part = part_of(folder, key_name);
        durable::create_folder(&part)?;
        let known = Mutex::new(newest(&part)?.into_iter().collect());
        Ok(Self { files: CheckpointFiles::open(&part)?, known })
    }

    fn keep(&self, note: &str) -> Result<(), NotKept> {
        let mut known = self.known.lock().expect("nothing panics while holding the note");
        let found = newest(&self.files.folder).map_err(|error| self.named(error))?;
        match &found {
            Some(found) if !known.contains(found) => return Err(NotKept::Replaced(found.clone())),
            Some(found) => *known = vec![found.clone()],
            // The folder is away, or another one is in its place. What was there may come back; it
            // is the first.
            None if known.len() == KNOWN_NOTES_MAX => drop(known.remove(1)),
            None => {}
        }
        known.push(note.to_owned());
        // If this fails, any of them may be there.
        self.files.write(note).map_err(|error| self.named(error))?;
        if found.is_some() {
            *known = vec![note.to_owned()];
        }
        Ok(())
    }

    fn named(&self, error: io::Error) -> io::Error {
        let folder = self.files.folder.display();
        io::Error::new(error.kind(), format!("the witness {folder}: {error}"))
    }

    fn accept(&self) {
        match newest(&self.files.folder) {
            Ok(found) => {
                let mut known = self.known.lock().expect("nothing panics while holding the note");
                *known = found.into_iter().collect();
            }
            Err(error) => tracing::error!(%error, "the witness cannot be read"),
        }
    }
}

/// The part of a witness folder that belongs to a ledger.
pub fn part_of(folder: &Path, key_name: &str) -> PathBuf {
    folder.join(part_name(key_name))
}

/// Its name.
pub fn part_name(key_name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_".contains(letter);
    let name: String =
        key_name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    format!("ledger-{name}")
}

impl CheckpointSink for CheckpointPlaces {
    fn keep(&self, note: &str) -> Result<(), NotKept> {
        self.beside.write(note)?;
        if let Some(witness) = &self.http {
            witness.offer(note);
        }
        match &self.witness {
            Some(witness) => witness.keep(note),
            None => Ok(()),
        }
    }

    fn accept(&self) {
        if let Some(witness) = &self.witness {
            witness.accept();
        }
        if let Some(witness) = &self.http {
            witness.accept();
        }
    }
}

impl CheckpointFiles {
    /// Removes what a crash left of a note at the end of the log.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join(LOG_FILE);
        match OpenOptions::new().write(true).open(&path) {
            Ok(file) => {
                let bytes = fs::read(&path)?;
                let sound = sound_length(&bytes);
                if sound < bytes.len() {
                    tracing::warn!(bytes = bytes.len() - sound, "cut a torn note off {LOG_FILE}");
                    file.set_len(sound as u64)?;
                    file.sync_data()?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(Self { folder: folder.to_owned(), logged: Mutex::default() })
    }

    /// Writes the first note, of an empty or a restored ledger: to the log as well, so that both
    /// files are there before the next entry.
    pub fn begin(&self, note: &str) -> io::Result<()> {
        if newest_of(&self.folder)?.logged.is_none() {
            self.append(note)?;
        }
        durable::replace(&self.folder.join(NEWEST_FILE), note.as_bytes(), durable::PUBLIC)
    }

    fn append(&self, note: &str) -> io::Result<()> {
        let path = self.folder.join(LOG_FILE);
        drop(durable::create(&path)?);
        let mut file = OpenOptions::new().append(true).open(&path)?;
        let length = file.metadata()?.len();
        let written =
            file.write_all(format!("{note}\n").as_bytes()).and_then(|()| file.sync_data());
        if written.is_err() {
            // The next note must not begin in the middle of this one.
            file.set_len(length)?;
        }
        written
    }
}

impl CheckpointSink for CheckpointFiles {
    fn keep(&self, note: &str) -> Result<(), NotKept> {
        Ok(self.write(note)?)
    }
}

impl CheckpointFiles {
    fn write(&self, note: &str) -> io::Result<()> {
        durable::replace(&self.folder.join(NEWEST_FILE), note.as_bytes(), durable::PUBLIC)?;
        let size = size_of(note).expect("we signed this note, so it has a size");
        let mut logged = self.logged.lock().expect("nothing panics while holding the size");
        let is_due = logged.is_none_or(|logged| {
            // After a fork the ledger is shorter, and the log must not end with what was lost.
            let is_shorter = size < logged.size;
            let is_first_growth = !logged.has_grown && size > logged.size;
            let is_far = size >= logged.size.saturating_add(LOG_EVERY_ENTRIES);
            is_shorter || is_first_growth || is_far
        });
        if is_due {
            self.append(note)?;
            *logged = Some(Logged { size, has_grown: logged.is_some() });
        }
        Ok(())
    }
}

/// The note that was written last, if there is one: the newest or, if that file was removed, the
/// last of the log.
pub fn newest(folder: &Path) -> io::Result<Option<String>> {
    let Newest { note, logged } = newest_of(folder)?;
    Ok(note.or(logged))
}

fn read(folder: &Path, name: &str) -> io::Result<Option<String>> {
    match fs::read(folder.join(name)) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the files of a folder say about the newest entries.
#[derive(Debug, Default)]
pub struct Newest {
    /// The file `checkpoint`.
    pub note: Option<String>,
    /// The last of the log. It is never newer than the file.
    pub logged: Option<String>,
}

/// Both, as they are found. A folder that is not there has none.
pub fn newest_of(folder: &Path) -> io::Result<Newest> {
    let note = read(folder, NEWEST_FILE)?;
    let logged = read(folder, LOG_FILE)?.and_then(|text| split_log(&text).notes.pop());
    Ok(Newest { note, logged })
}

/// Whether the files of a folder say nothing about entries: there are none, or only the note of the
/// empty ledger, as after a first start that was cut short.
pub fn is_new(folder: &Path) -> io::Result<bool> {
    let Newest { note, logged } = newest_of(folder)?;
    Ok([note, logged].iter().flatten().all(|note| size_of(note) == Some(0)))
}

/// The log as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The texts between the empty lines. Only their signatures show whether they are our notes.
    pub notes: Vec<String>,
    /// The log ends with half a note, after a crash or an edit.
    pub is_torn: bool,
}

/// Splits the text of a log. A note is a body and its signatures with an empty line between them.
pub fn split_log(text: &str) -> Log {
    let mut notes = Vec::new();
    let mut body = String::new();
    let mut rest = text;
    while let Some((part, after)) = rest.split_once("\n\n") {
        rest = after;
        body.push_str(part);
        if part.starts_with('\u{2014}') {
            body.push('\n');
            notes.push(std::mem::take(&mut body));
        } else {
            body.push_str("\n\n");
        }
    }
    // A power cut can keep the end of a note and lose its beginning.
    let has_hole = notes.last().is_some_and(|note| has_hole(note));
    if has_hole {
        notes.pop();
    }
    Log { notes, is_torn: has_hole || !body.is_empty() || !rest.is_empty() }
}

/// Bytes that were never written read as zeros.
fn has_hole(note: &str) -> bool {
    note.contains('\0')
}

/// The bytes up to the end of the last whole note. Damage before it is left as it is: those bytes
/// were synced, so a crash did not cause it.
fn sound_length(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    while let Some(at) = last_empty_line(&bytes[..end]) {
        if ends_with_note(&bytes[..=at]) {
            return at + 2;
        }
        end = at + 1;
    }
    0
}

fn ends_with_note(bytes: &[u8]) -> bool {
    let Some(signatures) = last_empty_line(bytes) else { return false };
    let start = last_empty_line(&bytes[..=signatures]).map_or(0, |at| at + 2);
    str::from_utf8(&bytes[start..]).is_ok_and(|note| size_of(note).is_some())
}

fn last_empty_line(bytes: &[u8]) -> Option<usize> {
    bytes.windows(2).rposition(|pair| pair == b"\n\n")
}

/// The size that a note states, if it has the three lines of a checkpoint.
pub fn size_of(note: &str) -> Option<u64> {
    let (body, signatures) = note.split_once("\n\n")?;
    let mut lines = body.split('\n');
    let (_origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
    let is_note =
        lines.next().is_none() && root.len() == 44 && signatures.ends_with('\n') && !has_hole(note);
    if is_note { size.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use protocol::checkpoint::{Checkpoint, Signer};

    use super::*;

    #[test]
    fn the_newest_is_replaced_and_some_are_logged() {
        let folder = tempfile::tempdir().unwrap();
        let files = CheckpointFiles::open(folder.path()).unwrap();
        for size in [1, 2, 9_999, 10_001, 10_002, 20_000, 20_001] {
            files.keep(&note(size)).unwrap();
            let newest = fs::read_to_string(folder.path().join(NEWEST_FILE)).unwrap();
            assert_eq!(newest, note(size));
        }
        let again = CheckpointFiles::open(folder.path()).unwrap();
        again.keep(&note(20_002)).unwrap();
        let expected = [1, 2, 10_002, 20_002].map(note).into();
        let expected = Log { notes: expected, is_torn: false };
        assert_eq!(log(folder.path()), expected);
    }

    /// A note that was half kept is still our own.
    #[test]
    fn a_witness_that_fails_once_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let witness = Witness::open(folder.path(), "tasuki").unwrap();
        let log = part_of(folder.path(), "tasuki").join(LOG_FILE);
        std::os::unix::fs::symlink("no-such-folder/log", &log).unwrap();
        assert!(matches!(witness.keep(&note(1)), Err(NotKept::Failed(_))));
        fs::remove_file(&log).unwrap();
        witness.keep(&note(2)).unwrap();
        fs::write(log.with_file_name(NEWEST_FILE), note(1)).unwrap();
        assert!(matches!(witness.keep(&note(3)), Err(NotKept::Replaced(_))), "it is not ours");
    }

    /// A disk that is away for a while comes back with what was there.
    #[test]
    fn a_witness_that_was_away_is_still_our_own() {
        let place = tempfile::tempdir().unwrap();
        let (folder, away) = (place.path().join("witness"), place.path().join("away"));
        fs::create_dir(&folder).unwrap();
        let witness = Witness::open(&folder, "tasuki").unwrap();
        witness.keep(&note(1)).unwrap();
        fs::rename(&folder, &away).unwrap();
        for size in 2..200 {
            let error = witness.keep(&note(size)).unwrap_err().to_string();
            assert!(error.contains(&folder.display().to_string()), "{error}");
        }
        // Another folder is in its place for a while, and is written to.
        fs::create_dir_all(part_of(&folder, "tasuki")).unwrap();
        witness.keep(&note(200)).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        fs::rename(&away, &folder).unwrap();
        witness.keep(&note(201)).unwrap();
        assert_eq!(newest(&part_of(&folder, "tasuki")).unwrap(), Some(note(201)));
        fs::write(part_of(&folder, "tasuki").join(NEWEST_FILE), note(1)).unwrap();
        assert!(matches!(witness.keep(&note(202)), Err(NotKept::Replaced(_))), "it is an old one");
    }

    #[test]
    fn half_a_note_is_cut_off_and_nothing_else() {
        let whole = format!("{}\n{}\n", note(1), note(2));
        let third = format!("{}\n", note(3));
        for torn in (1..third.len()).filter(|at| third.is_char_boundary(*at)) {
            check_cut(&format!("{whole}{}", &third[..torn]), &whole);
            // A power cut can leave the length without the content.
            check_cut(&format!("{whole}{}", "\0".repeat(torn)), &whole);
            let without_beginning = format!("{whole}{}{}", "\0".repeat(torn), &third[torn..]);
            check_cut(&without_beginning, &whole);
            assert!(split_log(&without_beginning).is_torn);
            assert_eq!(split_log(&without_beginning).notes.len(), 2);
        }
        check_cut(&whole, &whole);
        check_cut("", "");
        check_cut("\0\0\0", "");
        let spoiled = whole.replacen("\n1\n", "\n1x\n", 1);
        check_cut(&spoiled, &spoiled);
        let invalid = [&b"\xFF\n"[..], whole.as_bytes()].concat();
        assert_eq!(sound_length(&invalid), invalid.len());
        check_cut(&format!("rubbish\n\n{whole}rub"), &format!("rubbish\n\n{whole}"));
    }

    fn check_cut(before: &str, after: &str) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LOG_FILE), before).unwrap();
        CheckpointFiles::open(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(LOG_FILE)).unwrap(), after, "{before:?}");
    }

    fn log(folder: &Path) -> Log {
        split_log(&fs::read_to_string(folder.join(LOG_FILE)).unwrap())
    }

    fn note(size: u64) -> String {
        let signer = Signer::new("tasuki", &[1; 32]).unwrap();
        signer.sign(&Checkpoint { origin: "tasuki".to_owned(), size, root: [2; 32] })
    }
}
