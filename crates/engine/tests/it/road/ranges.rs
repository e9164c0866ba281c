//! Parts of files: all of a file is read before a part of it is sent, once, however many ask for
//! parts, hang up, or have read all of it before.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use engine::Engine;
use engine::files::FileError;
use engine::files::damage::CHECKS_MAX;
use engine::ports::files::{Content, Files, Stored, Upload};
use protocol::caller::Caller;
use protocol::canonical;
use protocol::file;
use protocol::handoff::Command as HandoffCommand;
use protocol::handoff::artifact::Finding;
use protocol::handoff::package::{Artifact, ArtifactKind, ArtifactRef};
use protocol::ids::{FileId, TeamspaceId, UploadId};
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::outbox::Told;
use crate::support::{self, agent, engine_on, handoff_stream, offer, register};

/// Files in memory. A read of all bytes ends when the test opens the door for one.
#[derive(Clone)]
struct Disk(Arc<Inner>);

struct Inner {
    files: HashMap<FileId, Bytes>,
    door: Semaphore,
    reads: watch::Sender<Reads>,
}

#[derive(Default)]
struct Reads {
    n_begun: usize,
    under_way: Vec<TeamspaceId>,
}

impl Disk {
    fn n_begun(&self) -> usize {
        self.0.reads.borrow().n_begun
    }

    async fn until_begun(&self, n_reads: usize) {
        let mut reads = self.0.reads.subscribe();
        let begun = reads.wait_for(|reads| reads.n_begun >= n_reads);
        let begun = tokio::time::timeout(Duration::from_secs(20), begun).await;
        begun.expect("the reads begin").expect("the sender is kept");
    }

    async fn read_whole(self, teamspace: TeamspaceId, file: FileId) -> io::Result<Option<Content>> {
        self.0.reads.send_modify(|reads| {
            assert!(!reads.under_way.contains(&teamspace), "one of a teamspace at a time");
            assert!(reads.under_way.len() < CHECKS_MAX, "{CHECKS_MAX} at a time");
            reads.under_way.push(teamspace.clone());
            reads.n_begun += 1;
        });
        self.0.door.acquire().await.expect("it is never closed").forget();
        self.0.reads.send_modify(|reads| reads.under_way.retain(|it| *it != teamspace));
        Ok(self.0.files.get(&file).map(|bytes| Content {
            digest: canonical::sha256(&[bytes]),
            size_bytes: bytes.len() as u64,
            image: None,
        }))
    }
}

impl Files for Disk {
    fn put_upload(&self, _: Upload) -> Stored<()> {
        no_uploads()
    }

    fn upload(&self, _: TeamspaceId, _: UploadId) -> Stored<Option<Upload>> {
        no_uploads()
    }

    fn uploads(&self) -> Stored<Vec<Upload>> {
        no_uploads()
    }

    fn write(&self, _: Upload, _: Bytes) -> Stored<()> {
        no_uploads()
    }

    fn measure(&self, _: Upload) -> Stored<Content> {
        no_uploads()
    }

    fn keep(&self, _: Upload, _: FileId) -> Stored<()> {
        no_uploads()
    }

    fn drop_upload(&self, _: Upload, _: bool) -> Stored<()> {
        no_uploads()
    }

    fn read(&self, _: TeamspaceId, file: FileId, offset: u64, n_bytes_max: usize) -> Stored<Bytes> {
        let bytes = self.0.files[&file].slice(usize::try_from(offset).expect("it is small")..);
        let n_bytes = bytes.len().min(n_bytes_max);
        Box::pin(std::future::ready(Ok(bytes.slice(..n_bytes))))
    }

    fn size(&self, _: TeamspaceId, file: FileId) -> Stored<Option<u64>> {
        let size_bytes = self.0.files.get(&file).map(|bytes| bytes.len() as u64);
        Box::pin(std::future::ready(Ok(size_bytes)))
    }

    fn inspect(&self, teamspace: TeamspaceId, file: FileId, _: u64) -> Stored<Option<Content>> {
        Box::pin(self.clone().read_whole(teamspace, file))
    }

    fn remove(&self, _: TeamspaceId, _: FileId) -> Stored<()> {
        no_uploads()
    }

    fn list(&self) -> Stored<Vec<(TeamspaceId, FileId)>> {
        no_uploads()
    }
}

fn no_uploads<T: Send + 'static>() -> Stored<T> {
    Box::pin(std::future::ready(Err(io::ErrorKind::Unsupported.into())))
}

/// An engine whose files are recorded and on the disk.
struct Stage {
    engine: Engine,
    disk: Disk,
    files: Vec<FileId>,
}

const SIZE_BYTES: u64 = 12;

impl Stage {
    /// So many files in each of the teamspaces.
    async fn with_files(n_files: usize, teamspaces: &[&str]) -> Self {
        let contents = (0..n_files).map(|number| Bytes::from(format!("{number:012}")));
        let named = contents.map(|it| (FileId::of_digest(&canonical::sha256(&[&it])), it));
        let named: Vec<_> = named.collect();
        let files = named.iter().map(|(file, _)| file.clone()).collect();
        let (door, reads) = (Semaphore::new(0), watch::Sender::new(Reads::default()));
        let inner = Inner { files: named.into_iter().collect(), door, reads };
        let disk = Disk(Arc::new(inner));
        let (engine, _) = engine_on(Arc::new(store::Memory::default()));
        let engine = engine.keeping_files(Arc::new(disk.clone()), Vec::new(), SIZE_BYTES);
        register(&engine, &["alice", "bob"]).await;
        let stage = Self { engine, disk, files };
        for teamspace in teamspaces {
            let teamspace: TeamspaceId = teamspace.parse().expect("a teamspace");
            let alice = Caller { teamspace: teamspace.clone(), ..agent("alice") };
            for file in stage.files.clone() {
                let on = Stream { teamspace: teamspace.clone(), subject: Subject::File(file) };
                let store = file::Command::Store { size_bytes: SIZE_BYTES, image: None };
                let stored = stage.engine.submit(&alice, on, Command::File(store), None).await;
                stored.expect("she may store it");
            }
        }
        stage
    }

    /// A read of one byte.
    fn range(&self, teamspace: &str, file: &FileId) -> impl Future<Output = bool> + use<> {
        let (engine, file) = (self.engine.clone(), file.clone());
        let teamspace: TeamspaceId = teamspace.parse().expect("a teamspace");
        async move { read_bytes(&engine, &teamspace, &file, 0..1).await.is_ok() }
    }
}

async fn read_bytes(
    engine: &Engine,
    teamspace: &TeamspaceId,
    file: &FileId,
    bytes: std::ops::Range<u64>,
) -> Result<(), FileError> {
    let known = engine.files().kept(teamspace, file).await?.expect("it is kept");
    let mut reading = engine.files().open(teamspace, file, &known, bytes).await?;
    while reading.next().await?.is_some() {}
    Ok(())
}

#[tokio::test]
async fn many_first_ranges_of_a_file_read_it_once() {
    let stage = Stage::with_files(1, &["default"]).await;
    let mut asked = JoinSet::new();
    for _ in 0..20 {
        asked.spawn(stage.range("default", &stage.files[0]));
    }
    stage.disk.until_begun(1).await;
    stage.disk.0.door.add_permits(20);
    assert_eq!(asked.join_all().await, [true; 20]);
    assert_eq!(stage.disk.n_begun(), 1);
}

/// The client hangs up while the file is read; the next one finds it checked.
#[tokio::test]
async fn a_range_that_is_given_up_reads_the_file_once() {
    let stage = Stage::with_files(1, &["default"]).await;
    for _ in 0..5 {
        let asked = tokio::spawn(stage.range("default", &stage.files[0]));
        stage.disk.until_begun(1).await;
        tokio::task::yield_now().await;
        asked.abort();
        asked.await.expect_err("the client hung up");
    }
    stage.disk.0.door.add_permits(5);
    assert!(stage.range("default", &stage.files[0]).await);
    assert_eq!(stage.disk.n_begun(), 1);
}

/// Ranges of many files leave room for others: for those of other teamspaces, and for other work.
#[tokio::test]
async fn few_files_are_read_at_once_and_one_of_a_teamspace() {
    let stage = Stage::with_files(18, &["default", "one", "other"]).await;
    let mut asked = JoinSet::new();
    for (teamspace, files) in ["default", "one", "other"].iter().zip(stage.files.chunks(6)) {
        for file in files {
            asked.spawn(stage.range(teamspace, file));
        }
    }
    stage.disk.until_begun(CHECKS_MAX).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.disk.n_begun(), CHECKS_MAX);
    stage.disk.0.door.add_permits(18);
    assert_eq!(asked.join_all().await, [true; 18]);
}

#[tokio::test]
async fn a_file_of_which_all_was_read_is_not_read_again_for_a_range() {
    let stage = Stage::with_files(2, &["default"]).await;
    let [whole, seen] = &stage.files[..] else { panic!("two files") };
    let default = TeamspaceId::default_teamspace();
    read_bytes(&stage.engine, &default, whole, 0..SIZE_BYTES).await.expect("it is right");
    assert!(stage.range("default", whole).await);
    assert_eq!(stage.disk.n_begun(), 0, "a download hashes the bytes on the way");

    stage.disk.0.door.add_permits(9);
    let handoff = handoff_stream(stage.engine.new_handoff_id());
    let mut offer = offer("bob", "t1");
    offer.artifacts.push(Artifact {
        artifact_id: "log".to_owned(),
        reference: ArtifactRef {
            description: None,
            path: format!("tasuki:{seen}"),
            required: None,
            sha256: None,
            size_bytes: None,
            kind: ArtifactKind::File,
            version: None,
        },
    });
    let initiate = HandoffCommand::Initiate { offer: Some(Box::new(offer)) };
    for (who, command) in [("alice", Command::Handoff(initiate)), ("bob", support::accept())] {
        let done = stage.engine.submit(&agent(who), handoff.clone(), command, None).await;
        done.expect("it is theirs to do");
    }
    // It is asked about nothing: the only artifact is a stored file.
    let adapter = Told::to_find(&[Finding::Unavailable { detail: String::new() }]);
    assert_eq!(stage.engine.outbox().carry_out_due(&adapter).await.expect("it works"), 1);
    assert_eq!(stage.disk.n_begun(), 1, "the gate reads it");
    assert!(stage.range("default", seen).await);
    assert_eq!(stage.disk.n_begun(), 1);
}
