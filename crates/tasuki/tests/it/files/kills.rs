//! The server is killed at random moments while files are stored, named by messages and erased:
//! none that was acknowledged is missing, none that a message names is wrong, and what is left over
//! is swept. Some bytes are stored again and again, by several callers at once, while the file of
//! before is being deleted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use adapters::files::{FOLDER, list};
use engine::ports::files::Upload;
use protocol::ids::UploadId;
use store::sqlite::{KeptFile, ReadOnly};

use super::*;
use crate::ledger::{self, Verdict, audit, eventually};
use crate::power_loss::Random;
use crate::server::{is_full_run, seed};

/// How much is stored in all, in how many rounds.
const FULL: (u64, usize) = (2 * 1024 * 1024 * 1024, 100);
const SHORT: (u64, usize) = (24 * 1024 * 1024, 6);

/// All bytes of the folder are audited this often, and at the end.
const AUDITED_EVERY: usize = 10;

/// Each has a conversation, so that what one uses is not what another one stored.
const UPLOADERS: [&str; 4] = ["u1", "u2", "u3", "u4"];
const FILE_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Files of a round that all uploaders store, each several times.
const SHARED: usize = 3;
const SHARED_BYTES: usize = 20_000;

/// Of the files that messages name, in percent. Most of the shared ones, so that their last
/// reference goes again and again.
const ERASED: usize = 25;
const SHARED_ERASED: usize = 90;

/// What a client was told.
struct Acknowledged {
    file: String,
    size: usize,
    drawn: u64,
    is_shared: bool,
    /// Where a message has it, if that was acknowledged too.
    path: Option<String>,
    erased: Erased,
}

#[derive(Clone, Copy, PartialEq)]
enum Erased {
    No,
    /// There was no answer.
    Perhaps,
    Yes,
}

/// What one uploader does until the server dies.
struct Uploader {
    client: Client,
    operator: Client,
    /// The path of its conversation.
    chat: String,
    random: Random,
    round: usize,
}

/// Bytes that follow from a number.
fn bytes_of(drawn: u64, size: usize) -> Vec<u8> {
    let mut random = Random::from_seed(drawn);
    let words = (0..size.div_ceil(8)).flat_map(|_| random.draw().to_le_bytes());
    words.take(size).collect()
}

impl Uploader {
    async fn run(mut self, n_stored: Arc<AtomicU64>) -> Vec<Acknowledged> {
        let mut all = Vec::new();
        while self.go_on(&mut all, &n_stored).await.is_some() {}
        all
    }

    /// One file more. `None` once the server is gone.
    async fn go_on(&mut self, all: &mut Vec<Acknowledged>, n_stored: &AtomicU64) -> Option<()> {
        let random = &mut self.random;
        let is_shared = random.happens(70);
        let (size, drawn) = match is_shared {
            true => (SHARED_BYTES, (self.round * SHARED + random.below(SHARED)) as u64),
            false => (1 + random.below(FILE_BYTES_MAX), random.draw()),
        };
        let is_named = is_shared || random.happens(50);
        let is_erased = random.happens(if is_shared { SHARED_ERASED } else { ERASED });
        let file = upload(&self.client, bytes_of(drawn, size)).await?;
        let (path, erased) = (None, Erased::No);
        all.push(Acknowledged { file, size, drawn, is_shared, path, erased });
        n_stored.fetch_add(size as u64, Ordering::Relaxed);
        if is_named {
            let stored = all.last_mut().expect("one was just stored");
            let number = self.say(&stored.file).await?;
            stored.path = Some(format!("{}/messages/{number}/attachments/0", self.chat));
            if is_erased {
                stored.erased = Erased::Perhaps;
                self.erase(number).await?;
                stored.erased = Erased::Yes;
            }
        }
        Some(())
    }

    async fn say(&self, file: &str) -> Option<u64> {
        let part = json!({ "type": "file", "file": file, "name": "f", "media_type": "a/b" });
        let say = json!({ "parts": [part], "epoch": 1 });
        let said = answered(&self.client, Call::post(format!("{}/messages", self.chat), say));
        said.await?["number"].as_u64()
    }

    async fn erase(&self, number: u64) -> Option<()> {
        let line = format!("{}/messages?after={}&limit=1", self.chat, number - 1);
        let page = answered(&self.client, Call::get(line)).await?;
        let erase = json!({ "position": page["items"][0]["position"], "reason": "asked for" });
        answered(&self.operator, Call::post(format!("{}/erase", self.chat), erase)).await?;
        Some(())
    }
}

/// `None` once the server is gone.
async fn answered(client: &Client, call: Call) -> Option<Value> {
    let described = call.path.clone();
    let answer = client.call(call).await.ok()?;
    assert!(answer.status < 300 || answer.status >= 500, "{described}: {}", answer.body);
    (answer.status < 300).then_some(answer.body)
}

async fn upload(client: &Client, bytes: Vec<u8>) -> Option<String> {
    let begin = json!({ "size_bytes": bytes.len() });
    let upload = answered(client, Call::post("/v1/uploads", begin)).await?;
    let path = format!("/v1/uploads/{}", upload["upload_id"].as_str()?);
    let mut offset = 0;
    for piece in bytes.chunks(1024 * 1024) {
        let put = call("PUT", format!("{path}?offset={offset}"));
        let put = client.call_with_bytes(&put, Bytes::copy_from_slice(piece)).await.ok()?;
        if put.status >= 300 {
            return None;
        }
        offset += piece.len();
    }
    let finish = Call::post(format!("{path}/finish"), json!({}));
    Some(answered(client, finish).await?["file"].as_str()?.to_owned())
}

/// What happened in all rounds.
#[derive(Debug, Default)]
struct Counts {
    n_files: usize,
    n_named: usize,
    n_erased: usize,
    n_shared: usize,
}

impl Counts {
    /// What one uploader was told still holds.
    async fn check(&mut self, client: &Client, acknowledged: &[Acknowledged]) {
        for one in acknowledged {
            let by_name = format!("/v1/files/{}", one.file);
            let path = one.path.as_ref().unwrap_or(&by_name);
            self.n_files += 1;
            self.n_named += usize::from(one.path.is_some());
            self.n_shared += usize::from(one.is_shared);
            self.n_erased += usize::from(one.erased == Erased::Yes);
            match (one.erased, one.is_shared && one.path.is_none()) {
                // It was stored and perhaps used up, and there is no answer that says so.
                (_, true) | (Erased::Perhaps, _) => {}
                (Erased::No, false) => {
                    let (status, _, bytes) = got(client, path, None).await;
                    assert_eq!(status, 200, "{path}");
                    assert!(bytes == bytes_of(one.drawn, one.size), "{path}");
                }
                (Erased::Yes, false) => {
                    assert_ne!(got(client, path, None).await.0, 200, "{path}");
                    let status = got(client, &by_name, None).await.0;
                    assert!(one.is_shared || status == 404, "{by_name}: {status}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_file_is_lost_when_the_server_is_killed() {
    let (n_bytes, n_rounds) = if is_full_run() { FULL } else { SHORT };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut random = Random::from_seed(seed("files"));
    let (mut operator, mut uploaders) = (String::new(), Vec::new());
    let mut counts = Counts::default();
    for round in 0..n_rounds {
        let server = Server::start_on(&data, |command| {
            command.env("TASUKI_QUOTAS_MEMBER_KIB_PER_MINUTE", "0");
        });
        if round == 0 {
            operator = server.token("root", &["--kind", "operator"]);
            for name in UPLOADERS {
                let token = server.token(name, &[]);
                let open = Call::post("/v1/conversations", json!({ "agent": name }));
                let opened = ok(&server.with_token(&token), open).await;
                let id = opened["conversation_id"].as_str().unwrap();
                uploaders.push((token, format!("/v1/conversations/{id}")));
            }
        }
        let n_stored = Arc::new(AtomicU64::new(0));
        let target = n_bytes / n_rounds as u64;
        let pause = Duration::from_micros(random.below(40_000) as u64);
        let mut storing = Vec::new();
        for (token, chat) in &uploaders {
            let (client, operator) = (server.with_token(token), server.with_token(&operator));
            let (chat, random) = (chat.clone(), Random::from_seed(random.draw()));
            let uploader = Uploader { client, operator, chat, random, round };
            storing.push(tokio::spawn(uploader.run(Arc::clone(&n_stored))));
        }
        while n_stored.load(Ordering::Relaxed) < target {
            assert!(!storing.iter().all(tokio::task::JoinHandle::is_finished), "all gave up");
            tokio::task::yield_now().await;
        }
        std::thread::park_timeout(pause);
        server.kill();
        let mut acknowledged = Vec::new();
        for one in storing {
            acknowledged.push(one.await.unwrap());
        }
        drop(server);

        let server = Server::start_on(&data, |_| {});
        for ((token, _), acknowledged) in uploaders.iter().zip(&acknowledged) {
            counts.check(&server.with_token(token), acknowledged).await;
        }
        ledger::until_idle(&data).await;
        eventually("the sweep", || check_folder(&data)).await;
        if round % AUDITED_EVERY == 0 || round + 1 == n_rounds {
            audit(&data).unwrap();
        }
        server.kill();
    }
    let n_kept = check_folder(&data).map(|()| kept(&data).len()).unwrap();
    println!("{counts:?}, {n_kept} kept");
    let Counts { n_files, n_named, n_erased, n_shared } = counts;
    assert!(n_files > n_named && n_named > n_erased, "not all is named or erased");
    assert!(n_erased > n_rounds && n_shared > n_rounds && n_kept > 0, "some of each is");
}

fn kept(data: &Path) -> BTreeSet<(String, String)> {
    let kept =
        ReadOnly::open(data).expect("the store").kept_files().expect("the files").into_iter();
    kept.map(|KeptFile { teamspace, file, .. }| names_of(&teamspace, &file)).collect()
}

fn names_of(teamspace: &impl ToString, file: &impl ToString) -> (String, String) {
    (teamspace.to_string(), file.to_string())
}

/// The folder has the files that the record keeps and no others, and the bytes of uploads that are
/// not finished, which their notes name.
fn check_folder(data: &Path) -> Verdict {
    let folder = data.join(FOLDER);
    let found = list(&folder).map_err(|error| error.to_string())?;
    let found: BTreeSet<_> =
        found.iter().map(|(teamspace, file)| names_of(teamspace, file)).collect();
    let kept = kept(data);
    let orphans: Vec<_> = found.difference(&kept).collect();
    let missing: Vec<_> = kept.difference(&found).collect();
    if !orphans.is_empty() || !missing.is_empty() {
        return Err(format!("no record names {orphans:?}, and {missing:?} are missing"));
    }
    let incoming = folder.join(".incoming");
    for entry in fs::read_dir(&incoming).map_err(|error| error.to_string())? {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        let name = name.to_str().ok_or("a name that is no text")?;
        let id: UploadId = name
            .strip_suffix(".json")
            .unwrap_or(name)
            .parse()
            .map_err(|_| format!("{name} is left over of an upload"))?;
        let note = fs::read(incoming.join(format!("{id}.json")));
        let note = note.map_err(|_| format!("no note names the upload {id}"))?;
        let note: Upload = serde_json::from_slice(&note).map_err(|error| error.to_string())?;
        let n_bytes = fs::metadata(incoming.join(id.to_string())).map_or(0, |it| it.len());
        match note.file {
            Some(file) if n_bytes > 0 => {
                return Err(format!("the upload {id} has the bytes of {file}"));
            }
            None if n_bytes < note.offset => {
                return Err(format!("the upload {id} has {n_bytes} of {} bytes", note.offset));
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}
