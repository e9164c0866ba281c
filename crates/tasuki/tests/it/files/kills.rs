//! The server is killed at random moments while files are stored: none that was acknowledged is
//! missing, none that a message names is wrong, and what is left over is swept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tasuki::audit::{self, Options, Source};

use super::*;
use crate::ledger;
use crate::power_loss::Random;
use crate::server::{is_full_run, seed};

/// How much is stored in all, in how many rounds.
const FULL: (u64, usize) = (2 * 1024 * 1024 * 1024, 100);
const SHORT: (u64, usize) = (24 * 1024 * 1024, 6);

const UPLOADERS: usize = 4;
const FILE_BYTES_MAX: usize = 3 * 1024 * 1024;

/// What a client was told.
struct Acknowledged {
    file: String,
    size: usize,
    drawn: u64,
    /// Where a message has it, if that was acknowledged too.
    path: Option<String>,
}

/// Bytes that follow from a number.
fn bytes_of(drawn: u64, size: usize) -> Vec<u8> {
    let mut random = Random::from_seed(drawn);
    let words = (0..size.div_ceil(8)).flat_map(|_| random.draw().to_le_bytes());
    words.take(size).collect()
}

/// Stores files until the server dies.
async fn store_many(
    client: Client,
    chat: String,
    mut random: Random,
    n_stored: Arc<AtomicU64>,
) -> Vec<Acknowledged> {
    let mut all: Vec<Acknowledged> = Vec::new();
    loop {
        let (size, drawn) = (1 + random.below(FILE_BYTES_MAX), random.draw());
        let Some(file) = upload(&client, bytes_of(drawn, size)).await else { return all };
        all.push(Acknowledged { file: file.clone(), size, drawn, path: None });
        n_stored.fetch_add(size as u64, Ordering::Relaxed);
        if random.happens(50) {
            let part = json!({ "type": "file", "file": file, "name": "f", "media_type": "a/b" });
            let say = json!({ "parts": [part], "epoch": 1 });
            let path = format!("/v1/conversations/{chat}/messages");
            let Ok(said) = client.call(Call::post(&path, say)).await else { return all };
            if said.status >= 300 {
                return all;
            }
            let path = format!("{path}/{}/attachments/0", said.body["number"]);
            all.last_mut().unwrap().path = Some(path);
        }
    }
}

/// `None` once the server is gone.
async fn upload(client: &Client, bytes: Vec<u8>) -> Option<String> {
    let body = |answer: anyhow::Result<Answer>| {
        let answer = answer.ok().filter(|answer| answer.status < 300);
        answer.map(|answer| answer.body)
    };
    let begin = json!({ "size_bytes": bytes.len() });
    let upload = body(client.call(Call::post("/v1/uploads", begin)).await)?;
    let path = format!("/v1/uploads/{}", upload["upload_id"].as_str()?);
    let mut offset = 0;
    for piece in bytes.chunks(1024 * 1024) {
        let put = call("PUT", format!("{path}?offset={offset}"));
        body(client.call_with_bytes(&put, Bytes::copy_from_slice(piece)).await)?;
        offset += piece.len();
    }
    let stored = body(client.call(Call::post(format!("{path}/finish"), json!({}))).await)?;
    Some(stored["file"].as_str()?.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_file_is_lost_when_the_server_is_killed() {
    let (n_bytes, n_rounds) = if is_full_run() { FULL } else { SHORT };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut random = Random::from_seed(seed("files"));
    let (mut token, mut chat) = (String::new(), String::new());
    let (mut n_files, mut n_named, mut n_kept) = (0, 0, 0);
    for round in 0..n_rounds {
        let server = Server::start_on(&data, |command| {
            command.env("TASUKI_QUOTAS_MEMBER_KIB_PER_MINUTE", "0");
        });
        if round == 0 {
            token = server.token("bob", &[]);
            chat = Chat::opened(&server, &server.with_token(&token)).await.0;
        }
        let n_stored = Arc::new(AtomicU64::new(0));
        let target = n_bytes / n_rounds as u64;
        let pause = Duration::from_micros(random.below(40_000) as u64);
        let storing: Vec<_> = (0..UPLOADERS)
            .map(|_| {
                let (client, chat) = (server.with_token(&token), chat.clone());
                let random = Random::from_seed(random.draw());
                tokio::spawn(store_many(client, chat, random, Arc::clone(&n_stored)))
            })
            .collect();
        while n_stored.load(Ordering::Relaxed) < target {
            assert!(!storing.iter().all(tokio::task::JoinHandle::is_finished), "all gave up");
            tokio::task::yield_now().await;
        }
        std::thread::park_timeout(pause);
        server.kill();
        let mut acknowledged = Vec::new();
        for one in storing {
            acknowledged.extend(one.await.unwrap());
        }
        drop(server);

        let server = Server::start_on(&data, |_| {});
        let bob = server.with_token(&token);
        for one in &acknowledged {
            let path = one.path.clone().unwrap_or_else(|| format!("/v1/files/{}", one.file));
            let (status, _, bytes) = got(&bob, &path, None).await;
            assert_eq!(status, 200, "{path}");
            assert!(bytes == bytes_of(one.drawn, one.size), "{path}");
            n_named += usize::from(one.path.is_some());
        }
        n_files += acknowledged.len();
        ledger::until_idle(&data).await;
        n_kept = swept(&data);
        server.kill();
    }
    assert!(n_files > 0 && n_named > 0 && n_kept >= n_files);
    println!("{n_files} files acknowledged, {n_named} named by messages, {n_kept} kept");
}

/// Waits until nothing is left over; everything else must be sound at once. Returns how many files
/// are kept.
fn swept(data: &std::path::Path) -> usize {
    loop {
        let source = Source::Data(data.to_owned());
        let report = audit::verify(&source, &Options::default(), &mut |_, _| {}).unwrap();
        assert!(report.is_sound(), "{:?}", report.findings);
        if !report.remarks.iter().any(|remark| remark.contains("named by no record")) {
            break;
        }
    }
    let database = store::sqlite::ReadOnly::open(data).unwrap();
    database.kept_files().unwrap().len()
}
