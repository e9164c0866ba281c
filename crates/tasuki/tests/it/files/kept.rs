//! Files in backups and audits.

use std::fs;
use std::path::{Path, PathBuf};

use tasuki::audit::{self, Options, Source};

use super::*;
use crate::cli::shell::tasuki;
use crate::ledger;

fn findings(data: &Path) -> Vec<String> {
    let source = Source::Data(data.to_owned());
    let report =
        audit::verify(&source, &Options::default(), &mut |_, _| {}).expect("it is checked");
    report.findings.iter().map(ToString::to_string).collect()
}

fn path_of(data: &Path, file: &str) -> PathBuf {
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
    let expected = format!("scrub: the file {file} has other bytes than were stored");
    assert!(said.any(|line| line.contains(&expected)), "{log:?}");
}
