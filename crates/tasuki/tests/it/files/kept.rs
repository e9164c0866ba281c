//! Files in backups and audits.

use std::fs;
use std::path::{Path, PathBuf};

use tasuki::audit::{self, Options, Source};

use super::*;
use crate::cli::shell::tasuki;
use crate::ledger;

pub fn findings(data: &Path) -> Vec<String> {
    let source = Source::Data(data.to_owned());
    let report =
        audit::verify(&source, &Options::default(), &mut |_, _| {}).expect("it is checked");
    report.findings.iter().map(ToString::to_string).collect()
}

pub fn path_of(data: &Path, file: &str) -> PathBuf {
    let digits = file.strip_prefix("sha256:").expect("a file's name");
    data.join("files/default").join(&digits[..2]).join(digits)
}

#[tokio::test]
async fn a_backup_has_the_files_and_an_audit_misses_what_is_wrong_with_them() {
    let server = Server::start();
    let alice = server.agent("alice");
    let (one, other) = (store(&alice, b"one").await, store(&alice, b"other").await);
    ledger::until_idle(&server.data).await;
    assert_eq!(findings(&server.data), Vec::<String>::new());
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("b.db");
    let run = |words: &[&str], data: &Path| {
        let data = data.to_str().unwrap();
        let words = [words, &["--data", data]].concat();
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        tasuki(folder.path(), &words, &[], "")
    };
    let to = backup.to_str().unwrap();
    assert_eq!(run(&["backup", "--to", to], &server.data).code, 0);
    assert_eq!(server.stop(), Some(0));

    let elsewhere = folder.path().join("elsewhere");
    let files = folder.path().join("b.db.files/default");
    let digits = one.strip_prefix("sha256:").unwrap();
    let hidden = folder.path().join("hidden");
    fs::rename(files.join(&digits[..2]), &hidden).unwrap();
    let refused = run(&["restore", "--from", to], &elsewhere);
    assert!(refused.code != 0 && refused.stderr.contains("lacks the file"), "{refused:?}");
    fs::rename(&hidden, files.join(&digits[..2])).unwrap();
    let restored = run(&["restore", "--from", to], &elsewhere);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert_eq!(findings(&elsewhere), Vec::<String>::new());
    assert_eq!(fs::read(path_of(&elsewhere, &one)).unwrap(), b"one");

    fs::write(path_of(&elsewhere, &one), b"two").unwrap();
    fs::remove_file(path_of(&elsewhere, &other)).unwrap();
    let mut expected = [
        format!("the file {one} in default has other bytes than were stored"),
        format!("the file {other} in default is missing"),
    ];
    expected.sort();
    let mut found = findings(&elsewhere);
    found.sort();
    assert_eq!(found, expected);
}

/// Bytes that the disk no longer reads as they were written are found without a reader.
#[tokio::test]
async fn a_running_server_scrubs_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let alice = server.agent("alice");
    let (file, _) = (store(&alice, b"one").await, store(&alice, b"other").await);
    assert_eq!(server.stop(), Some(0));
    fs::write(path_of(&data, &file), b"two").unwrap();

    let server = Server::start_on(&data, |_| {});
    let n_findings = async || {
        let request = Request::new("GET /metrics").header("host", b"localhost");
        let answer = request.send(server.address()).await;
        let text = String::from_utf8(answer.bytes.to_vec()).unwrap();
        let name = "tasuki_scrub_findings_total ";
        text.lines().find_map(|line| line.strip_prefix(name)).unwrap().parse::<u64>().unwrap()
    };
    while n_findings().await == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.stop(), Some(0));
    let log = server.log();
    let after_ready = log.iter().filter_map(|line| line["message"].as_str());
    let mut said = server.said_at_start.iter().map(String::as_str).chain(after_ready);
    let expected = format!("the file {file} in default has other bytes than were stored");
    assert!(said.any(|line| line.contains(&expected)), "{log:?}");
}

/// Otherwise one bad sector would stop every backup.
#[tokio::test]
async fn a_backup_can_leave_out_damaged_files_and_says_which() {
    let server = Server::start();
    let alice = server.agent("alice");
    let mut files = Vec::new();
    for name in ["one", "two", "three"] {
        files.push(store(&alice, name.as_bytes()).await);
    }
    fs::write(path_of(&server.data, &files[0]), b"0ne").unwrap();
    fs::remove_file(path_of(&server.data, &files[1])).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str, data: &Path| {
        let words = format!("{words} --data {}", data.display());
        let words: Vec<_> = words.split(' ').map(str::to_owned).collect();
        tasuki(folder.path(), &words, &[], "")
    };
    let refused = run("backup --to b.db", &server.data);
    assert_eq!(refused.code, 1, "{refused:?}");
    for file in &files[..2] {
        assert!(refused.stderr.contains(&format!("default {file}")), "{refused:?}");
    }
    assert!(!refused.stderr.contains(&files[2]), "{refused:?}");
    let made = run("backup --to b.db --leave-out-damaged --json", &server.data);
    assert_eq!(made.code, 0, "{made:?}");
    let mut missing = files[..2].iter().map(|file| format!("default {file}")).collect::<Vec<_>>();
    missing.sort();
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    assert_eq!((&made["missing"], &made["n_files"]), (&json!(missing), &json!(1)));
    assert_eq!(server.stop(), Some(0));

    let restored = run("restore --from b.db --json", &folder.path().join("restored"));
    assert_eq!(restored.code, 0, "{restored:?}");
    let restored: Value = serde_json::from_str(&restored.stdout).unwrap();
    assert_eq!(restored["missing"], json!(missing));
    let mut found = findings(&folder.path().join("restored"));
    found.sort();
    let named = missing.iter().map(|it| it.strip_prefix("default ").unwrap());
    let expected: Vec<_> =
        named.map(|file| format!("the file {file} in default is missing")).collect();
    assert_eq!(found, expected);
    // Exactly those are accepted.
    let list = folder.path().join("b.db.missing");
    fs::write(&list, format!("{}\n", missing[0])).unwrap();
    let refused = run("restore --from b.db", &folder.path().join("again"));
    assert!(refused.code == 1 && refused.stderr.contains("lacks the file"), "{refused:?}");
}
