//! A disk that fails under the real server. A failed sync ends the process at once, and everything
//! acknowledged is on the disk. A full disk fails commands and nothing else: the server goes on
//! reading, and goes on writing once there is space again.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use store::sqlite::FILE_NAME;
use tasuki::client::Call;
use tempfile::TempDir;

use crate::ledger::{self, Ledger, eventually, until_idle};
use crate::load::{Load, Repeat, Tokens, WRITERS};
use crate::power_loss::{Random, compile};
use crate::server::{Server, is_full_run, ok, refused, refused_start, seed};

const SIGABRT: i32 = 6;

/// Until the order is withdrawn.
const FOR_GOOD: u64 = 1_000_000_000;

/// With packages this large, a few hundred fill the write-ahead log.
const LARGE_PACKAGE_BYTES: usize = 200_000;

/// A data folder on a disk that fails on command.
struct Disk {
    data: PathBuf,
    order: PathBuf,
    _folder: TempDir,
}

/// One order to the disk; `disk_faults/faults.c` explains the words.
struct Order {
    what: &'static str,
    nth: u64,
    times: u64,
    ending: &'static str,
}

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("data");
        Self { data, order: folder.path().join("order"), _folder: folder }
    }

    fn start(&self) -> Server {
        Server::start_on(&self.data, |command| self.attach(command))
    }

    fn attach(&self, command: &mut Command) {
        static FAULTS: OnceLock<PathBuf> = OnceLock::new();
        let source = include_str!("disk_faults/faults.c");
        let faults = FAULTS.get_or_init(|| compile("faults.c", source, &["-shared", "-fPIC"]));
        command
            .env("LD_PRELOAD", faults)
            .env("TASUKI_FAIL_ROOT", &self.data)
            .env("TASUKI_FAIL_ORDER", &self.order);
    }

    fn order(&self, Order { what, nth, times, ending }: Order) {
        let written = self.order.with_extension("new");
        fs::write(&written, format!("{what} {nth} {times} {ending}")).expect("there is room");
        fs::rename(&written, &self.order).expect("both names are in one folder");
    }

    /// Withdraws the order. Returns the files on which calls failed, if any.
    fn mend(&self) -> Vec<PathBuf> {
        fs::remove_file(&self.order).expect("there was an order");
        let met = self.met();
        // Maybe nothing failed.
        let _ = fs::remove_file(self.order.with_extension("met"));
        met
    }

    fn met(&self) -> Vec<PathBuf> {
        let met = fs::read_to_string(self.order.with_extension("met")).unwrap_or_default();
        met.lines().map(PathBuf::from).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sync_ends_the_process_and_nothing_is_acknowledged() {
    let seed = seed("failed sync");
    let disk = Disk::new();
    let mut server = disk.start();
    let tokens = Tokens::make(&server);
    let mut load = Load::new("sync", WRITERS, seed);
    let which = if is_full_run() { (1..=40).collect() } else { vec![1, 2, 3, 7] };
    for nth in which {
        load.run(&tokens.crew(&server), load.acks.count() + 50).await;
        until_idle(&disk.data).await;
        let n_before = load.acks.count();
        disk.order(Order { what: "sync", nth, times: FOR_GOOD, ending: "/tasuki.db-wal" });
        load.run(&tokens.crew(&server), usize::MAX).await;
        check_aborted(&server).await;
        assert_eq!(disk.mend().len(), 1, "the first failed sync was the last call");
        if nth == 1 {
            assert_eq!(load.acks.count(), n_before, "none of these was synced");
        }
        server = disk.start();
        check_repeats(&disk, &mut load, &server, &tokens).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sync_of_the_database_ends_the_process_too() {
    let seed = seed("failed sync of the database");
    let disk = Disk::new();
    let server = disk.start();
    let tokens = Tokens::make(&server);
    let mut load = Load::new("large", 16, seed).with_packages(LARGE_PACKAGE_BYTES);
    disk.order(Order { what: "sync", nth: 1, times: FOR_GOOD, ending: "/tasuki.db" });
    load.run(&tokens.crew(&server), usize::MAX).await;
    check_aborted(&server).await;
    assert_eq!(disk.mend(), [disk.data.join("tasuki.db")]);
    let server = disk.start();
    check_repeats(&disk, &mut load, &server, &tokens).await;
}

/// The defect that these tests detect: an acknowledgement before a sync that then fails.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_acknowledged_before_a_sync_that_fails_would_be_missed() {
    let seed = seed("failed sync canary");
    let disk = Disk::new();
    let server = Server::start_on(&disk.data, |command| {
        disk.attach(command);
        command.env("TASUKI_CANARY", "no_sync");
    });
    let tokens = Tokens::make(&server);
    let mut load = Load::new("canary", 8, seed);
    disk.order(Order { what: "sync", nth: 1, times: FOR_GOOD, ending: "/tasuki.db-wal" });
    load.run(&tokens.crew(&server), 100).await;
    assert_eq!(server.stop(), None);
    check_aborted(&server).await;
    disk.mend();
    let acks = load.acks.all();
    let ledger = Ledger::read(&disk.data).unwrap();
    let verdict = ledger.check_acknowledged(acks.iter().map(|ack| &ack.what));
    assert!(verdict.is_err_and(|lost| lost.starts_with("lost 1")), "all are lost");
}

/// Files derived from the ledger are rewritten from it, so their syncs may be retried.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_follows_the_ledger_makes_good_for_failures() {
    let seed = seed("failed follower");
    let disk = Disk::new();
    let mut server = disk.start();
    let tokens = Tokens::make(&server);
    let mut load = Load::new("follow", WRITERS, seed);
    for (what, ending) in [
        ("sync", "/handoffs.jsonl"),
        ("short", "/handoffs.jsonl"),
        ("sync", ".position"),
        ("sync", "/checkpoint.new"),
        ("sync", "/checkpoints.log"),
        ("short", "/checkpoints.log"),
    ] {
        assert_eq!(server.stop(), Some(0));
        disk.order(Order { what, nth: 1, times: 2, ending });
        server = disk.start();
        load.run(&tokens.crew(&server), load.acks.count() + 100).await;
        eventually("a failure", || {
            if disk.met().is_empty() { Err("nothing failed".to_owned()) } else { Ok(()) }
        })
        .await;
        disk.mend();
        check_sound(&disk, &load).await;
    }
    assert_eq!(server.stop(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_fails_commands_and_nothing_else() {
    let seed = seed("full disk");
    let disk = Disk::new();
    let server = disk.start();
    let tokens = Tokens::make(&server);
    let crew = tokens.crew(&server);
    let mut load = Load::new("full", WRITERS, seed);
    for what in ["space", "short"] {
        let acks = load.acks.clone();
        let fill_up = async {
            acks.until(acks.count() + 200).await;
            disk.order(Order { what, nth: 1, times: FOR_GOOD, ending: "*" });
        };
        tokio::join!(load.run(&crew, usize::MAX), fill_up);
        let unanswered = load.unanswered();
        assert_eq!(unanswered.len(), WRITERS);
        let ledger = Ledger::read(&disk.data).unwrap();
        for request in &unanswered {
            assert_eq!(request.code.as_deref(), Some("storage_full"), "{request:?}");
            assert_eq!(ledger.effect_of(request), None, "nothing was changed: {request:?}");
        }
        let n_met = disk.met().len();
        eventually("what follows the ledger to fail as well", || {
            if disk.met().len() > n_met { Ok(()) } else { Err("it has not".to_owned()) }
        })
        .await;
        let ready = refused(&crew.alice, Call::get("/readyz")).await;
        assert_eq!(ready.body["code"], "storage_full");
        let listed = ok(&crew.alice, Call::get("/v1/handoffs?limit=10")).await;
        assert_eq!(listed["items"].as_array().unwrap().len(), 10);
        disk.mend();
        ok(&crew.alice, Call::get("/readyz")).await;
        check_repeats(&disk, &mut load, &server, &tokens).await;
    }
    assert_eq!(server.stop(), Some(0));
}

/// Nobody has to write first: who asks whether the server is ready finds out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_not_ready_before_any_write_fails() {
    let disk = Disk::new();
    let server = disk.start();
    disk.order(Order { what: "space", nth: 1, times: FOR_GOOD, ending: "*" });
    let ready = refused(&server.anonymous(), Call::get("/readyz")).await;
    assert_eq!((ready.status, &ready.body["code"]), (507, &"storage_full".into()));
    disk.mend();
    ok(&server.anonymous(), Call::get("/readyz")).await;
    assert_eq!(server.stop(), Some(0));
}

/// Any write may be the first to find the disk full, and the disk may have space again after any.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_write_of_a_commit_may_find_no_room() {
    let seed = seed("no room for one write");
    let mut random = Random::from_seed(seed);
    let disk = Disk::new();
    let server = disk.start();
    let tokens = Tokens::make(&server);
    let crew = tokens.crew(&server);
    let mut load = Load::new("once", 8, seed);
    let (n_rounds, mut n_met) = (if is_full_run() { 400 } else { 40 }, 0);
    for round in 1..=n_rounds {
        let what = if random.happens(50) { "space" } else { "short" };
        let times = [1, 2, 3, 40][random.below(4)];
        disk.order(Order { what, nth: 1 + random.below(60) as u64, times, ending: "*" });
        load.run(&crew, load.acks.count() + 10).await;
        n_met += usize::from(!disk.mend().is_empty());
        let codes: Vec<_> = load.unanswered().into_iter().map(|request| request.code).collect();
        assert!(codes.iter().all(|code| code.as_deref() == Some("storage_full")), "{codes:?}");
        if round % 20 == 0 {
            check_repeats(&disk, &mut load, &server, &tokens).await;
        }
    }
    assert!(n_met > n_rounds / 2, "{n_met} of {n_rounds}");
    assert_eq!(server.stop(), Some(0));
}

/// The index of the write-ahead log grows last, when the commit is on the disk already. Without
/// space for it the outcome is unknown until the next start, and a repeated request finds out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_room_for_the_index_of_the_log_the_outcome_is_unknown() {
    let seed = seed("no room for the index");
    let mut n_effects = 0;
    // The server's own writes may take the place of the last commit, but not always.
    for attempt in 0..8 {
        n_effects += run_out_of_index(seed.wrapping_add(attempt)).await;
        if n_effects > 0 {
            break;
        }
    }
    assert!(n_effects > 0, "the last commit was on the disk");
}

/// Returns how many of the commits with unknown outcome are found after a kill.
async fn run_out_of_index(seed: u64) -> usize {
    let disk = Disk::new();
    let server = disk.start();
    let tokens = Tokens::make(&server);
    // A long-running reader keeps the log from being restarted, so that its index grows.
    let reader = rusqlite::Connection::open(disk.data.join(FILE_NAME)).expect("a database");
    reader.execute_batch("BEGIN; SELECT * FROM entries LIMIT 1").expect("it can be read");
    let mut load = Load::new("index", 4, seed);
    disk.order(Order { what: "space", nth: 1, times: FOR_GOOD, ending: "-shm" });
    load.run(&tokens.crew(&server), usize::MAX).await;
    println!("{} acks", load.acks.count());
    let unanswered = load.unanswered();
    let codes: Vec<_> = unanswered.iter().map(|request| request.code.as_deref()).collect();
    assert!(codes.iter().all(|code| *code == Some("unknown_outcome")), "{codes:?}");
    // It still reads. A write, such as that of /readyz, would take the place of the last commit.
    ok(&tokens.crew(&server).alice, Call::get("/v1/agents")).await;
    drop(reader);
    server.kill();
    disk.mend();
    let left = Ledger::read(&disk.data).expect("the ledger can be read");
    let n_effects = unanswered.iter().filter(|request| left.effect_of(request).is_some()).count();
    println!("{n_effects} effects");
    let server = disk.start();
    check_repeats(&disk, &mut load, &server, &tokens).await;
    n_effects
}

/// Moving the log into the database, and truncating files, can wait until there is space.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_does_not_end_a_server_that_moves_its_log() {
    let seed = seed("no room for the database");
    let disk = Disk::new();
    let mut server = disk.start();
    let tokens = Tokens::make(&server);
    let mut load = Load::new("large", 16, seed).with_packages(LARGE_PACKAGE_BYTES);
    for (what, ending) in [("space", "/tasuki.db"), ("cut", "*")] {
        disk.order(Order { what, nth: 1, times: FOR_GOOD, ending });
        load.run(&tokens.crew(&server), load.acks.count() + 330).await;
        assert_eq!(load.unanswered().len(), 0);
        assert_eq!(server.stop(), Some(0));
        assert_ne!(disk.mend(), Vec::<PathBuf>::new());
        server = disk.start();
        check_sound(&disk, &load).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_without_room_fails_and_the_next_is_clean() {
    let seed = seed("start without room");
    let disk = Disk::new();
    let server = disk.start();
    let tokens = Tokens::make(&server);
    let mut load = Load::new("start", 8, seed);
    load.run(&tokens.crew(&server), 50).await;
    server.kill();
    disk.order(Order { what: "space", nth: 1, times: FOR_GOOD, ending: "*" });
    let output = refused_start(&disk.data, |command| disk.attach(command));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&*disk.data.to_string_lossy()), "{said}");
    assert_ne!(disk.mend(), Vec::<PathBuf>::new());
    let server = disk.start();
    check_repeats(&disk, &mut load, &server, &tokens).await;
}

async fn check_aborted(server: &Server) {
    let mut status = None;
    eventually("the process to end", || {
        status = server.ended();
        status.map(|_| ()).ok_or_else(|| "it runs".to_owned())
    })
    .await;
    assert_eq!(status.and_then(|status| status.signal()), Some(SIGABRT), "{status:?}");
}

/// The failed requests are repeated and succeed, with one effect; then everything is as it should
/// be.
async fn check_repeats(disk: &Disk, load: &mut Load, server: &Server, tokens: &Tokens) {
    for repeated in load.repeat(&tokens.crew(server)).await {
        assert!(!matches!(repeated.answer, Repeat::FailedAgain), "{repeated:?}");
    }
    check_sound(disk, load).await;
}

async fn check_sound(disk: &Disk, load: &Load) {
    let ledger = until_idle(&disk.data).await;
    let acks = load.acks.all();
    ledger.check_acknowledged(acks.iter().map(|ack| &ack.what)).expect("nothing is lost");
    ledger.check_single_effects().expect("nothing was done twice");
    ledger.check_one_active().expect("a task has one owner");
    ledger::audit(&disk.data).expect("the record is whole");
}
