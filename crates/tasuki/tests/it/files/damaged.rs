//! Bytes that are not as they were stored: no reader takes them for the file, and it is refused
//! until they are right again.

#![expect(clippy::unwrap_used, reason = "what helps a test fails like the test")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::kept::{findings, path_of};
use super::*;
use crate::cli::shell::tasuki;

/// Larger than one read.
fn large() -> Vec<u8> {
    (0..900_000_u32).map(|n| (n % 251) as u8).collect()
}

/// Puts something in place of a file, such as a link to a secret.
type Put = fn(&Path, &Path);

/// The scrub does not look, so that only reads can find what is wrong.
fn without_scrub(data: &Path) -> Server {
    Server::start_on(data, |command| {
        command.env("TASUKI_LEDGER_SCRUB_ROWS_PER_SECOND", "0");
    })
}

/// The status and the code of a download, or `broken off`.
async fn outcome(client: &Client, path: &str, range: Option<&str>) -> String {
    let range = range.map(|range| ("range", range.to_owned()));
    let response = client.open(&Call::get(path), range.as_slice()).await.unwrap();
    let status = response.status().as_u16();
    match response.into_body().collect().await {
        Ok(body) if status < 300 => format!("{status} {} bytes", body.to_bytes().len()),
        Ok(body) => {
            let problem: Value = serde_json::from_slice(&body.to_bytes()).unwrap();
            format!("{status} {}", problem["code"].as_str().unwrap())
        }
        Err(_) => "broken off".to_owned(),
    }
}

#[tokio::test]
async fn a_damaged_file_is_refused_until_it_is_stored_again() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = without_scrub(&data);
    let chat = Chat::open(&server).await;
    let secret = data.join("ledger.key");
    let wrongs: [(&str, Put, &str); 6] = [
        ("other bytes", |path, _| change(path), "500 file_damaged"),
        ("cut short", |path, _| fs::write(path, b"on").unwrap(), "500 file_damaged"),
        ("gone", |_, _| {}, "500 file_damaged"),
        ("a link to a secret", |path, secret| symlink(secret, path).unwrap(), "500 file_damaged"),
        (
            "a second name of a secret",
            |path, secret| fs::hard_link(secret, path).unwrap(),
            "500 file_damaged",
        ),
        (
            "a pipe",
            |path, _| {
                mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
            },
            "500 file_damaged",
        ),
    ];
    for bytes in [b"one small file".to_vec(), large()] {
        let is_large = bytes.len() > 1_000;
        let file = store(&chat.customer, &bytes).await;
        let sent = ok(&chat.customer, chat.send(&file, "a.bin", None)).await;
        let attached = chat.path(&format!("/messages/{}/attachments/0", sent["number"]));
        let named = format!("/v1/files/{file}");
        let whole = format!("200 {} bytes", bytes.len());
        for (what, put, expected) in wrongs {
            let path = path_of(&data, &file);
            let good = fs::read(&path).unwrap();
            fs::remove_file(&path).unwrap();
            if what == "other bytes" {
                fs::write(&path, good).unwrap();
            }
            put(&path, &secret);
            // What is wrong with many bytes is known only at their end.
            let first = match is_large && what == "other bytes" {
                true => "broken off",
                false => expected,
            };
            assert_eq!(outcome(&chat.bob, &attached, None).await, first, "{what}");
            for path in [&attached, &named] {
                for range in [None, Some("bytes=0-3")] {
                    assert_eq!(outcome(&chat.bob, path, range).await, expected, "{what} {range:?}");
                }
            }
            store(&chat.customer, &bytes).await;
            for path in [&attached, &named] {
                assert_eq!(outcome(&chat.bob, path, None).await, whole, "{what}");
            }
        }
    }
    let said = server.stop();
    assert_eq!(said, Some(0), "a pipe keeps no server from stopping");
}

/// Four bytes of the same file.
fn change(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[3..7].copy_from_slice(b"!!!!");
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_download_of_wrong_bytes_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = without_scrub(&data);
    let file = store(&server.agent("alice"), &large()).await;
    change(&path_of(&data, &file));
    let get = |to: &str| {
        let words = ["file", "get", &file, "--to", to, "--as", "alice", "--data"];
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        words.push(data.to_str().unwrap().to_owned());
        tasuki(folder.path(), &words, &[], "").code
    };
    let left = || -> Vec<PathBuf> {
        let listed = fs::read_dir(folder.path()).unwrap();
        listed.map(|entry| entry.unwrap().path()).filter(|path| *path != data).collect()
    };
    for _ in 0..2 {
        assert_ne!(get("t.bin"), 0);
        assert_eq!(left(), Vec::<PathBuf>::new());
    }
    store(&server.agent("alice"), &large()).await;
    assert_eq!(get("t.bin"), 0);
    assert_eq!(left(), [folder.path().join("t.bin")]);
    assert_eq!(fs::read(folder.path().join("t.bin")).unwrap(), large());
    assert_eq!(get("t.bin"), 1, "nothing is replaced");
}

/// A part of a file is not sent before all of it was read once.
#[tokio::test]
async fn a_part_of_a_damaged_file_is_refused_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = without_scrub(&data);
    let token = server.token("alice", &[]);
    let (damaged, right) = {
        let alice = server.with_token(&token);
        (store(&alice, &large()).await, store(&alice, b"as it was").await)
    };
    assert_eq!(server.stop(), Some(0));
    change(&path_of(&data, &damaged));
    let server = without_scrub(&data);
    let alice = server.with_token(&token);
    for (file, expected) in [(damaged, "500 file_damaged"), (right, "206 2 bytes")] {
        for _ in 0..2 {
            let path = format!("/v1/files/{file}");
            assert_eq!(outcome(&alice, &path, Some("bytes=1-2")).await, expected);
        }
    }
}

#[tokio::test]
async fn what_the_scrub_has_found_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let token = server.token("alice", &[]);
    let (one, pipe) = {
        let alice = server.with_token(&token);
        (store(&alice, &large()).await, store(&alice, b"a pipe").await)
    };
    assert_eq!(server.stop(), Some(0));
    change(&path_of(&data, &one));
    fs::remove_file(path_of(&data, &pipe)).unwrap();
    mknodat(CWD, path_of(&data, &pipe), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut expected = [
        format!("the file {one} in default has other bytes than were stored"),
        format!("the file {pipe} in default is no regular file"),
    ];
    expected.sort();
    let mut found = findings(&data);
    found.sort();
    assert_eq!(found, expected);
    let server = Server::start_on(&data, |_| {});
    let alice = server.with_token(&token);
    for file in [one, pipe] {
        let path = format!("/v1/files/{file}");
        while outcome(&alice, &path, Some("bytes=1-2")).await == "206 2 bytes" {}
        assert_eq!(outcome(&alice, &path, Some("bytes=1-2")).await, "500 file_damaged");
    }
    assert_eq!(server.stop(), Some(0));
}
