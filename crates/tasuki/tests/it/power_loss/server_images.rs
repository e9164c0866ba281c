//! The real server and a power cut: all its writes are recorded under load, and on every disk that
//! a power cut could have left, a server starts that has lost nothing it acknowledged.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use adapters::aaep_keys;
use adapters::audit_log::files;
use adapters::checkpoint_file::{LOG_FILE, NEWEST_FILE, split_log};
use adapters::ledger_key::{KEY_FILE, PUBLIC_FILE};
use protocol::checkpoint::Verifier;
use protocol::ids::TeamspaceId;
use store::sqlite::Sqlite;
use tasuki::audit::{Options, Source};
use tasuki::config::Config;
use tasuki::node::Node;
use tempfile::TempDir;

use super::{Ack, Log, Reached, Report, check_images, record};
use crate::ledger::{self, Ledger, Verdict};
use crate::load::{Load, Tokens, Transition, WRITERS};
use crate::server::{Server, is_full_run, seed};

/// With packages this large, a few hundred fill the write-ahead log, and it is moved into the
/// database while the server works.
const LARGE_PACKAGE_BYTES: usize = 200_000;

/// A server's whole recorded life, and what it acknowledged.
struct Life {
    log: Log,
    acks: Vec<Ack<Transition>>,
    _folder: TempDir,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_loses_nothing_that_was_acknowledged() {
    let seed = seed("power loss");
    let n_images = if is_full_run() { 350 } else { 72 };
    let report = judge(&live(seed).await, n_images, seed);
    let Reached { torn, wal_commit, checkpoint, unsynced, .. } = &report.reached;
    assert!(*torn > 0 && *wal_commit > 0 && *checkpoint > 0, "{report}");
    let lines = files::lines_path(Path::new(""), &TeamspaceId::default_teamspace());
    assert!(unsynced.contains_key(&lines), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_does_one_while_the_write_ahead_log_is_moved_into_the_database() {
    let seed = seed("power loss with large packages");
    let n_images = if is_full_run() { 150 } else { 30 };
    let report = judge(&live_large(seed).await, n_images, seed);
    let Reached { torn, wal_commit, checkpoint, .. } = &report.reached;
    assert!(*torn > 0 && *wal_commit > 0 && *checkpoint > 0, "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_syncs_the_server_would_lose_acknowledged_transitions() {
    let seed = seed("power loss canary");
    let life = live_without_syncs(seed).await;
    let n_images = if is_full_run() { 500 } else { 60 };
    let report = check_images(&life.log, &life.acks, n_images, seed, check_acknowledged);
    println!("{} acknowledged; {report}", life.acks.len());
    let is_loss = |message: &str| message.starts_with("lost ");
    let n_lost = report.failures.iter().filter(|failure| is_loss(&failure.message)).count();
    // Two cuts in three lose something; with this many of them chance alone comes near a half.
    assert!(n_lost >= n_images / 3, "{n_lost} lost something; {report}");
}

/// Between the empty folder and the first answer every file is new, and none has its name yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_start_can_be_cut_off_anywhere() {
    let seed = seed("power loss at the first start");
    let place = Place::new();
    let server = place.start(|_| {});
    let life = place.end(&server, []).await;
    let n_images = if is_full_run() { 1_000 } else { 120 };
    let report = check_images(&life.log, &life.acks, n_images, seed, check_everything);
    println!("{} entries; {report}", life.log.entries.len());
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.reached.lost_names > 0, "{report}");
}

fn judge(life: &Life, n_images: usize, seed: u64) -> Report {
    let report = check_images(&life.log, &life.acks, n_images, seed, check_everything);
    println!("{} acknowledged; {report}", life.acks.len());
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.reached.with_acks > n_images / 2, "{report}");
    report
}

/// Ordinary work with a stop and a start in it.
async fn live(seed: u64) -> Life {
    let place = Place::new();
    let server = place.start(|_| {});
    let tokens = Tokens::make(&server);
    let mut load = Load::new("small", WRITERS, seed);
    load.run(&tokens.crew(&server), 400).await;
    assert_eq!(server.stop(), Some(0));
    let server = place.start(|_| {});
    load.run(&tokens.crew(&server), 700).await;
    place.end(&server, [load]).await
}

/// Packages that fill the write-ahead log, so that it is moved while the server works.
async fn live_large(seed: u64) -> Life {
    let place = Place::new();
    let server = place.start(|_| {});
    let tokens = Tokens::make(&server);
    let crew = tokens.crew(&server);
    let mut large = Load::new("large", 8, seed).with_packages(LARGE_PACKAGE_BYTES);
    large.run(&crew, 320).await;
    let mut small = Load::new("small", WRITERS, seed);
    small.run(&crew, 100).await;
    place.end(&server, [small, large]).await
}

/// The same server with its defect: answers before anything is durable. Little work, so that the
/// write-ahead log is never moved, for that would make it durable after all.
async fn live_without_syncs(seed: u64) -> Life {
    let place = Place::new();
    let server = place.start(|command| {
        command.env("TASUKI_CANARY", "no_sync");
    });
    let tokens = Tokens::make(&server);
    let mut load = Load::new("small", WRITERS, seed);
    load.run(&tokens.crew(&server), 600).await;
    place.end(&server, [load]).await
}

/// Where a recorded server lives.
pub struct Place {
    pub data: PathBuf,
    pub log: PathBuf,
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self { data: folder.path().join("data"), log: folder.path().join("log"), folder }
    }

    pub fn start(&self, change: impl FnOnce(&mut std::process::Command)) -> Server {
        Server::start_on(&self.data, |command| {
            record(command, &self.data, &self.log);
            change(command);
        })
    }

    async fn end(self, server: &Server, loads: impl IntoIterator<Item = Load>) -> Life {
        let (log, folder) = self.recorded(server).await;
        let acks = loads.into_iter().flat_map(|load| load.acks.all()).collect();
        Life { log, acks, _folder: folder }
    }

    /// Kills the server once it has nothing more to write; what it did.
    pub async fn recorded(self, server: &Server) -> (Log, TempDir) {
        ledger::until_idle(&self.data).await;
        self.until_quiet().await;
        server.kill();
        let log = Log::read(&self.log, &self.data).expect("the server does what can be recorded");
        let unrecorded = log.unrecorded(&self.data).expect("the folder can be read");
        assert_eq!(unrecorded, Vec::<PathBuf>::new(), "something went past the recorder");
        (log, self.folder)
    }

    /// A change shows in its file before it is in the recording; a while without either is enough.
    async fn until_quiet(&self) {
        let (mut length, mut n_still) = (0, 0);
        ledger::eventually("the recorder to rest", || {
            let now = fs::metadata(&self.log).map_or(0, |log| log.len());
            n_still = if now == length { n_still + 1 } else { 0 };
            length = now;
            if n_still >= 50 { Ok(()) } else { Err(format!("{length} bytes are recorded")) }
        })
        .await;
    }
}

/// The contents of the disk, as the store recovers them.
fn check_acknowledged(image: &Path, acks: &[Ack<Transition>]) -> Verdict {
    drop(Sqlite::open(image).map_err(|error| error.to_string())?);
    Ledger::read(image)?.check_acknowledged(acks.iter().map(|ack| &ack.what))
}

/// Starts a server on the image and stops it again; then everything is as if nothing had happened.
pub fn check_everything(image: &Path, acks: &[Ack<Transition>]) -> Verdict {
    // Images do not keep file modes.
    for key in [KEY_FILE, aaep_keys::FILE].map(|name| image.join(name)) {
        if key.exists() {
            fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("it is ours");
        }
    }
    let notes = notes_on_disk(image)?;
    start_and_stop(image)?;
    let ledger = Ledger::read(image)?;
    ledger.check_acknowledged(acks.iter().map(|ack| &ack.what))?;
    ledger.check_single_effects()?;
    ledger.check_one_active()?;
    ledger.check_lines(image)?;
    if ledger.newest() > 0 {
        ledger::check_sealed(image, ledger.newest())?;
    }
    // With the notes from before the start: none of them covers more than exists.
    let options = Options { notes, ..Options::default() };
    ledger::audit_with(&Source::Data(image.to_owned()), &options)
}

/// The checkpoints that the power cut left outside the database, whole and signed by us.
fn notes_on_disk(image: &Path) -> Result<Vec<String>, String> {
    let read = |name: &str| fs::read_to_string(image.join(name)).ok();
    let mut notes: Vec<String> = read(NEWEST_FILE).into_iter().collect();
    notes.extend(read(LOG_FILE).into_iter().flat_map(|text| split_log(&text).notes));
    if notes.is_empty() {
        return Ok(notes);
    }
    let key = read(PUBLIC_FILE).ok_or("there are checkpoints and no public key")?;
    let verifier = Verifier::new(key.trim_end()).map_err(|error| error.to_string())?;
    for note in &notes {
        verifier.open(note).map_err(|error| format!("a checkpoint on disk: {error}"))?;
    }
    Ok(notes)
}

fn start_and_stop(image: &Path) -> Verdict {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let config = Config { data: image.to_owned(), ..Config::default() };
        let (_keep_running, stopping) = tokio::sync::watch::channel(false);
        let node =
            Node::start(&config, stopping).map_err(|error| format!("no start: {error:#}"))?;
        node.stop().await;
        Ok(())
    })
}
