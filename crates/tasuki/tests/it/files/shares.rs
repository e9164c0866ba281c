//! What files cost whom: quotas, teamspaces, and the last reference.

use super::*;

fn begin(size: u64) -> Call {
    Call::post("/v1/uploads", json!({ "size_bytes": size }))
}

/// What a caller has stored, in MiB and rounded up.
async fn stored(client: &Client) -> u64 {
    let usage = ok(client, Call::get("/v1/usage")).await;
    let mut own = usage["own"].as_array().expect("a list").iter();
    let found = own.find(|one| one["quota"] == "member_stored_mib");
    found.expect("it is counted")["used"].as_u64().expect("a number")
}

/// A megabyte and a bit, which no other file has.
fn large(first: u8) -> Vec<u8> {
    let mut bytes = vec![9; 1_048_576 + 100_000];
    bytes[0] = first;
    bytes
}

/// Stores in two pieces.
async fn store_large(client: &Client, bytes: &[u8]) -> Answer {
    let upload = ok(client, begin(bytes.len() as u64)).await;
    let path = format!("/v1/uploads/{}", upload["upload_id"].as_str().expect("a text"));
    for (number, piece) in bytes.chunks(1_048_576).enumerate() {
        let put = call("PUT", format!("{path}?offset={}", number * 1_048_576));
        client
            .call_with_bytes(&put, Bytes::copy_from_slice(piece))
            .await
            .expect("the server answers");
    }
    client.call(Call::post(format!("{path}/finish"), json!({}))).await.expect("the server answers")
}

#[tokio::test]
async fn the_open_uploads_of_others_are_not_charged_to_a_customer() {
    const MIB: u64 = 1_048_576;
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_QUOTAS_CUSTOMER_MIB_PER_DAY", "4");
        command.env("TASUKI_QUOTAS_TEAMSPACE_STORED_MIB", "20");
    });
    let chat = Chat::open(&server).await;
    let (alice, (_, other)) = (server.agent("alice"), Chat::opened(&server, &chat.bob).await);
    for _ in 0..2 {
        ok(&alice, begin(2 * MIB)).await;
    }
    ok(&chat.customer, begin(3 * MIB)).await;
    store(&other, b"a small one").await;
    ok(&other, begin(MIB)).await;
    let own = refused(&chat.customer, begin(2 * MIB)).await;
    assert_eq!(problem(&own), (429, "quota_reached", "customer_mib_per_day"));
    let all = refused(&alice, begin(13 * MIB)).await;
    assert_eq!(problem(&all), (507, "quota_full", "teamspace_stored_mib"));
    assert_eq!((&all.body["used"], &all.body["limit"]), (&json!(8), &json!(20)));
}

#[tokio::test]
async fn the_same_bytes_in_two_teamspaces_are_two_files() {
    let server = Server::start();
    let tokens = [server.token("alice", &[]), server.token("alice", &["--teamspace", "other"])];
    let [here, there] = tokens.map(|token| server.with_token(&token));
    let file = store(&here, b"the same").await;
    assert_eq!(status_of(&there, &file).await, 404, "a hash grants nothing");
    assert_eq!(store(&there, b"the same").await, file);
    let digits = file.strip_prefix("sha256:").unwrap();
    let path = |teamspace: &str| {
        let folder = server.data.join("files").join(teamspace);
        folder.join(&digits[..2]).join(digits)
    };
    assert!(path("default").exists() && path("other").exists());
    // Bytes that are lost in one are there in the other.
    std::fs::remove_file(path("default")).unwrap();
    assert_eq!(status_of(&there, &file).await, 200);
}

#[tokio::test]
async fn a_file_counts_after_a_restart_and_until_it_is_erased() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let start = || {
        Server::start_on(&data, |command| {
            command.env("TASUKI_QUOTAS_MEMBER_STORED_MIB", "4");
        })
    };
    let server = start();
    let (alice, root) = (server.token("alice", &[]), server.token("root", &["--kind", "operator"]));
    server.agent("bob");
    let client = server.with_token(&alice);
    let mut files = Vec::new();
    for first in 0..3 {
        let stored = store_large(&client, &large(first)).await;
        files.push(stored.body["file"].as_str().unwrap().to_owned());
    }
    let mut offer = offer("T-1", "bob");
    offer["artifacts"] = json!([{ "artifact_id": "a",
        "ref": { "type": "file", "path": format!("tasuki:{}", files[0]) } }]);
    let proposed = ok(&client, Call::post("/v1/handoffs", offer)).await;
    let id = proposed["handoff_id"].as_str().unwrap();
    act(&client, id, "withdraw", json!({})).await;
    let before = stored(&client).await;
    assert_eq!(before, 4);
    assert_eq!(server.stop(), Some(0));

    let server = start();
    let (client, operator) = (server.with_token(&alice), server.with_token(&root));
    while ok(&operator, Call::get("/v1/usage")).await["counting"] == true {}
    assert_eq!(stored(&client).await, before);
    let full = refused(&client, begin(large(4).len() as u64)).await;
    assert_eq!(problem(&full), (507, "quota_full", "member_stored_mib"));

    // The package names the file until it is erased.
    let listed = || async { names(&ok(&operator, Call::get("/v1/files")).await) };
    assert!(listed().await.contains(&(files[0].clone(), 1)));
    let erase = json!({ "position": 1, "reason": "asked for" });
    act(&operator, id, "erase", erase).await;
    assert!(!listed().await.iter().any(|(file, _)| *file == files[0]));
    assert_eq!(status_of(&client, &files[0]).await, 404);
    assert_eq!(stored(&client).await, 3);
    assert_eq!(store_large(&client, &large(4)).await.status, 200);
}
