//! What a sweep removes, on an engine without loops: nothing else deletes a file meanwhile.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use adapters::files::{FileFolder, path_of};
use bytes::Bytes;
use engine::Engine;
use engine::files::removing::Swept;
use engine::ports::clock::ManualClock;
use engine::ports::ids::SeededIds;
use protocol::caller::{Caller, Principal};
use protocol::file::{Command, Kept, UNUSED_KEPT};
use protocol::ids::{FileId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::step;
use protocol::time::{Span, Time};
use store::Sqlite;

struct Shelf {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
    engine: Engine,
}

impl Shelf {
    fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Arc::new(ManualClock::starting_at(Time::from_millis(1_771_682_400_000)));
        let store = Arc::new(Sqlite::open(folder.path()).expect("it opens"));
        let files = FileFolder::open(folder.path()).expect("it opens");
        let engine = Engine::new(store, clock.clone(), Arc::new(SeededIds::new(7)));
        let engine = engine.keeping_files(Arc::new(files), Vec::new(), 1_000);
        Self { folder, clock, engine }
    }

    async fn swept(&self) -> (usize, usize) {
        let Swept { n_files, n_uploads } = self.engine.files().sweep().await.expect("it sweeps");
        (n_files, n_uploads)
    }
}

fn alice() -> Caller {
    let (teamspace, roles) = (TeamspaceId::default_teamspace(), BTreeSet::new());
    let principal = Principal::Agent("alice".parse().expect("a name"));
    Caller { teamspace, principal, roles, session: "test".to_owned() }
}

/// The outbox deletes the bytes of a removed file, and gives up after many attempts.
#[tokio::test]
async fn a_removed_file_whose_deletion_was_given_up_is_deleted_by_the_sweep() {
    let shelf = Shelf::open();
    let (root, default) = (shelf.folder.path().join("files"), TeamspaceId::default_teamspace());
    let bytes = Bytes::from_static(b"private");
    let (file, _): (FileId, u64) = shelf.engine.files().store(&alice(), bytes, None).await.unwrap();
    let path = path_of(&root, &default, &file);
    assert_eq!(shelf.swept().await, (0, 0));

    shelf.clock.advance(UNUSED_KEPT);
    let subject = Subject::File(file);
    let stream = Stream { teamspace: default.clone(), subject };
    let due = shelf.engine.clock().now();
    let elapse = step::Command::File(Command::Elapse { due });
    let server = Caller::system(default.clone());
    shelf.engine.submit(&server, stream.clone(), elapse, None).await.unwrap();
    let kept = async || {
        let state = shelf.engine.read().current(&stream).await.unwrap().unwrap();
        state.as_file().unwrap().kept
    };
    assert_eq!((kept().await, path.exists()), (Kept::Removed, true));
    // One that cannot be deleted does not keep another one, nor the note of the upload.
    let other: FileId = format!("sha256:{}", "ab".repeat(32)).parse().unwrap();
    let left_over = path_of(&root, &default, &other);
    fs::create_dir_all(left_over.parent().unwrap()).unwrap();
    fs::write(&left_over, "x").unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(shelf.swept().await, (1, 1));
    assert_eq!((kept().await, left_over.exists()), (Kept::Removed, false));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, "private").unwrap();
    assert_eq!(shelf.swept().await, (1, 0));
    assert_eq!((kept().await, path.exists()), (Kept::Deleted, false));
    assert_eq!(shelf.swept().await, (0, 0));
}

#[tokio::test]
async fn an_upload_without_a_byte_ends_after_minutes_and_one_with_some_after_a_day() {
    let shelf = Shelf::open();
    let empty = shelf.engine.files().begin(&alice(), 10, None).await.unwrap();
    let begun = shelf.engine.files().begin(&alice(), 10, None).await.unwrap();
    let piece = Bytes::from_static(b"some");
    shelf.engine.files().append(&alice(), begun.id, 0, piece).await.unwrap();
    let is_open = async |id| shelf.engine.files().upload(&alice(), id).await.is_ok();
    for (minutes, swept, open) in [
        (9, (0, 0), (true, true)),
        (1, (0, 1), (false, true)),
        (24 * 60 - 11, (0, 0), (false, true)),
        (1, (0, 1), (false, false)),
    ] {
        shelf.clock.advance(Span::from_minutes(minutes));
        assert_eq!(shelf.swept().await, swept, "{minutes}");
        assert_eq!((is_open(empty.id).await, is_open(begun.id).await), open, "{minutes}");
    }
}
