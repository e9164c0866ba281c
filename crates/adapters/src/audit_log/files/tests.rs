//! The log files: what is written, taken up again and repaired.

use proptest::prelude::*;
use protocol::ledger::{Body, Entry, GENESIS, Stream, Subject};
use protocol::time::Time;

use super::super::lines;
use super::*;

/// One thing that can happen between two writes. A crash may leave unrecorded bytes in any form, so
/// it is simulated by damaging the files.
#[derive(Debug, Clone)]
enum Step {
    Append {
        n_entries: usize,
    },
    Reopen,
    /// The lines of so many entries reached the file, the last of them in part, and the
    /// position did not.
    CrashAfterLines {
        n_entries: usize,
        n_bytes_torn: usize,
    },
    /// The lines were written, and the record of it was torn.
    CrashInRecord {
        n_entries: usize,
        torn_at: usize,
    },
    /// A file, its folder, or the positions were removed.
    Remove {
        what: usize,
    },
    /// A file was shortened.
    Shorten {
        n_bytes: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..5usize).prop_map(|n_entries| Step::Append { n_entries }),
        1 => Just(Step::Reopen),
        2 => (0..5usize, 0..300usize).prop_map(|(n_entries, n_bytes_torn)| {
            Step::CrashAfterLines { n_entries, n_bytes_torn }
        }),
        2 => (0..5usize, 0..600usize).prop_map(|(n_entries, torn_at)| {
            Step::CrashInRecord { n_entries, torn_at }
        }),
        1 => (0..4usize).prop_map(|what| Step::Remove { what }),
        1 => (1..500u64).prop_map(|n_bytes| Step::Shorten { n_bytes }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_line_is_lost_or_doubled(steps in prop::collection::vec(step(), 1..30)) {
        let folder = tempfile::tempdir().unwrap();
        let ledger = ledger(120);
        let mut files = Files::open(folder.path(), Log::Handoffs).unwrap();
        for step in &steps {
            files = play(folder.path(), &ledger, files, step);
        }
        let rest: Vec<_> = after(&ledger, files.cursor(), ledger.len());
        files.append(rest).unwrap();
        files.record().unwrap();
        let expected = lines::derive(Log::Handoffs, ledger.iter().map(|one| &one.entry)).unwrap();
        prop_assert_eq!(expected.len(), 2);
        for (teamspace, text) in &expected {
            let found = fs::read_to_string(lines_path(folder.path(), teamspace)).unwrap();
            prop_assert_eq!(&found, text);
            let position = Log::Handoffs.read_position(folder.path(), teamspace).unwrap().unwrap();
            prop_assert_eq!(position.length, text.len() as u64);
        }
        let common = Log::Handoffs.read_common_position(folder.path()).unwrap();
        let last = &ledger[119].entry;
        let expected = Position { length: 2, sequence: 120, hash: last.hash };
        prop_assert_eq!(common, Some(expected));
    }
}

fn play(folder: &Path, ledger: &[Sequenced], mut files: Files, step: &Step) -> Files {
    let first: TeamspaceId = "first".parse().unwrap();
    let lines_file = lines_path(folder, &first);
    let position_file = Log::Handoffs.position_path(folder, &first);
    match step {
        Step::Append { n_entries } => {
            let cursor = files.cursor();
            files.append(after(ledger, cursor, *n_entries)).unwrap();
            return files;
        }
        Step::Reopen => files.record().unwrap(),
        Step::CrashAfterLines { n_entries, n_bytes_torn } => {
            let entries = after(ledger, files.cursor(), *n_entries);
            let derived =
                lines::derive(Log::Handoffs, entries.iter().map(|one| &one.entry)).unwrap();
            for (teamspace, text) in derived {
                let path = lines_path(folder, &teamspace);
                let mut bytes = fs::read(&path).unwrap_or_default();
                let kept = text.len().saturating_sub(*n_bytes_torn);
                bytes.extend(&text.as_bytes()[..kept]);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, bytes).unwrap();
            }
        }
        Step::CrashInRecord { n_entries, torn_at } => {
            let before = fs::read(&position_file).unwrap_or_default();
            let common_file = Log::Handoffs.common_position_path(folder);
            let common = fs::read(&common_file).unwrap_or_default();
            let cursor = files.cursor();
            files.append(after(ledger, cursor, *n_entries)).unwrap();
            let recorded = fs::read(&position_file).unwrap_or_default();
            let torn_at = (*torn_at).min(recorded.len());
            let rest = before.get(torn_at..).unwrap_or_default();
            if !recorded.is_empty() {
                fs::write(&position_file, [&recorded[..torn_at], rest].concat()).unwrap();
            }
            // It comes after, so it was not written at all.
            fs::write(&common_file, common).unwrap();
        }
        Step::Remove { what } => {
            let removed = match what {
                0 => fs::remove_file(&lines_file),
                1 => fs::remove_file(&position_file),
                2 => fs::remove_dir_all(folder.join(TEAMSPACES_FOLDER).join("second")),
                _ => fs::remove_file(Log::Handoffs.common_position_path(folder)),
            };
            // It may not have been there yet.
            drop(removed);
        }
        Step::Shorten { n_bytes } => {
            if let Ok(file) = OpenOptions::new().write(true).open(&lines_file) {
                let length = file.metadata().unwrap().len();
                file.set_len(length.saturating_sub(*n_bytes)).unwrap();
            }
        }
    }
    drop(files);
    Files::open(folder, Log::Handoffs).unwrap()
}

fn after(ledger: &[Sequenced], cursor: u64, n_entries: usize) -> Vec<&Sequenced> {
    ledger.iter().filter(|one| one.seq > cursor).take(n_entries).collect()
}

#[test]
fn lines_of_entries_that_are_gone_go_too() {
    let folder = tempfile::tempdir().unwrap();
    let (lost, mut shorter) = (ledger(12), ledger(8));
    let mut files = Files::open(folder.path(), Log::Handoffs).unwrap();
    files.append(&lost).unwrap();
    files.record().unwrap();
    // It has grown again before the next start, and has other entries at the same positions.
    shorter.extend(ledger(20).split_off(8));
    shorter.iter_mut().skip(8).for_each(|one| one.entry.hash = [7; 32]);
    let mut files = Files::open(folder.path(), Log::Handoffs).unwrap();
    assert_eq!(files.outdated_against(&hashes(&lost)), Outdated::default());
    let outdated = files.outdated_against(&hashes(&shorter));
    assert_eq!((outdated.teamspaces.len(), outdated.is_common), (2, true));
    files.derive_again(&outdated.teamspaces, 20).unwrap();
    files.append(&shorter[..4]).unwrap();
    files.record().unwrap();
    for (teamspace, text) in
        lines::derive(Log::Handoffs, shorter[..4].iter().map(|one| &one.entry)).unwrap()
    {
        let found = fs::read_to_string(lines_path(folder.path(), &teamspace)).unwrap();
        assert_eq!(found, text);
    }
}

fn hashes(ledger: &[Sequenced]) -> BTreeMap<u64, Hash> {
    ledger.iter().map(|one| (one.seq, one.entry.hash)).collect()
}

#[test]
fn a_file_for_which_nothing_came_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(12);
    let mut files = Files::open(folder.path(), Log::Handoffs).unwrap();
    files.append(&ledger[..3]).unwrap();
    let both: BTreeSet<TeamspaceId> = files.files.keys().cloned().collect();
    assert_eq!(both.len(), 2);
    files.derive_again(&both, 1).unwrap();
    files.append(&ledger[..1]).unwrap();
    files.record().unwrap();
    let files = Files::open(folder.path(), Log::Handoffs).unwrap();
    assert_eq!(files.cursor(), 1);
}

#[test]
fn what_somebody_else_wrote_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = ledger(12);
    let mut files = Files::open(folder.path(), Log::Handoffs).unwrap();
    files.append(&ledger[..6]).unwrap();
    let path = lines_path(folder.path(), &"first".parse().unwrap());
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{before}rubbish")).unwrap();
    assert!(matches!(files.append(&ledger[6..]), Err(Error::Io(_))));
    let mut files = Files::open(folder.path(), Log::Handoffs).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    let rest = after(&ledger, files.cursor(), 12);
    files.append(rest).unwrap();
    let expected = lines::derive(Log::Handoffs, ledger.iter().map(|one| &one.entry)).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), expected[&"first".parse().unwrap()]);
}

#[test]
fn an_entry_that_cannot_be_read_is_not_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut ledger = ledger(6);
    ledger[4].entry.version = 9;
    let mut files = Files::open(folder.path(), Log::Handoffs).unwrap();
    let error = files.append(&ledger).unwrap_err();
    assert!(matches!(error, Error::Unreadable { seq: 5, .. }), "{error}");
    assert_eq!(files.cursor(), 0);
}

/// Handoffs of two teamspaces and, between them, entries that add no lines.
fn ledger(n_entries: u64) -> Vec<Sequenced> {
    (1..=n_entries).map(|seq| Sequenced { seq, entry: entry(seq) }).collect()
}

fn entry(seq: u64) -> Entry {
    let (teamspace, subject, name, body) = match seq % 4 {
        0 => ("first", "agent/barry", "agent.registered", "{}"),
        1 => (
            "first",
            "handoff/01938c2e-0000-7000-8000-000000000001",
            "handoff.activated",
            r#"{"parties":{"from":"tim","to":"barry"},"chain":["tim","barry"]}"#,
        ),
        2 => (
            "second",
            "handoff/01938c2e-0000-7000-8000-000000000002",
            "handoff.closed",
            r#"{"from":"tim","from_status":"completed","at":"2026-02-21T14:00:00Z"}"#,
        ),
        _ => (
            "first",
            "handoff/01938c2e-0000-7000-8000-000000000001",
            "handoff.completed",
            r#"{"parties":{"from":"tim","to":"barry"},"completion_notes":"done"}"#,
        ),
    };
    let subject: Subject = subject.parse().unwrap();
    Entry {
        stream: Stream { teamspace: teamspace.parse().unwrap(), subject },
        position: seq,
        name: name.to_owned().into(),
        version: 1,
        actor: "agent:barry".into(),
        at: Time::from_millis(1_771_682_400_000 + i64::try_from(seq).unwrap()),
        body: Body::Kept { salt: [0; 16], text: body.to_owned() },
        hash: GENESIS,
    }
}
