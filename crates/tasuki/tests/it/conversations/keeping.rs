//! Exporting a conversation, and erasing all of it.

use super::*;

fn export_of(chat: &Chat) -> Call {
    Call::get(chat.path("/export"))
}

/// The lines of an export.
async fn exported(client: &Client, chat: &Chat) -> Vec<Value> {
    let response = client.open(&export_of(chat), &[]).await.expect("an answer");
    assert_eq!(response.headers()["content-type"], "application/x-ndjson; charset=utf-8");
    let body = http_body_util::BodyExt::collect(response.into_body()).await.expect("it is whole");
    let text = String::from_utf8(body.to_bytes().to_vec()).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect()
}

#[tokio::test]
async fn an_export_has_everything_and_where_it_stands_in_the_ledger() {
    let server = Server::start();
    let chat = open(&server).await;
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let file = json!({ "type": "attachment", "name": "a.txt", "media_type": "text/plain",
                       "data": "aGk=" });
    ok(&chat.customer, chat.post("/messages", json!({ "parts": [file] }))).await;
    for number in 2..=40 {
        ok(&chat.customer, chat.say(&number.to_string())).await;
    }
    let route = json!({ "goto": "carol", "epoch": 1, "context": "May" });
    ok(&chat.bob, chat.post("/commands", route)).await;
    let erase = chat.post("/erase", json!({ "position": 3, "reason": "asked for" }));
    assert_eq!(ok(&operator, erase).await["erased"], 1);

    let lines = exported(&chat.shop, &chat).await;
    let [head, messages @ .., end] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!((&head["kind"], &head["holder"]), (&json!("conversation"), &json!("carol")));
    assert_eq!((&end["kind"], &end["n_messages"]), (&json!("end"), &json!(41)));
    assert_eq!(end["transcript_digest"], head["transcript_digest"]);
    let numbers: Vec<_> = messages.iter().filter_map(|line| line["number"].as_u64()).collect();
    assert_eq!(numbers, (1..=41).collect::<Vec<_>>());
    assert_eq!(messages[0]["body"]["parts"][0]["data"], "aGk=", "files are in it");
    assert_eq!((&messages[1]["erased"], &messages[1]["body"]), (&json!(true), &Value::Null));
    assert_eq!(messages[40]["body"]["context"], "May");
    let ledger = whole_ledger(&operator, "").await;
    for line in messages {
        let is_it = |event: &&Event| event.data["hash"] == line["hash"];
        let entry = &ledger.iter().find(is_it).expect("it is in the ledger").data;
        assert_eq!(entry["position"], line["position"]);
    }

    // An operator of the whole server also sees the number of each entry.
    let mut with_numbers = exported(&operator, &chat).await;
    for line in &mut with_numbers {
        let number = line.as_object_mut().and_then(|line| line.remove("seq"));
        assert_eq!(number.is_some(), line["kind"] == "message", "{line}");
    }
    assert_eq!(with_numbers, lines);
    for (who, status) in [(&chat.customer, 403), (&chat.carol, 403), (&server.agent("eve"), 404)] {
        assert_eq!(refused(who, export_of(&chat)).await.status, status);
    }
}

/// Large messages make short pages; none is left out, nor in the export, nor at the erasure.
#[tokio::test]
async fn large_messages_are_read_in_short_pages() {
    let server = Server::start();
    let chat = open(&server).await;
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let file = json!({ "type": "attachment", "name": "a.bin",
                       "media_type": "application/octet-stream", "data": "QUFB".repeat(32_000) });
    let n_messages = 12_u64;
    for _ in 0..n_messages {
        let parts = json!({ "parts": [file.clone(), file.clone(), file.clone()] });
        ok(&chat.customer, chat.post("/messages", parts)).await;
    }
    let (mut numbers, mut n_pages, mut after) = (Vec::new(), 0, String::new());
    loop {
        let page = ok(&chat.customer, Call::get(chat.path(&format!("/messages?{after}")))).await;
        n_pages += 1;
        let items = page["items"].as_array().expect("a page").iter();
        numbers.extend(items.filter_map(|line| line["number"].as_u64()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        after = format!("after={cursor}");
    }
    assert_eq!(numbers, (1..=n_messages).collect::<Vec<_>>());
    assert!(n_pages > 3, "{n_pages}");
    assert_eq!(exported(&chat.shop, &chat).await.len() as u64, n_messages + 2);
    ok(&operator, chat.post("/erase", json!({ "reason": "asked for" }))).await;
    let left = whole_ledger(&operator, "").await;
    let stream = format!("conversation/{}", chat.id);
    let is_left = |event: &&Event| {
        event.data["stream"] == stream.as_str() && event.data["data"]["parts"].is_array()
    };
    assert_eq!(left.iter().filter(is_left).count(), 0);
}

/// The server is killed between two requests; the next request erases the rest.
#[tokio::test]
async fn all_of_a_conversation_is_erased_however_often_it_is_interrupted() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |command| {
        command.env("TASUKI_QUOTAS_CUSTOMER_REQUESTS_PER_MINUTE", "0");
    });
    let chat = open(&server).await;
    let root = server.token("root", &["--kind", "operator"]);
    let n_said = engine::ledger::erasing::ERASED_MAX as u64 + 50;
    for number in 1..=n_said {
        ok(&chat.customer, chat.say(&format!("secret {number}"))).await;
    }
    ok(&chat.bob, chat.post("/commands", json!({ "goto": "carol", "epoch": 1 }))).await;
    let late = refused(&chat.bob, chat.answer("a late secret", 1, 1)).await;
    assert_eq!(late.body["code"], "epoch_outdated");

    let erase = |reason: &str| chat.post("/erase", json!({ "reason": reason }));
    for who in [&chat.customer, &chat.shop, &chat.carol] {
        assert_eq!(refused(who, erase("mine")).await.status, 403);
    }
    let operator = server.with_token(&root);
    assert_eq!(refused(&operator, erase(" ")).await.status, 422);
    let first = ok(&operator, erase("they asked")).await;
    assert_eq!((&first["has_more"], &first["status"]), (&json!(true), &json!("closed")));
    assert_eq!(first["customer"], json!({}));
    server.kill();

    let server = Server::start_on(&data, |_| {});
    let operator = server.with_token(&root);
    let mut n_erased = first["erased"].as_u64().expect("a number");
    loop {
        let next = ok(&operator, erase("they asked")).await;
        n_erased += next["erased"].as_u64().expect("a number");
        if next["has_more"] == false {
            break;
        }
    }
    // The messages, and the entries for open, route, not heard and close.
    assert_eq!(n_erased, n_said + 4);
    assert_eq!(ok(&operator, erase("they asked")).await["erased"], 0);
    let left = chat.transcript(&server.with_token(&chat.token), "?limit=200").await;
    assert!(left.iter().all(|line| line["erased"] == true && line["parts"] == json!([])));
    let lines = exported(&operator, &chat).await;
    assert!(lines[1..=usize::try_from(n_said).unwrap()].iter().all(|line| line["erased"] == true));
    let ledger = whole_ledger(&operator, "&kind=conversation").await;
    let texts: Vec<_> = ledger.iter().map(|event| event.data.to_string()).collect();
    assert!(!texts.concat().contains("secret"), "what was said is nowhere in the feed");
    assert_eq!(server.stop(), Some(0));
    let mut verify = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    let verified = verify.args(["audit", "verify", "--data"]).arg(&data).output();
    assert!(verified.expect("the executable runs").status.success());
}

#[tokio::test]
async fn exports_that_are_not_read_leave_places_for_other_callers() {
    let server = Server::start();
    let chat = open(&server).await;
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let file = json!({ "type": "attachment", "name": "a.txt", "media_type": "text/plain",
                       "data": "A".repeat(170_000) });
    let parts = vec![file; 5];
    // Together more than the buffers of a connection take.
    for _ in 0..12 {
        ok(&chat.customer, chat.post("/messages", json!({ "parts": parts }))).await;
        ok(&chat.bob, chat.post("/messages", json!({ "parts": parts, "epoch": 1 }))).await;
    }
    let mut unread = Vec::new();
    for _ in 0..2 {
        unread.push(chat.shop.open(&export_of(&chat), &[]).await.expect("an answer"));
    }
    assert!(unread.iter().all(|response| response.status() == 200));
    let third = refused(&chat.shop, export_of(&chat)).await;
    assert_eq!((third.status, &third.body["code"]), (429, &json!("too_many_streams")));
    assert_eq!(exported(&operator, &chat).await.len(), 26, "others have their own");
    drop(unread);
    // The server notices the disconnect asynchronously.
    while chat.shop.open(&export_of(&chat), &[]).await.expect("an answer").status() == 429 {}
}
