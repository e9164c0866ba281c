//! An old database, old files, or both are put back: the server is not ready with entries gone
//! unless an operator has declared it. Without a witness elsewhere, an old database with its old
//! checkpoint and its old log is not noticed.

mod object_stores;
mod outages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tasuki::audit::{Options, Source, verify};
use tasuki::client::Call;

use crate::ledger;
use crate::server::{Server, initiate, ok, refused};
use crate::witness_server::{Manner, WitnessServer, s3_gate};

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

/// Where else checkpoints are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Elsewhere {
    Nowhere,
    Folder,
    Http,
    /// In a bucket of an object store.
    S3,
    /// By another Tasuki, which cosigns them.
    C2sp,
}

/// The files of a stopped server at two moments, and what the witnesses knew at each.
struct Stage {
    folder: tempfile::TempDir,
    http: WitnessServer,
    cosigner: Server,
    old_note: String,
    current_note: String,
    /// What the cosigner remembered at each moment.
    records: Vec<String>,
    /// Of alice, valid at both moments.
    token: String,
}

impl Stage {
    async fn new() -> Self {
        Self::with_remote(Elsewhere::Http).await
    }

    /// `remote` is the witness over HTTP.
    async fn with_remote(remote: Elsewhere) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("witness")).expect("a folder");
        let http = match remote {
            Elsewhere::S3 => WitnessServer::start_s3(),
            Elsewhere::Nowhere | Elsewhere::Folder | Elsewhere::Http | Elsewhere::C2sp => {
                WitnessServer::start()
            }
        };
        fs::create_dir(path("data")).expect("a folder");
        let key = adapters::ledger_key::open(&path("data"), || [7; 32]).expect("a key");
        let cosigner = Server::start_on(&path("cosigner"), |command| {
            command.env("TASUKI_WITNESS_ORIGINS", key.verifier_key());
        });
        let record = path("cosigner/witness").join(format!("ledger-{}", key.key_name()));
        let mut records = Vec::new();
        let mut token = String::new();
        let mut notes = Vec::new();
        for moment in ["old", "current"] {
            let server = Server::start_on(&path("data"), |command| {
                command.env("TASUKI_LEDGER_WITNESS", path("witness"));
                with_url(command, remote, &http, &cosigner);
            });
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
            copy(&path("witness"), &path(&format!("witness-{moment}")));
            let beside = fs::read_to_string(path("data").join(NEWEST)).expect("a file");
            if remote == Elsewhere::C2sp {
                records.push(fs::read_to_string(&record).expect("a file"));
                assert!(records.last().is_some_and(|record| record.starts_with(&beside)));
                let kept = fs::read_to_string(path("data/checkpoint.cosigned")).expect("a file");
                assert!(kept.starts_with(&beside), "{kept}");
            } else {
                assert_eq!(http.note().as_ref(), Some(&beside), "a stop waits for the witness");
            }
            notes.push(beside);
        }
        let current_note = notes.pop().expect("two notes");
        let old_note = notes.pop().expect("two notes");
        Self { folder, http, cosigner, old_note, current_note, records, token }
    }

    /// Where the cosigner remembers the ledger.
    fn record(&self) -> PathBuf {
        let key = fs::read_to_string(self.path("data/ledger.pub")).expect("a key");
        let name = key.split('+').next().expect("a name");
        self.path("cosigner/witness").join(format!("ledger-{name}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A data folder made of files of both moments.
    fn put(&self, database: Put, newest: Put, log: Put) -> PathBuf {
        let data = self.path("tried");
        replace(&self.path("current"), &data);
        for (name, put) in [(DATABASE, database), (NEWEST, newest), (LOG, log)] {
            change(&data.join(name), &self.path("old").join(name), put);
        }
        data
    }

    /// What someone did to the witnesses.
    fn put_witnesses(&self, put: Put) {
        replace(&self.path("witness-current"), &self.path("witness"));
        self.http.replace(Some(&self.current_note));
        let parts = fs::read_dir(self.path("witness-old")).expect("a folder");
        for part in parts.map(|part| part.expect("a folder").file_name()) {
            for name in [NEWEST, LOG] {
                let file = |folder: &str| self.path(folder).join(&part).join(name);
                change(&file("witness"), &file("witness-old"), put);
            }
        }
        if let [old, current] = &self.records[..] {
            match put {
                Put::Current => fs::write(self.record(), current).expect("a file"),
                Put::Old => fs::write(self.record(), old).expect("a file"),
                Put::Gone => fs::remove_file(self.record()).expect("a file"),
                Put::Garbled => fs::write(self.record(), "no checkpoint\n").expect("a file"),
            }
        }
        match put {
            Put::Current => {}
            Put::Old => self.http.replace(Some(&self.old_note)),
            Put::Gone => self.http.replace(None),
            Put::Garbled => self.http.replace(Some(&garbled(&self.current_note))),
        }
    }

    fn with(&self, command: &mut Command, elsewhere: Elsewhere) {
        match elsewhere {
            Elsewhere::Nowhere => {}
            Elsewhere::Folder => {
                command.env("TASUKI_LEDGER_WITNESS", self.path("witness"));
            }
            Elsewhere::Http | Elsewhere::S3 | Elsewhere::C2sp => {
                with_url(command, elsewhere, &self.http, &self.cosigner);
            }
        }
    }

    fn start(&self, name: &str, elsewhere: Elsewhere) -> Server {
        Server::start_on(&self.path(name), |command| self.with(command, elsewhere))
    }

    /// Whether the doctor finds the ledger complete.
    fn is_complete(&self, data: &Path, elsewhere: Elsewhere) -> bool {
        let [checkpoint, _] = self.verdicts(data, elsewhere);
        checkpoint != "bad"
    }

    /// About the checkpoint, and about the witness.
    fn verdicts(&self, data: &Path, elsewhere: Elsewhere) -> [String; 2] {
        ["checkpoint", "witness"].map(|check| self.doctor(data, elsewhere, check).0)
    }

    /// The verdict of the doctor about something, and why.
    fn doctor(&self, data: &Path, elsewhere: Elsewhere, check: &str) -> (String, String) {
        self.doctor_with(data, check, |command| self.with(command, elsewhere))
    }

    fn doctor_with(
        &self,
        data: &Path,
        check: &str,
        change: impl FnOnce(&mut Command),
    ) -> (String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tasuki"));
        command.args(["doctor", "--json", "--data"]).arg(data);
        change(&mut command);
        let output = command.output().expect("the executable runs");
        let findings: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let mut findings = findings.as_array().expect("a list").iter();
        let found = findings.find(|one| one["check"] == check).expect("it is checked");
        let text = |name: &str| found[name].as_str().expect("a text").to_owned();
        (text("verdict"), text("detail"))
    }
}

fn with_url(command: &mut Command, remote: Elsewhere, http: &WitnessServer, cosigner: &Server) {
    match remote {
        Elsewhere::Nowhere | Elsewhere::Folder => {}
        Elsewhere::Http => drop(command.env("TASUKI_LEDGER_WITNESS_URL", &http.url)),
        Elsewhere::S3 => {
            command.env("TASUKI_LEDGER_WITNESS_URL", &http.url);
            command.env("TASUKI_LEDGER_WITNESS_S3_REGION", s3_gate::REGION);
            command.env("TASUKI_LEDGER_WITNESS_S3_KEY_FILE", http.key_file());
        }
        Elsewhere::C2sp => {
            let url = format!("{}/witness/", cosigner.url);
            let key = adapters::ledger_key::open(&cosigner.data, || [0; 32]).expect("a key");
            command.env("TASUKI_LEDGER_WITNESS_URL", url);
            command.env("TASUKI_LEDGER_WITNESS_KEY", key.cosigner().verifier_key());
        }
    }
}

fn change(file: &Path, old: &Path, put: Put) {
    match put {
        Put::Current => {}
        Put::Old => drop(fs::copy(old, file).expect("a file")),
        Put::Gone => fs::remove_file(file).expect("a file"),
        Put::Garbled => {
            let text = fs::read_to_string(file).expect("a file");
            fs::write(file, garbled(&text)).expect("a file");
        }
    }
}

/// Its notes are signed by no one.
fn garbled(text: &str) -> String {
    text.replace("\n\u{2014} ", "\n\u{2014} x")
}

fn replace(from: &Path, to: &Path) {
    if to.exists() {
        fs::remove_dir_all(to).expect("it is ours");
    }
    copy(from, to);
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-rp").args([from, to]).status().expect("cp runs");
    assert!(copied.success());
}

#[tokio::test]
async fn what_is_put_back_is_noticed() {
    let (stage, bucket) = (Stage::new().await, Stage::with_remote(Elsewhere::S3).await);
    let cosigned = Stage::with_remote(Elsewhere::C2sp).await;
    let mut n_ways = 0;
    for database in [Put::Current, Put::Old] {
        for (newest, log) in ALL.into_iter().flat_map(|newest| ALL.map(|log| (newest, log))) {
            for (stage, elsewhere) in [
                (&stage, Elsewhere::Nowhere),
                (&stage, Elsewhere::Folder),
                (&stage, Elsewhere::Http),
                (&bucket, Elsewhere::S3),
                (&cosigned, Elsewhere::C2sp),
            ] {
                let data = stage.put(database, newest, log);
                let is_whole = |put: Put| matches!(put, Put::Current | Put::Old);
                let expected = match (database == Put::Current, elsewhere) {
                    (true, Elsewhere::Nowhere) => is_whole(newest) && is_whole(log),
                    // If all that is left is old, no one can tell.
                    (false, Elsewhere::Nowhere) => (newest, log) == (Put::Old, Put::Old),
                    // The witness alone is enough.
                    (
                        is_current,
                        Elsewhere::Folder | Elsewhere::Http | Elsewhere::S3 | Elsewhere::C2sp,
                    ) => is_current,
                };
                let what = format!("database {database:?}, newest {newest:?}, log {log:?}");
                let found = stage.is_complete(&data, elsewhere);
                assert_eq!(found, expected, "{what}, witness {elsewhere:?}");
                n_ways += 1;
            }
        }
    }
    assert_eq!(n_ways, 160);
}

/// The database is gone, and the server makes an empty one.
#[tokio::test]
async fn an_empty_database_is_not_taken_for_a_first_start() {
    let (stage, cosigned) = (Stage::new().await, Stage::with_remote(Elsewhere::C2sp).await);
    for elsewhere in [Elsewhere::Nowhere, Elsewhere::Folder, Elsewhere::Http, Elsewhere::C2sp] {
        let stage = if elsewhere == Elsewhere::C2sp { &cosigned } else { &stage };
        for put in ALL {
            let data = stage.put(Put::Gone, put, put);
            let server = stage.start("tried", elsewhere);
            let ready = refused(&server.anonymous(), Call::get("/readyz")).await;
            let what = format!("checkpoints {put:?}, witness {elsewhere:?}");
            assert_eq!(ready.body["code"], "ledger_behind_checkpoint", "{what}");
            assert_eq!(server.stop(), Some(0));
            assert!(!stage.is_complete(&data, elsewhere), "{what}");
        }
    }
}

/// The witnesses themselves are old, gone or garbled, or one of them misbehaves.
#[tokio::test]
async fn a_witness_that_does_not_testify_leaves_a_doubt() {
    let (stage, bucket) = (Stage::new().await, Stage::with_remote(Elsewhere::S3).await);
    let cosigned = Stage::with_remote(Elsewhere::C2sp).await;
    for (stage, elsewhere) in [
        (&stage, Elsewhere::Folder),
        (&stage, Elsewhere::Http),
        (&bucket, Elsewhere::S3),
        (&cosigned, Elsewhere::C2sp),
    ] {
        for put in ALL {
            stage.put_witnesses(put);
            let all_current = stage.put(Put::Current, Put::Current, Put::Current);
            let found = stage.is_complete(&all_current, elsewhere);
            assert_eq!(found, put != Put::Garbled, "current, {elsewhere:?} {put:?}");
            // One that cosigns has taken the current checkpoint by now.
            stage.put_witnesses(put);
            let all_old = stage.put(Put::Old, Put::Old, Put::Old);
            let found = stage.is_complete(&all_old, elsewhere);
            // Who can put the witness back as well leaves no trace.
            let expected = matches!(put, Put::Old | Put::Gone);
            assert_eq!(found, expected, "old, {elsewhere:?} {put:?}");
        }
    }
    stage.put_witnesses(Put::Current);
    let data = stage.put(Put::Current, Put::Current, Put::Current);
    let manners =
        [Manner::Status(500), Manner::Status(403), Manner::Redirects, Manner::Huge, Manner::Silent];
    for manner in manners.into_iter().chain([Manner::Garbage]) {
        stage.http.behave(manner);
        assert_eq!(stage.verdicts(&data, Elsewhere::Http), ["bad", "bad"], "{manner:?}");
    }
    stage.http.behave(Manner::Sound);
    assert_eq!(stage.verdicts(&data, Elsewhere::Http), ["good", "good"]);
    assert_eq!(stage.verdicts(&data, Elsewhere::Nowhere), ["good", "warning"]);
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
        declare_fork(&data);
        initiate(&server.with_token(&stage.token), "T-9", "bob").await;
        assert_eq!(server.stop(), Some(0));
        assert!(stage.is_complete(&data, Elsewhere::Nowhere));
        let source = Source::Data(data);
        let report = verify(&source, &Options::default(), &mut |_, _| {}).expect("it is read");
        let [fork] = &report.forks[..] else { panic!("one fork: {report:?}") };
        // All entries are there, and no checkpoint says that there were more.
        assert_eq!((fork.first_lost, fork.last_lost), (None, None), "{fork}");
    }
}

fn declare_fork(data: &Path) {
    let mut fork = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    fork.args(["ledger", "fork", "--reason", "the disk died", "--data"]).arg(data);
    assert!(fork.status().expect("it runs").success());
}

/// Two servers on copies of one folder: the second to seal something new stops writing. If an
/// operator declares that it goes on, the first one stops.
#[tokio::test]
async fn a_copy_that_runs_beside_the_original_is_noticed() {
    let ways = [
        (Elsewhere::Folder, Manner::Sound),
        (Elsewhere::Http, Manner::Sound),
        (Elsewhere::Http, Manner::Plain),
        (Elsewhere::S3, Manner::Sound),
        (Elsewhere::C2sp, Manner::Sound),
    ];
    for (elsewhere, manner) in ways {
        let remote = if elsewhere == Elsewhere::Folder { Elsewhere::Http } else { elsewhere };
        let stage = Stage::with_remote(remote).await;
        stage.http.behave(manner);
        let [first, second] = ["data", "current"].map(|name| stage.start(name, elsewhere));
        let alice = first.with_token(&stage.token);
        initiate(&alice, "first", "bob").await;
        until_witnessed(&stage, &first, elsewhere).await;
        let mallory = second.with_token(&stage.token);
        initiate(&mallory, "second", "bob").await;
        until_status(&second, 503).await;
        let offer = crate::server::offer("T-9", "bob");
        let last = refused(&mallory, Call::post("/v1/handoffs", offer)).await;
        assert_eq!(last.body["code"], "ledger_behind_checkpoint");
        initiate(&alice, "more", "bob").await;
        assert_eq!(ok(&first.anonymous(), Call::get("/readyz")).await["status"], "ready");
        until_witnessed(&stage, &first, elsewhere).await;
        assert!(stage.is_complete(&first.data, elsewhere));
        assert!(!stage.is_complete(&second.data, elsewhere));

        declare_fork(&second.data);
        initiate(&mallory, "forked", "bob").await;
        if elsewhere == Elsewhere::C2sp {
            // It never takes the fork, until its operator makes it forget the ledger.
            while until_status(&second, 200).await["warning"].is_null() {}
            fs::remove_file(stage.record()).expect("a file");
            while !until_status(&second, 200).await["warning"].is_null() {}
        }
        assert_eq!(second.stop(), Some(0));
        initiate(&alice, "too late", "bob").await;
        until_status(&first, 503).await;
        assert!(!stage.is_complete(&first.data, elsewhere));
        assert!(stage.is_complete(&second.data, elsewhere));
    }
}

async fn until_witnessed(stage: &Stage, server: &Server, elsewhere: Elsewhere) {
    ledger::until_idle(&server.data).await;
    let newest = fs::read_to_string(server.data.join(NEWEST)).expect("a file");
    let is_there = || match elsewhere {
        Elsewhere::Nowhere | Elsewhere::Folder => true,
        Elsewhere::Http | Elsewhere::S3 => stage.http.note().as_ref() == Some(&newest),
        Elsewhere::C2sp => {
            fs::read_to_string(stage.record()).is_ok_and(|record| record.starts_with(&newest))
        }
    };
    while !is_there() {
        tokio::task::yield_now().await;
    }
}

async fn until_status(server: &Server, status: u16) -> Value {
    loop {
        let ready = server.anonymous().call(Call::get("/readyz")).await.expect("an answer");
        if ready.status == status {
            return ready.body;
        }
        tokio::task::yield_now().await;
    }
}

/// A start without its witness is read-only, until the witness answers and agrees.
#[tokio::test]
async fn a_witness_that_answers_late_ends_the_doubt() {
    let stage = Stage::new().await;
    stage.http.behave(Manner::Status(503));
    let server = stage.start("data", Elsewhere::Http);
    let detail = until_status(&server, 503).await["detail"].take();
    assert!(detail.as_str().is_some_and(|it| it.contains("does not answer")), "{detail}");
    let alice = server.with_token(&stage.token);
    let offer = crate::server::offer("T-9", "bob");
    let refusal = refused(&alice, Call::post("/v1/handoffs", offer)).await;
    assert_eq!(refusal.body["code"], "ledger_behind_checkpoint");
    stage.http.behave(Manner::Sound);
    until_status(&server, 200).await;
    initiate(&alice, "late", "bob").await;
    assert_eq!(server.stop(), Some(0));
    assert_ne!(stage.http.note().as_ref(), Some(&stage.current_note));

    let old = stage.put(Put::Old, Put::Old, Put::Old);
    stage.http.behave(Manner::Status(503));
    let server = Server::start_on(&old, |command| stage.with(command, Elsewhere::Http));
    stage.http.behave(Manner::Sound);
    loop {
        let detail = until_status(&server, 503).await["detail"].take();
        if detail.as_str().is_some_and(|it| it.contains("vouches for are missing")) {
            break;
        }
    }
}
