//! Files over HTTP: uploads in pieces, attachments of messages, artifacts of handoffs between
//! machines that share no disk, who may read them, and when they go.

mod damaged;
mod kept;
mod kills;
mod shares;
mod sweeping;

use bytes::Bytes;
use http_body_util::BodyExt;
use protocol::canonical::{hex, sha256};
use serde_json::{Value, json};
use tasuki::client::{Answer, Call, Client};

use crate::server::{Server, act, offer, ok, refused};
use crate::wire::Request;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and some more";

fn name_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&sha256(&[bytes])))
}

fn call(method: &'static str, path: impl Into<String>) -> Call {
    Call { method, path: path.into(), body: None, key: None }
}

/// Stores a file in one request.
async fn store(client: &Client, bytes: &[u8]) -> String {
    let sent = Bytes::copy_from_slice(bytes);
    let answer =
        client.call_with_bytes(&call("POST", "/v1/files"), sent).await.expect("the server answers");
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.body["file"], name_of(bytes));
    name_of(bytes)
}

/// The status, the headers that matter, and the bytes.
async fn got(client: &Client, path: &str, range: Option<&str>) -> (u16, String, Bytes) {
    let range = range.map(|range| ("range", range.to_owned()));
    got_with(client, path, range.as_slice()).await
}

async fn got_with(
    client: &Client,
    path: &str,
    headers: &[(&'static str, String)],
) -> (u16, String, Bytes) {
    let response = client.open(&Call::get(path), headers).await.expect("the server answers");
    let status = response.status().as_u16();
    let headers = response.headers();
    let header = |name: &str| headers.get(name).map_or("", |it| it.to_str().expect("a text"));
    let kind = header("content-type");
    let how = header("content-disposition").split(';').next().unwrap_or_default();
    let sniff = header("x-content-type-options");
    let said = format!("{kind} {how} {sniff}");
    (status, said, response.into_body().collect().await.expect("the server answers").to_bytes())
}

async fn status_of(client: &Client, file: &str) -> u16 {
    got(client, &format!("/v1/files/{file}"), None).await.0
}

struct Chat {
    id: String,
    customer: Client,
    bob: Client,
    operator: Client,
}

impl Chat {
    async fn open(server: &Server) -> Self {
        let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
        let bob = server.agent("bob");
        let (id, customer) = Self::opened(server, &bob).await;
        Self { id, customer, bob, operator }
    }

    async fn opened(server: &Server, bob: &Client) -> (String, Client) {
        let opened = ok(bob, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
        let text = |name: &str| opened[name].as_str().expect("a text").to_owned();
        (text("conversation_id"), server.with_token(&text("customer_token")))
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/conversations/{}{rest}", self.id)
    }

    fn send(&self, file: &str, name: &str, epoch: Option<u64>) -> Call {
        let part = json!({ "type": "file", "file": file, "name": name,
                           "media_type": "image/svg+xml" });
        let mut body = json!({ "parts": [part] });
        if let Some(epoch) = epoch {
            body["epoch"] = epoch.into();
        }
        Call::post(self.path("/messages"), body)
    }

    async fn erase(&self, position: u64) {
        let erase = json!({ "position": position, "reason": "asked for" });
        ok(&self.operator, Call::post(self.path("/erase"), erase)).await;
    }
}

fn problem(answer: &Answer) -> (u16, &str, &str) {
    let text = |name: &str| answer.body[name].as_str().unwrap_or_default();
    (answer.status, text("code"), text("field"))
}

#[tokio::test]
async fn an_image_goes_from_the_customer_to_the_bot_and_a_hash_grants_nothing() {
    let server = Server::start();
    let chat = Chat::open(&server).await;
    let (eve, (_, other)) = (server.agent("eve"), Chat::opened(&server, &chat.bob).await);
    let image = store(&chat.customer, PNG).await;
    for stranger in [&eve, &other, &chat.bob] {
        assert_eq!(status_of(stranger, &image).await, 404);
    }
    assert_eq!(status_of(&chat.customer, &image).await, 200);
    let taken = refused(&chat.bob, chat.send(&image, "mine.png", Some(1))).await;
    assert_eq!(problem(&taken), (422, "schema_invalid", "parts[0].file"));
    let unknown = refused(&chat.bob, chat.send(&name_of(b"?"), "mine.png", Some(1))).await;
    assert_eq!(unknown.body["detail"], taken.body["detail"], "the same for an unknown file");

    ok(&chat.customer, chat.send(&image, "me \"at\" home.png", None)).await;
    let page = ok(&chat.bob, Call::get(chat.path("/messages"))).await;
    let part = &page["items"][0]["parts"][0];
    assert_eq!((&part["type"], &part["file"]), (&json!("file"), &json!(image)));
    let path = part["path"].as_str().unwrap();
    let shown = (200, "image/png inline nosniff".to_owned(), Bytes::from_static(PNG));
    for reader in [&chat.bob, &chat.customer, &chat.operator] {
        assert_eq!(got(reader, path, None).await, shown);
        assert_eq!(status_of(reader, &image).await, 200);
    }
    let (status, _, part) = got(&chat.bob, path, Some("bytes=1-3")).await;
    assert_eq!((status, &*part), (206, &b"PNG"[..]));
    assert_eq!(got(&chat.bob, path, Some("bytes=999-")).await.0, 416);
    for (known, status) in [(format!("\"{image}\""), 206), ("\"sha256:0\"".to_owned(), 200)] {
        let asked = [("range", "bytes=1-3".to_owned()), ("if-range", known)];
        assert_eq!(got_with(&chat.bob, path, &asked).await.0, status, "{asked:?}");
    }
    for stranger in [&eve, &other] {
        assert_eq!(status_of(stranger, &image).await, 404);
        assert_eq!(got(stranger, path, None).await.0, 404);
    }
    // The bot may pass on what it may read.
    ok(&chat.bob, chat.send(&image, "yours.png", Some(1))).await;
}

#[tokio::test]
async fn only_images_are_shown_whatever_the_sender_says() {
    let server = Server::start();
    let chat = Chat::open(&server).await;
    for (bytes, expected) in [
        (&b"<svg onload=alert(1)>"[..], "image/svg+xml attachment nosniff"),
        (b"<html><script>", "image/svg+xml attachment nosniff"),
        (b"GIF89a", "image/gif inline nosniff"),
        (b"", "image/svg+xml attachment nosniff"),
    ] {
        let file = store(&chat.customer, bytes).await;
        let sent = ok(&chat.customer, chat.send(&file, "a.svg", None)).await;
        let path = chat.path(&format!("/messages/{}/attachments/0", sent["number"]));
        let (status, said, got) = got(&chat.bob, &path, None).await;
        assert_eq!((status, said.as_str(), &*got), (200, expected, bytes));
    }
    for name in ["../../etc/passwd", "a\nb", "", "a/b"] {
        let file = store(&chat.customer, b"x").await;
        let answer = refused(&chat.customer, chat.send(&file, name, None)).await;
        assert_eq!(problem(&answer), (422, "schema_invalid", "parts[0].name"));
    }
}

#[tokio::test]
async fn an_upload_goes_on_after_a_restart_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let token = server.token("alice", &[]);
    let bytes: Vec<u8> = (0..2_500_000_u32).map(|n| (n % 251) as u8).collect();
    let begin = json!({ "size_bytes": bytes.len(), "file": name_of(&bytes) });
    let alice = server.with_token(&token);
    let upload = ok(&alice, Call::post("/v1/uploads", begin)).await;
    assert_eq!((&upload["offset"], &upload["piece_bytes_max"]), (&json!(0), &json!(1_048_576)));
    let path = format!("/v1/uploads/{}", upload["upload_id"].as_str().unwrap());
    let put = |client: Client, from: usize, to: usize, offset: usize| {
        let piece = Bytes::copy_from_slice(&bytes[from..to]);
        let path = format!("{path}?offset={offset}");
        async move { client.call_with_bytes(&call("PUT", path), piece).await.unwrap() }
    };
    let first = put(alice.clone(), 0, 1_048_576, 0).await;
    assert_eq!((first.status, &first.body["offset"]), (200, &json!(1_048_576)));
    for (offset, n_bytes) in [(0, 10), (1_048_577, 10), (5_000_000, 0)] {
        let wrong = put(alice.clone(), 0, n_bytes, offset).await;
        assert_eq!(problem(&wrong), (409, "revision_outdated", "offset"));
        assert_eq!(wrong.body["offset"], 1_048_576);
    }
    let early = refused(&alice, Call::post(format!("{path}/finish"), json!({}))).await;
    assert_eq!(problem(&early), (409, "revision_outdated", "offset"));
    assert_eq!(refused(&server.agent("eve"), Call::get(&path)).await.status, 404);
    server.kill();

    let server = Server::start_on(&data, |_| {});
    let alice = server.with_token(&token);
    assert_eq!(ok(&alice, Call::get(&path)).await["offset"], 1_048_576);
    put(alice.clone(), 1_048_576, 2_000_000, 1_048_576).await;
    let more = put(alice.clone(), 0, 600_000, 2_000_000).await;
    assert_eq!(problem(&more), (413, "body_too_large", "body"));
    put(alice.clone(), 2_000_000, 2_500_000, 2_000_000).await;
    let finish = || Call::post(format!("{path}/finish"), json!({}));
    let stored = ok(&alice, finish()).await;
    assert_eq!(
        (&stored["file"], &stored["size_bytes"]),
        (&json!(name_of(&bytes)), &json!(2_500_000))
    );
    assert_eq!(ok(&alice, finish()).await, stored, "a retry gets the same answer");
    let (_, _, whole) = got(&alice, &format!("/v1/files/{}", name_of(&bytes)), None).await;
    assert!(whole == bytes);
    let listed = ok(&alice, Call::get("/v1/files")).await;
    assert_eq!(listed["items"][0]["file"], name_of(&bytes));
}

#[tokio::test]
async fn what_is_too_large_or_not_what_it_should_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_STORAGE_FILE_MIB", "1");
        command.env("TASUKI_QUOTAS_MEMBER_STORED_MIB", "3");
    });
    let alice = server.agent("alice");
    let begin = |size: u64| Call::post("/v1/uploads", json!({ "size_bytes": size }));
    let large = refused(&alice, begin(1_048_577)).await;
    assert_eq!(problem(&large), (413, "payload_too_large", "size_bytes"));
    let other = format!("/v1/files?file={}", name_of(b"other"));
    let wrong = alice.call_with_bytes(&call("POST", other), Bytes::from_static(b"x")).await;
    assert_eq!(problem(&wrong.unwrap()), (422, "hash_mismatch", "file"));
    let megabyte = |first: u8| {
        let mut bytes = vec![7; 1_000_000];
        bytes[0] = first;
        bytes
    };
    for first in 0..3 {
        store(&alice, &megabyte(first)).await;
    }
    let full = alice.call_with_bytes(&call("POST", "/v1/files"), megabyte(4).into()).await.unwrap();
    assert_eq!(problem(&full), (507, "quota_full", "member_stored_mib"));
    // The oldest of too many uploads gives way.
    let mut uploads = Vec::new();
    for _ in 0..9 {
        let begun = ok(&alice, begin(1)).await;
        uploads.push(format!("/v1/uploads/{}", begun["upload_id"].as_str().unwrap()));
    }
    assert_eq!(refused(&alice, Call::get(&uploads[0])).await.status, 404);
    assert_eq!(ok(&alice, Call::get(&uploads[1])).await["offset"], 0);
    let packed = Request::new("POST /v1/files").header("content-encoding", b"gzip");
    let packed = packed.token(&server.token("zoe", &[])).send(server.address()).await;
    assert_eq!(packed.status, 415);
}

#[tokio::test]
async fn the_gate_reads_the_bytes_of_a_file_that_another_machine_stored() {
    let server = Server::start();
    let (alice, bob) = (server.agent("alice"), server.agent("bob"));
    let report = store(&alice, b"a report").await;
    let with = |task: &str, file: &str| {
        let artifact = json!({ "artifact_id": "report",
                               "ref": { "type": "file", "path": format!("tasuki:{file}") } });
        let mut offer = offer(task, "bob");
        offer["artifacts"] = json!([artifact]);
        Call::post("/v1/handoffs", offer)
    };
    let unknown = refused(&alice, with("T-0", &name_of(b"?"))).await;
    assert_eq!(problem(&unknown), (422, "schema_invalid", "artifacts[0].ref.path"));
    assert_eq!(status_of(&bob, &report).await, 404);
    let proposed = ok(&alice, with("T-1", &report)).await;
    let id = proposed["handoff_id"].as_str().unwrap();
    assert_eq!(status_of(&bob, &report).await, 200, "its target reads it");
    assert_eq!(act(&bob, id, "accept", json!({})).await["status"], "accepted");
    act(&bob, id, "activate", json!({})).await;
    let result = store(&bob, b"the result").await;
    let done = json!({ "final_artifacts": [{ "artifact_id": "result",
        "ref": { "type": "file", "path": format!("tasuki:{result}") } }] });
    assert_eq!(act(&bob, id, "complete", done).await["status"], "completed");
    assert_eq!(status_of(&alice, &result).await, 200);

    // Bytes that changed on the disk are not accepted.
    let second = ok(&alice, with("T-2", &report)).await;
    let digits = report.strip_prefix("sha256:").unwrap();
    let path = server.data.join("files/default").join(&digits[..2]).join(digits);
    std::fs::write(path, b"a repost").unwrap();
    let accept = format!("/v1/handoffs/{}/accept", second["handoff_id"].as_str().unwrap());
    let refusal = refused(&bob, Call::post(accept, json!({}))).await;
    assert_eq!((refusal.status, &refusal.body["code"]), (422, &json!("hash_mismatch")));
}

/// The page of a list, as names and references.
fn names(listed: &Value) -> Vec<(String, u64)> {
    let items = listed["items"].as_array().expect("a list").iter();
    let one = |file: &Value| {
        (
            file["file"].as_str().expect("a text").to_owned(),
            file["n_references"].as_u64().expect("a number"),
        )
    };
    items.map(one).collect()
}

#[tokio::test]
async fn the_last_reference_erased_erases_the_file() {
    let server = Server::start();
    let chat = Chat::open(&server).await;
    let file = store(&chat.customer, b"private").await;
    ok(&chat.customer, chat.send(&file, "a.txt", None)).await;
    ok(&chat.bob, chat.send(&file, "b.txt", Some(1))).await;
    let listed = || async { names(&ok(&chat.operator, Call::get("/v1/files")).await) };
    assert_eq!(listed().await, [(file.clone(), 2)]);
    chat.erase(2).await;
    chat.erase(2).await;
    assert_eq!(listed().await, [(file.clone(), 1)], "an entry gives up its file once");
    assert_eq!(status_of(&chat.bob, &file).await, 200);
    let erase = Call::post(chat.path("/erase"), json!({ "reason": "asked for" }));
    ok(&chat.operator, erase).await;
    assert_eq!(listed().await, []);
    assert_eq!(status_of(&chat.bob, &file).await, 404);
    let digits = file.strip_prefix("sha256:").unwrap();
    let path = server.data.join("files/default").join(&digits[..2]).join(digits);
    while path.exists() {
        ok(&chat.operator, Call::get("/v1/files")).await;
    }
    // The same bytes may come again.
    store(&chat.bob, b"private").await;
    assert!(path.exists());
}
