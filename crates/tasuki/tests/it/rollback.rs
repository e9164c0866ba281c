//! An old database, old files, or both are put back: the server is not ready with entries gone
//! unless an operator has declared it. Without a witness elsewhere, an old database with its old
//! checkpoint is not noticed, if the log of checkpoints is old, gone or garbled too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tasuki::audit::{Options, Source, verify};
use tasuki::client::Call;

use crate::ledger;
use crate::server::{Server, initiate, ok, refused};

const DATABASE: &str = "tasuki.db";
const NEWEST: &str = "checkpoint";
const LOG: &str = "checkpoints.log";

/// What was done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Put {
    Current,
    Old,
    Gone,
    Garbled,
}

const ALL: [Put; 4] = [Put::Current, Put::Old, Put::Gone, Put::Garbled];

/// The files of a stopped server at two moments, and what the witness knows since the second.
struct Stage {
    folder: tempfile::TempDir,
    /// Of alice, valid at both moments.
    token: String,
}

impl Stage {
    async fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("witness")).expect("a folder");
        let mut token = String::new();
        for moment in ["old", "current"] {
            let server = Server::start_on(&path("data"), |command| with(command, &path("witness")));
            if token.is_empty() {
                token = server.token("alice", &[]);
                server.agent("bob");
            }
            for number in 0..3 {
                let task = format!("{moment}-{number}");
                initiate(&server.with_token(&token), &task, "bob").await;
            }
            ledger::until_idle(&path("data")).await;
            assert_eq!(server.stop(), Some(0));
            copy(&path("data"), &path(moment));
        }
        Self { folder, token }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A data folder made of files of both moments.
    fn put(&self, database: Put, newest: Put, log: Put) -> PathBuf {
        let data = self.path("tried");
        if data.exists() {
            fs::remove_dir_all(&data).expect("it is ours");
        }
        copy(&self.path("current"), &data);
        for (name, put) in [(DATABASE, database), (NEWEST, newest), (LOG, log)] {
            let file = data.join(name);
            match put {
                Put::Current => {}
                Put::Old => drop(fs::copy(self.path("old").join(name), file).expect("a file")),
                Put::Gone => fs::remove_file(file).expect("a file"),
                Put::Garbled => {
                    let text = fs::read_to_string(&file).expect("a file");
                    fs::write(file, text.replace("\n\u{2014} ", "\n\u{2014} x")).expect("a file");
                }
            }
        }
        data
    }
}

fn with(command: &mut Command, witness: &Path) {
    command.env("TASUKI_LEDGER_WITNESS", witness);
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-rp").args([from, to]).status().expect("cp runs");
    assert!(copied.success());
}

/// Whether the doctor finds the ledger complete.
fn is_complete(data: &Path, witness: Option<&Path>) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    command.args(["doctor", "--json", "--data"]).arg(data);
    if let Some(witness) = witness {
        with(&mut command, witness);
    }
    let output = command.output().expect("the executable runs");
    let findings: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut findings = findings.as_array().expect("a list").iter();
    let checkpoint = findings.find(|one| one["check"] == "checkpoint").expect("it is checked");
    checkpoint["verdict"] != "bad"
}

#[tokio::test]
async fn what_is_put_back_is_noticed() {
    let stage = Stage::new().await;
    let witness = stage.path("witness");
    let mut n_ways = 0;
    for database in [Put::Current, Put::Old] {
        for (newest, log) in ALL.into_iter().flat_map(|newest| ALL.map(|log| (newest, log))) {
            for witness in [None, Some(&*witness)] {
                let data = stage.put(database, newest, log);
                let expected = match (database, newest, witness) {
                    // The witness alone is enough.
                    (Put::Current, _, Some(_)) => true,
                    (Put::Current, Put::Current | Put::Old, None) => true,
                    (Put::Current, Put::Gone | Put::Garbled, None) => false,
                    (_, _, Some(_)) => false,
                    // The old checkpoint holds, and only a current log could tell.
                    (_, Put::Old, None) => log != Put::Current,
                    (_, _, None) => false,
                };
                let what = format!("database {database:?}, newest {newest:?}, log {log:?}");
                let found = is_complete(&data, witness);
                assert_eq!(found, expected, "{what}, witness {}", witness.is_some());
                n_ways += 1;
            }
        }
    }
    assert_eq!(n_ways, 64);
}

/// The server is read-only until an operator has declared it, and notes that the witness is gone.
#[tokio::test]
async fn a_ledger_without_a_checkpoint_is_read_only_until_it_is_declared() {
    let stage = Stage::new().await;
    for log in [Put::Gone, Put::Old] {
        let data = stage.put(Put::Old, Put::Gone, log);
        let server = Server::start_on(&data, |_| {});
        let ready = refused(&server.anonymous(), Call::get("/readyz")).await;
        assert_eq!((ready.status, &ready.body["code"]), (503, &"ledger_behind_checkpoint".into()));
        let detail = ready.body["detail"].as_str().expect("a text");
        assert!(detail.contains("may be missing"), "{detail}");
        assert!(!data.join(NEWEST).exists(), "nothing is signed");
        let mut fork = Command::new(env!("CARGO_BIN_EXE_tasuki"));
        fork.args(["ledger", "fork", "--reason", "the disk died", "--data"]).arg(&data);
        assert!(fork.status().expect("it runs").success());
        initiate(&server.with_token(&stage.token), "T-9", "bob").await;
        assert_eq!(server.stop(), Some(0));
        assert!(is_complete(&data, None));
        let source = Source::Data(data);
        let report = verify(&source, &Options::default(), &mut |_, _| {}).expect("it is read");
        let [fork] = &report.forks[..] else { panic!("one fork: {report:?}") };
        // All entries are there, and no checkpoint says that there were more.
        assert_eq!((fork.first_lost, fork.last_lost), (None, None), "{fork}");
    }
}

/// Two servers on copies of one folder: the second to seal something new stops writing.
#[tokio::test]
async fn a_copy_that_runs_beside_the_original_is_noticed() {
    let stage = Stage::new().await;
    let witness = stage.path("witness");
    let [first, second] = ["data", "current"]
        .map(|name| Server::start_on(&stage.path(name), |command| with(command, &witness)));
    let alice = first.with_token(&stage.token);
    initiate(&alice, "first", "bob").await;
    ledger::until_idle(&first.data).await;
    let mallory = second.with_token(&stage.token);
    initiate(&mallory, "second", "bob").await;
    let is_behind = async || {
        let ready = second.anonymous().call(Call::get("/readyz")).await.expect("an answer");
        ready.status == 503
    };
    while !is_behind().await {
        tokio::task::yield_now().await;
    }
    let last = refused(&mallory, Call::post("/v1/handoffs", crate::server::offer("T-9", "bob")));
    assert_eq!(last.await.body["code"], "ledger_behind_checkpoint");
    initiate(&alice, "more", "bob").await;
    assert_eq!(ok(&first.anonymous(), Call::get("/readyz")).await["status"], "ready");
    assert_eq!(first.stop(), Some(0));
    assert!(is_complete(&stage.path("data"), Some(&witness)));
    assert!(!is_complete(&stage.path("current"), Some(&witness)));
}

#[tokio::test]
async fn a_witness_that_is_no_folder_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = folder.path().join("nowhere");
    let data = folder.path().join("data");
    let output = crate::server::refused_start(&data, |command| with(command, &nowhere));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("ledger.witness: cannot use"), "{said}");
}
