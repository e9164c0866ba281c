//! Backup and restore, and a ledger that is behind its checkpoint: nothing acknowledged before a
//! backup is missing from it, and entries missing after a restore are never ignored.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use adapters::audit_log::files::lines_path;
use serde_json::{Value, json};
use tasuki::audit::{self, Finding, Options, Report, Source};
use tasuki::client::Call;
use tasuki::exit_code;

use crate::ledger::{self, Ledger};
use crate::load::{Load, Tokens};
use crate::server::{Server, initiate, offer, ok, refused, seed};

const WRITERS: usize = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_has_all_that_was_acknowledged_before_it() {
    let server = Server::start();
    let folder = tempfile::tempdir().unwrap();
    let tokens = Tokens::make(&server);
    let crew = tokens.crew(&server);
    let mut load = Load::new("backup", WRITERS, seed("backup"));
    let acks = Arc::clone(&load.acks);
    let working = tokio::spawn(async move { load.run(&crew, usize::MAX).await });
    acks.until(400).await;
    let before = acks.all();
    let (data, to) = (server.data.clone(), folder.path().to_owned());
    let made = tokio::task::spawn_blocking(move || back_up(&data, &to, &[])).await.unwrap();
    let n_after = acks.count();
    assert!(n_after > before.len(), "the writers were not held up");
    acks.until(n_after + 100).await;
    server.kill();
    working.await.unwrap();

    let elsewhere = folder.path().join("elsewhere");
    let restored = done(&["restore", "--json", "--from"], [made.as_path()], &elsewhere);
    assert_eq!(restored["has_key"], false);
    let refusal = failed(&["token", "create", "--agent", "eve"], [], &elsewhere, exit_code::FAILED);
    assert!(refusal.contains("ledger.key is gone"), "{refusal}");
    fs::copy(server.data.join("ledger.key"), elsewhere.join("ledger.key")).unwrap();
    ledger::audit(&elsewhere).expect("it is sound before anybody writes to it");
    let ledger = Ledger::read(&elsewhere).unwrap();
    ledger.check_acknowledged(before.iter().map(|ack| &ack.what)).unwrap();
    let n_all = Ledger::read(&server.data).unwrap().newest();
    assert!(restored["n_entries"] == ledger.newest() && ledger.newest() < n_all);

    let next = Server::start_on(&elsewhere, |_| {});
    initiate(&tokens.crew(&next).alice, "after", "bob").await;
    let grown = ledger::until_idle(&elsewhere).await;
    assert!(grown.newest() > ledger.newest());
    ledger::audit(&elsewhere).unwrap();
    println!("{} acknowledged before, {} while it was made", before.len(), n_after - before.len());
}

#[tokio::test]
async fn a_backup_stands_alone_and_replaces_nothing() {
    let server = Server::start();
    server.agent("alice");
    ledger::until_idle(&server.data).await;
    assert_eq!(server.stop(), Some(0));
    let folder = tempfile::tempdir().unwrap();
    let made = back_up(&server.data, folder.path(), &[]);
    let name = made.file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with("tasuki-backup-2") && name.ends_with("Z.db"), "{name}");
    let beside = ["", ".checkpoint", ".pub", ".sha256"].map(|more| format!("{name}{more}"));
    assert_eq!(names(folder.path()), beside);
    assert_eq!(fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o600);

    let content = fs::read(&made).unwrap();
    let to = made.to_str().unwrap();
    let refusal = failed(&["backup", "--to", to], [], &server.data, exit_code::FAILED);
    assert!(refusal.contains("is there already"), "{refusal}");
    let nothing = folder.path().join("nothing");
    let never = folder.path().join("never.db");
    failed(&["backup", "--to"], [&*never], &nothing, exit_code::USAGE);
    let no_folder = format!("{}/", never.display());
    failed(&["backup", "--to", &no_folder], [], &server.data, exit_code::FAILED);
    assert_eq!(fs::read(&made).unwrap(), content);
    assert_eq!(names(folder.path()), beside);

    let with_key = back_up(&server.data, &folder.path().join("with.db"), &["--with-key"]);
    let key = folder.path().join("with.db.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let data = folder.path().join("data");
    assert_eq!(done(&["restore", "--json", "--from"], [&*with_key], &data)["has_key"], true);
    let next = Server::start_on(&data, |_| {});
    next.agent("bob");
    assert_eq!(next.stop(), Some(0));
    ledger::audit(&data).unwrap();
}

#[tokio::test]
async fn a_restore_is_refused_before_it_changes_anything() {
    let server = Server::start();
    let alice = server.agent("alice");
    server.agent("bob");
    initiate(&alice, "T-1", "bob").await;
    let folder = tempfile::tempdir().unwrap();
    let made = back_up(&server.data, &folder.path().join("b.db"), &[]);
    let restore = ["restore", "--from", made.to_str().unwrap()];
    let force = ["restore", "--force", "--from", made.to_str().unwrap()];

    let refusal = failed(&force, [], &server.data, exit_code::IN_USE);
    assert!(refusal.contains("in use by another server"), "{refusal}");
    failed(&restore, [], &server.data, exit_code::IN_USE);
    assert_eq!(server.stop(), Some(0));
    let before = contents(&server.data);
    let refusal = failed(&restore, [], &server.data, exit_code::FAILED);
    assert!(refusal.contains("is not empty"), "{refusal}");
    let other = Server::start();
    let strange = back_up(&other.data, &folder.path().join("strange.db"), &[]);
    let refusal =
        failed(&["restore", "--force", "--from"], [&*strange], &server.data, exit_code::FAILED);
    assert!(refusal.contains("another ledger"), "{refusal}");
    assert_eq!(contents(&server.data), before);

    let sound = fs::read(&made).unwrap();
    let data = folder.path().join("data");
    for at in (0..sound.len()).step_by(sound.len() / 23) {
        let mut damaged = sound.clone();
        damaged[at] ^= 1;
        fs::write(&made, damaged).unwrap();
        let refusal = failed(&restore, [], &data, exit_code::FAILED);
        assert!(refusal.contains("is damaged"), "{at}: {refusal}");
    }
    // Without its digest, the contents of the ledger are still checked.
    fs::remove_file(folder.path().join("b.db.sha256")).unwrap();
    let text = b"Two customers were charged twice.";
    let at = sound.windows(text.len()).position(|window| window == text).unwrap();
    let mut damaged = sound.clone();
    damaged[at] = b't';
    fs::write(&made, damaged).unwrap();
    let refusal = failed(&restore, [], &data, exit_code::FAILED);
    assert!(refusal.contains("is not sound: entry"), "{refusal}");
    assert!(!data.exists());
    fs::write(&made, sound).unwrap();
    fs::create_dir(&data).unwrap();
    assert_eq!(done(&restore, [], &data), Value::Null);
    ledger::audit(&data).unwrap();
}

#[tokio::test]
async fn a_shorter_ledger_is_read_only_until_a_fork_is_declared() {
    let Lost { server, folder, alice, kept, lost } = lose().await;
    let data = &server.data;
    let note = fs::read_to_string(data.join("checkpoint")).unwrap();
    let lines = fs::read_to_string(lines_path(data, &"default".parse().unwrap())).unwrap();
    for _ in 0..2 {
        let server = Server::start_on(data, |_| {});
        check_read_only(&server, kept, lost).await;
        let alice = server.with_token(&alice);
        let proposal = refused(&alice, Call::post("/v1/handoffs", offer("T-9", "bob"))).await;
        assert_eq!(proposal.body["code"], "ledger_behind_checkpoint");
        let mut acp = offer("T-9", "bob");
        acp["action"] = "initiate".into();
        let proposal = refused(&alice, Call::post("/v1/acp/handoff", acp)).await;
        assert_eq!(proposal.status, 503);
        assert_eq!(proposal.body["error"]["code"], "ledger_behind_checkpoint");
        assert_eq!(server.stop(), Some(0));
        // The evidence of the loss is unchanged.
        assert_eq!(fs::read_to_string(data.join("checkpoint")).unwrap(), note);
        let found = fs::read_to_string(lines_path(data, &"default".parse().unwrap())).unwrap();
        assert_eq!(found, lines);
    }
    let server = Server::start_on(data, |_| {});
    let doctor = failed(&["doctor"], [], data, exit_code::FAILED);
    let behind = format!("has {kept} entries and is behind a checkpoint of {lost}");
    assert!(doctor.contains(&behind), "{doctor}");
    assert!(doctor.contains("ledger_behind_checkpoint"), "{doctor}");
    let report = verify(data, &[]);
    assert!(report.forks.is_empty() && !report.is_sound());

    let fork = ["ledger", "fork", "--json", "--reason", "the disk died"];
    let declared = done(&fork, [], data);
    let expected = json!({ "declared": true, "ledger_size": kept, "lost_size": lost });
    assert_eq!(declared, expected);
    assert_eq!(done(&fork, [], data), json!({ "declared": false }));
    assert_eq!(ok(&server.anonymous(), Call::get("/readyz")).await["status"], "ready");
    initiate(&server.with_token(&alice), "T-9", "bob").await;
    let ledger = ledger::until_idle(data).await;
    assert_eq!(ledger.entries[kept as usize].entry.name, "ledger.forked");
    check_forked(&verify(data, &[]), kept, lost);
    check_forked(&verify(data, &[note]), kept, lost);
    for teamspace in ["default", "other"] {
        let path = lines_path(data, &teamspace.parse().unwrap());
        let found = fs::read_to_string(path).unwrap();
        assert!(!found.contains("lost"), "{teamspace}: {found}");
    }
    assert_eq!(server.stop(), Some(0));
    check_forked(&verify(data, &[]), kept, lost);
    let export = folder.path().join("export");
    let out = export.to_str().unwrap();
    done(&["audit", "export", "--out", out], [], data);
    let source = Source::Export(export.clone());
    check_forked(&audit::verify(&source, &Options::default(), &mut |_, _| {}).unwrap(), kept, lost);
    // The next start finds no problem, and a backup of it is like any other.
    let next = Server::start_on(data, |_| {});
    next.agent("carol");
    back_up(data, &folder.path().join("next.db"), &[]);
}

#[tokio::test]
async fn a_fork_can_be_declared_without_a_server() {
    let Lost { server, kept, lost, .. } = lose().await;
    let data = &server.data;
    let refusal = failed(&["token", "create", "--agent", "eve"], [], data, exit_code::REFUSED);
    assert!(refusal.contains("hint: `tasuki ledger fork"), "{refusal}");
    failed(&["ledger", "fork", "--reason", " "], [], data, exit_code::REFUSED);
    let as_agent = ["ledger", "fork", "--as", "alice", "--reason", "why not"];
    failed(&as_agent, [], data, exit_code::REFUSED);
    let elsewhere = ["ledger", "fork", "--teamspace", "other", "--reason", "why not"];
    failed(&elsewhere, [], data, exit_code::REFUSED);
    let note = fs::read_to_string(data.join("checkpoint")).unwrap();
    let said = run(&["ledger", "fork", "--reason", "the disk died"], [], data);
    let expected = format!(
        "declared: the ledger goes on after entry {kept}, without entries {} to {lost}\n",
        kept + 1
    );
    assert_eq!(String::from_utf8_lossy(&said.stdout), expected);
    let verified = run(&["audit", "verify"], [], data);
    let text = String::from_utf8_lossy(&verified.stdout).into_owned();
    let fork = format!("FORK  entries {} to {lost}: lost; operator:local declared", kept + 1);
    assert!(text.starts_with(&fork) && text.contains("\nsound: "), "{text}");
    Ledger::read(data).unwrap().check_lines(data).unwrap();

    // If the power had failed before the new checkpoint was written outside, the old one would
    // still count.
    fs::write(data.join("checkpoint"), note).unwrap();
    failed(&["token", "create", "--agent", "eve"], [], data, exit_code::REFUSED);
    done(&["ledger", "fork", "--reason", "the power too"], [], data);
    done(&["token", "create", "--agent", "eve"], [], data);
    let report = verify(data, &[]);
    assert!(report.is_sound() && report.forks.len() == 2, "{report:?}");
}

#[tokio::test]
async fn what_is_lost_after_a_fork_needs_a_declaration_of_its_own() {
    let Lost { server, folder, alice, kept, lost } = lose().await;
    let data = &server.data;
    done(&["ledger", "fork", "--reason", "the disk died"], [], data);
    let after_fork = back_up(data, &folder.path().join("after.db"), &[]);
    let next = Server::start_on(data, |_| {});
    initiate(&next.with_token(&alice), "T-2", "bob").await;
    let newest = ledger::until_idle(data).await.newest();
    assert!(newest < lost, "it is within what was declared as lost");
    assert_eq!(next.stop(), Some(0));
    done(&["restore", "--force", "--from"], [&*after_fork], data);
    let report = verify(data, &[]);
    let found = |finding: &Finding| finding.what.contains("does not fit the newest checkpoint");
    assert!(report.findings.iter().any(found), "{report:?}");
    let next = Server::start_on(data, |_| {});
    check_read_only(&next, kept + 1, newest).await;
    done(&["ledger", "fork", "--reason", "the next one too"], [], data);
    // A fork counts once a checkpoint has sealed it, which a clean stop waits for.
    assert_eq!(next.stop(), Some(0));
    let report = verify(data, &[]);
    assert!(report.is_sound(), "{report:?}");
}

#[tokio::test]
async fn a_checkpoint_that_was_left_behind_is_no_loss() {
    let server = Server::start();
    let alice = server.token("alice", &[]);
    server.agent("bob");
    ledger::until_idle(&server.data).await;
    let note = fs::read(server.data.join("checkpoint")).unwrap();
    initiate(&server.with_token(&alice), "T-1", "bob").await;
    ledger::until_idle(&server.data).await;
    assert_eq!(server.stop(), Some(0));
    // As if the server had been killed between sealing the database and writing the file.
    fs::write(server.data.join("checkpoint"), note).unwrap();
    let next = Server::start_on(&server.data, |_| {});
    initiate(&next.with_token(&alice), "T-2", "bob").await;
    ledger::until_idle(&server.data).await;
    ledger::audit(&server.data).unwrap();
}

#[tokio::test]
async fn another_ledger_of_the_same_length_is_behind_too() {
    let server = Server::start();
    let alice = server.agent("alice");
    server.agent("bob");
    ledger::until_idle(&server.data).await;
    assert_eq!(server.stop(), Some(0));
    let folder = tempfile::tempdir().unwrap();
    let twin = folder.path().join("twin");
    copy_folder(&server.data, &twin);
    let mut sizes = Vec::new();
    for (data, n_tasks) in [(&server.data, 3), (&twin, 8)] {
        let server = Server::start_on(data, |_| {});
        let alice = server.with_token(alice.identity.token.as_deref().unwrap());
        for task in 0..n_tasks {
            initiate(&alice, &format!("T-{task}"), "bob").await;
        }
        sizes.push(ledger::until_idle(data).await.newest());
        assert_eq!(server.stop(), Some(0));
    }
    let [lost, kept] = sizes[..] else { panic!("two ledgers") };
    fs::copy(server.data.join("checkpoint"), twin.join("checkpoint")).unwrap();
    let next = Server::start_on(&twin, |_| {});
    check_read_only(&next, kept, lost).await;
    done(&["ledger", "fork", "--reason", "the wrong disk"], [], &twin);
    next.agent("carol");
    ledger::until_idle(&twin).await;
    let report = verify(&twin, &[fs::read_to_string(server.data.join("checkpoint")).unwrap()]);
    assert!(report.is_sound(), "{report:?}");
    let fork = &report.forks[0];
    assert!(fork.first_lost <= Some(lost) && fork.last_lost == Some(lost), "{fork:?}");
}

#[tokio::test]
async fn a_database_that_is_gone_is_not_begun_anew_in_silence() {
    let server = Server::start();
    server.agent("alice");
    let size = ledger::until_idle(&server.data).await.newest();
    assert_eq!(server.stop(), Some(0));
    for name in names(&server.data).iter().filter(|name| name.starts_with("tasuki.db")) {
        fs::remove_file(server.data.join(name)).unwrap();
    }
    let next = Server::start_on(&server.data, |_| {});
    check_read_only(&next, 0, size).await;
}

/// A server that has stopped, and whose ledger was replaced by a backup from before.
struct Lost {
    server: Server,
    folder: tempfile::TempDir,
    /// The token of an agent that is in both.
    alice: String,
    /// The size of the ledger now.
    kept: u64,
    /// The size that a checkpoint vouches for.
    lost: u64,
}

async fn lose() -> Lost {
    let server = Server::start();
    let token = server.token("alice", &[]);
    let alice = server.with_token(&token);
    server.agent("bob");
    initiate(&alice, "T-1", "bob").await;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kept = ledger::until_idle(&server.data).await.newest();
    let made = back_up(&server.data, &folder.path().join("b.db"), &[]);
    for number in 0..5 {
        initiate(&alice, &format!("lost-{number}"), "bob").await;
    }
    let there = |agent| server.with_token(&server.token(agent, &["--teamspace", "other"]));
    let (dora, _) = (there("dora"), there("ella"));
    initiate(&dora, "lost-too", "ella").await;
    let lost = ledger::until_idle(&server.data).await.newest();
    assert_eq!(server.stop(), Some(0));
    let restored = done(&["restore", "--json", "--force", "--from"], [&*made], &server.data);
    assert_eq!((&restored["n_entries"], &restored["lost_size"]), (&json!(kept), &json!(lost)));
    let aside = restored["moved_to"].as_str().expect("a name");
    assert!(server.data.join(aside).exists(), "{aside}");
    Lost { server, folder, alice: token, kept, lost }
}

async fn check_read_only(server: &Server, kept: u64, lost: u64) {
    let local = tasuki::client::Client::socket(server.data.join("control.sock"));
    let issue = Call::post("/v1/tokens", json!({ "agent": "zed" }));
    let register = Call::put("/v1/agents/zed", json!({ "kind": "worker" }));
    for call in [issue, register, Call::get("/readyz")] {
        let answer = refused(&local, call).await;
        assert_eq!(
            (answer.status, &answer.body["code"]),
            (503, &json!("ledger_behind_checkpoint"))
        );
        // The sizes of the ledger are not for every caller.
        let detail = answer.body["detail"].as_str().expect("a sentence");
        assert!(!detail.contains(char::is_numeric), "{kept} of {lost} entries: {detail}");
        for name in ["checkpoint_size", "ledger_size"] {
            assert_eq!(answer.body.get(name), None);
        }
    }
    for path in ["/v1/handoffs", "/v1/agents", "/v1/tokens", "/healthz", "/metrics"] {
        ok(&local, Call::get(path)).await;
    }
    assert_eq!(Ledger::read(&server.data).expect("it can be read").newest(), kept);
}

fn check_forked(report: &Report, kept: u64, lost: u64) {
    assert!(report.is_sound(), "{report:?}");
    let [fork] = &report.forks[..] else { panic!("{report:?}") };
    assert_eq!((fork.first_lost, fork.last_lost), (Some(kept + 1), Some(lost)));
    assert_eq!((fork.declared_in, fork.declared_by.as_str()), (kept + 1, "operator:local"));
    assert_eq!(fork.reason, "the disk died");
}

fn verify(data: &Path, notes: &[String]) -> Report {
    let options = Options { notes: notes.to_vec(), ..Options::default() };
    audit::verify(&Source::Data(data.to_owned()), &options, &mut |_, _| {})
        .expect("it can be looked at")
}

fn back_up(data: &Path, to: &Path, more: &[&str]) -> PathBuf {
    let words = [&["backup", "--json", "--to", to.to_str().expect("a plain path")], more].concat();
    PathBuf::from(done(&words, [], data)["file"].as_str().expect("a path"))
}

/// A command that must succeed; returns its JSON output.
fn done<const N: usize>(words: &[&str], paths: [&Path; N], data: &Path) -> Value {
    let output = run(words, paths, data);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
}

/// A command that must fail; returns all its output.
fn failed<const N: usize>(words: &[&str], paths: [&Path; N], data: &Path, code: u8) -> String {
    let output = run(words, paths, data);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.code(), Some(i32::from(code)), "{words:?}: {said}");
    said
}

fn run<const N: usize>(words: &[&str], paths: [&Path; N], data: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    command.args(words).args(paths).arg("--data").arg(data).output().expect("the executable runs")
}

fn names(folder: &Path) -> Vec<String> {
    let listed = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<_> = listed
        .map(|entry| entry.expect("a name").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    names
}

fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = names(folder).into_iter().filter(|name| folder.join(name).is_file());
    files.map(|name| (name.clone(), fs::read(folder.join(&name)).expect("a file"))).collect()
}

fn copy_folder(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-rp").args([from, to]).status().expect("cp runs");
    assert!(copied.success());
}
