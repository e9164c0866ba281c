//! A witness that fails, is away or cannot be one.

use std::fs;

use adapters::checkpoint_file;

use super::{Elsewhere, NEWEST, Stage, until_status};
use crate::server::{Server, initiate};
use crate::wire::Request;
use crate::witness_server::Manner;

/// Commits do not wait for a witness that fails, and it gets the newest checkpoint when it is back.
#[tokio::test]
async fn a_witness_that_fails_blocks_nothing() {
    let stage = Stage::new().await;
    let server = stage.start("data", Elsewhere::Http);
    let alice = server.with_token(&stage.token);
    let manners = [Manner::Status(507), Manner::Redirects, Manner::Huge, Manner::Garbage];
    for manner in manners {
        stage.http.behave(manner);
        initiate(&alice, &format!("{manner:?}"), "bob").await;
        while until_status(&server, 200).await["warning"].is_null() {}
        let lag = metric(&server, "tasuki_witness_lag_entries").await;
        assert!(lag > 0, "{manner:?}");
        initiate(&alice, &format!("more, {manner:?}"), "bob").await;
        stage.http.behave(Manner::Sound);
        while !until_status(&server, 200).await["warning"].is_null() {}
        assert_eq!(metric(&server, "tasuki_witness_lag_entries").await, 0);
    }
    assert!(metric(&server, "tasuki_witness_failures_total").await >= 4);
    assert_eq!(server.stop(), Some(0));
    let beside = fs::read_to_string(server.data.join(NEWEST)).expect("a file");
    assert_eq!(stage.http.note(), Some(beside));
}

/// The folder may be on another machine, which is away for a while.
#[tokio::test]
async fn a_witness_folder_that_is_away_is_told_and_blocks_nothing() {
    let stage = Stage::new().await;
    let server = stage.start("data", Elsewhere::Folder);
    let alice = server.with_token(&stage.token);
    let (witness, away) = (stage.path("witness"), stage.path("away"));
    fs::rename(&witness, &away).expect("it can be moved");
    initiate(&alice, "T-away", "bob").await;
    let warning = loop {
        if let Some(warning) = until_status(&server, 200).await["warning"].as_str() {
            break warning.to_owned();
        }
    };
    assert!(metric(&server, "tasuki_witness_lag_entries").await > 0);
    let (verdict, detail) = stage.doctor(&server.data, Elsewhere::Nowhere, "server");
    assert!(verdict == "note" && detail.contains(&warning), "{verdict}: {detail}");
    // The checkpoints beside the ledger go on.
    let sealed = || {
        let note = fs::read_to_string(server.data.join(NEWEST)).expect("a note");
        checkpoint_file::size_of(&note).expect("a size")
    };
    let before = sealed();
    initiate(&alice, "T-still-away", "bob").await;
    while sealed() == before {}
    fs::rename(&away, &witness).expect("it can be moved");
    initiate(&alice, "T-back", "bob").await;
    while !until_status(&server, 200).await["warning"].is_null() {}
    assert_eq!(metric(&server, "tasuki_witness_lag_entries").await, 0);
}

async fn metric(server: &Server, name: &str) -> u64 {
    let request = Request::new("GET /metrics").header("host", b"localhost");
    let answer = request.send(server.address()).await;
    let text = String::from_utf8(answer.bytes.to_vec()).expect("a text");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.expect("a value").parse().expect("a number")
}

#[tokio::test]
async fn a_witness_that_cannot_be_one_is_refused_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let nowhere = folder.path().join("nowhere");
    let nowhere = nowhere.to_str().expect("a path");
    let inside = folder.path().join("data/witness");
    fs::create_dir_all(&inside).expect("a folder");
    let inside = inside.to_str().expect("a path");
    for (name, value, expected) in [
        ("TASUKI_LEDGER_WITNESS", nowhere, "ledger.witness: cannot use"),
        ("TASUKI_LEDGER_WITNESS", inside, "expected a folder outside the data folder"),
        ("TASUKI_LEDGER_WITNESS_KEY", "key", "witness_key: expected ledger.witness_url"),
        ("TASUKI_LEDGER_WITNESS_TOKEN_FILE", nowhere, "token_file: expected ledger.witness_url"),
        ("TASUKI_LEDGER_WITNESS_URL", "ftp://keep.example/", "ledger.witness_url: cannot use"),
        ("TASUKI_LEDGER_WITNESS_URL", "https://keep.example/?a", "without a user name, a query"),
    ] {
        let data = folder.path().join("data");
        let output = crate::server::refused_start(&data, |command| {
            command.env(name, value);
        });
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "{said}");
    }
}
