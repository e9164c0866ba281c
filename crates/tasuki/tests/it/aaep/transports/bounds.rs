//! The limits of a connection, what it must not do, and when it must end.

use std::os::unix::fs::PermissionsExt;

use engine::ports::clock::Stopwatch;
use futures_util::SinkExt;
use serde_json::{Value, json};
use tasuki::client::Call;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;

use super::{announce, hear, opening, request};
use crate::aaep::lines::branch::{Branch, Who};
use crate::aaep::lines::peer::{Peer, Road};
use crate::aaep::{event, progress};
use crate::server::{ok, refused_start};
use crate::wire::Request;
use crate::ws::socket::Socket;

#[tokio::test]
async fn a_websocket_opens_for_whoever_has_a_token_and_speaks_the_protocol() {
    let branch = Branch::open().await;
    let bearer = ("authorization", format!("Bearer {}", branch.dana.token));
    let offer =
        |entries: &str| ("sec-websocket-protocol", entries.replace("TOKEN", &branch.dana.token));
    let evil = ("origin", "https://evil.example".to_owned());
    for (headers, status, code) in [
        (vec![offer("aaep.v1"), bearer.clone()], 101, ""),
        (vec![offer("aaep.v1, bearer.TOKEN")], 101, ""),
        (vec![offer("tasuki.v1, bearer.TOKEN")], 422, "schema_invalid"),
        (vec![bearer.clone()], 422, "schema_invalid"),
        (vec![offer("aaep.v1")], 401, "unauthenticated"),
        (vec![offer("aaep.v1, bearer.tasuki_0000")], 401, "unauthenticated"),
        (vec![offer("aaep.v1"), bearer.clone(), evil], 403, "origin_not_allowed"),
    ] {
        match Socket::try_open(&branch.server, "/aaep/v1/ws", &headers).await {
            Ok(_socket) => assert_eq!(status, 101, "{headers:?}"),
            Err(refused) => {
                let actual = (refused.status, refused.body["code"].as_str().unwrap_or_default());
                assert_eq!(actual, (status, code), "{headers:?}: {}", refused.body);
            }
        }
    }
    let plain = Request::new("GET /aaep/v1/ws")
        .token(&branch.dana.token)
        .header("sec-websocket-protocol", b"aaep.v1")
        .send(branch.server.address())
        .await;
    assert_eq!(plain.status, 426);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_the_connection_goes_on() {
    let branch = Branch::open().await;
    let large = event(1, "session.started", json!({ "output": "x".repeat(1024 * 1024) }));
    for road in [Road::WebSocket, Road::Unix] {
        let mut teller = branch.producer(road).await;
        let mut rows = vec![
            (json!("no object"), "schema_invalid"),
            (json!([]), "schema_invalid"),
            (json!({ "type": "aaep:agent.nonsense" }), "schema_invalid"),
            (json!({ "type": "subscription.close", "subscription_id": "sub_none" }), "not_found"),
            (progress(2), "protocol_violation"),
        ];
        if road == Road::WebSocket {
            rows.push((large.clone(), "body_too_large"));
        }
        for (number, (message, code)) in (1..).zip(rows) {
            teller.send(message).await;
            let refused = teller.next().await;
            assert_eq!(
                (&refused["type"], &refused["code"]),
                (&json!("tasuki.refused"), &json!(code)),
                "{refused}"
            );
            assert_eq!(refused["message"], json!(number), "{refused}");
        }
        // A request for terms is answered in the protocol's own form.
        teller.send(json!({ "type": "subscription.request", "aaep_version": 7 })).await;
        let rejected = teller.next().await;
        assert_eq!(
            (&rejected["type"], &rejected["reason_code"]),
            (&json!("subscription.rejected"), &json!("version_unsupported"))
        );
    }
    let mut garbage = branch.producer(Road::WebSocket).await;
    if let Peer::WebSocket(socket) = &mut garbage {
        socket.send(Message::text("{ no json")).await.expect("the socket is open");
    }
    assert_eq!(garbage.next().await["code"], "json_invalid");
}

#[tokio::test]
async fn what_nobody_may_send_ends_the_connection() {
    let branch = Branch::open().await;
    for message in [Message::binary(vec![1, 2, 3]), Message::text("x".repeat(3 << 20))] {
        let mut peer = branch.producer(Road::WebSocket).await;
        if let Peer::WebSocket(socket) = &mut peer {
            // It may be cut off while it sends.
            let _ = socket.send(message).await;
        }
        assert!(matches!(peer.closed().await, Some(4004) | None));
    }
    for bytes in [&[0xff_u8, 0xff, 0xff, 0xff][..], &[0, 0, 0, 2, 0xc3, 0x28]] {
        let mut peer = branch.producer(Road::Unix).await;
        if let Peer::Unix(stream) = &mut peer {
            stream.write_all(bytes).await.expect("the socket is open");
        }
        assert_eq!(peer.closed().await, Some(4004));
    }
    let mut stranger = Peer::open(&branch, Road::Unix, &Who::new("", "tasuki_0000")).await;
    assert_eq!(stranger.next().await["code"], "unauthenticated");
    assert_eq!(stranger.closed().await, Some(4002));
}

#[tokio::test]
async fn a_connection_has_one_subscription() {
    let branch = Branch::open().await;
    let (mut dana, id) = branch.listener(Road::WebSocket).await;
    dana.send(request(json!({}))).await;
    let rejected = dana.next().await;
    assert_eq!(
        (&rejected["type"], &rejected["reason_code"]),
        (&json!("subscription.rejected"), &json!("rate_limit"))
    );
    let terms = json!({
        "type": "subscription.renegotiate", "subscription_id": id,
        "capabilities": { "max_events_per_second": 5 },
    });
    dana.send(terms).await;
    let accepted = dana.next().await;
    assert_eq!(accepted["honored_capabilities"]["max_events_per_second"], 5, "{accepted}");

    for road in [Road::WebSocket, Road::Unix, Road::Stdio] {
        let mut old = Peer::open(&branch, road, &branch.dana).await;
        let mut asked = request(json!({}));
        asked["aaep_version"] = "9.0.0".into();
        old.send(asked).await;
        let rejected = old.next().await;
        assert_eq!(rejected["reason_code"], "version_unsupported", "{rejected}");
        assert_eq!(old.closed().await, Some(4001));
    }
}

/// A listener that does not read delays no other listener, and misses nothing once it reads.
#[tokio::test]
async fn a_slow_reader_holds_up_only_itself() {
    const N_BATCHES: u32 = 40;
    let branch = Branch::open().await;
    let (mut slow, _) = branch.listener(Road::Unix).await;
    let (mut quick, _) = branch.listener(Road::Unix).await;
    let mut teller = branch.producer(Road::WebSocket).await;
    announce(&mut teller, &opening()[..3]).await;
    let told = "A word at a time. ".repeat(500);
    let long = |number: u32| {
        let fields = json!({ "progress": { "percent": 5 }, "summary_detailed": told });
        let mut updated = event(4, "progress.updated", fields);
        updated["event_id"] = format!("evt_{number}x").into();
        updated
    };
    for batch in 0..N_BATCHES {
        let events: Vec<Value> = (0..4).map(|index| long(batch * 4 + index)).collect();
        teller.send(json!(events)).await;
    }
    for _ in 0..N_BATCHES {
        assert_eq!(teller.next().await["n_events"], 4);
    }
    let n_events = usize::try_from(N_BATCHES * 4 + 3).expect("it is small");
    let heard = hear(&mut quick, n_events).await;
    assert_eq!(hear(&mut slow, n_events).await, heard);
}

#[tokio::test]
async fn a_connection_ends_with_its_token_and_with_the_server() {
    let branch = Branch::open().await;
    let server = &branch.server;
    let operator = server.with_token(&server.token("boss", &["--kind", "operator"]));
    for road in [Road::WebSocket, Road::Unix] {
        let issued = ok(&operator, Call::post("/v1/tokens", json!({ "agent": "dana" }))).await;
        let token = issued["token"].as_str().expect("a token");
        let mut dana = Peer::open(&branch, road, &Who::new("dana", token)).await;
        dana.send(request(json!({}))).await;
        assert_eq!(dana.next().await["type"], "subscription.accepted");
        let stopwatch = Stopwatch::start();
        let revoke = format!("/v1/tokens/{}/revoke", issued["token_id"].as_str().expect("an id"));
        ok(&operator, Call::post(revoke, json!({}))).await;
        assert_eq!(dana.closed().await, Some(4002));
        assert!(stopwatch.seconds() < 5.0, "{}", stopwatch.seconds());
    }
    let mode = std::fs::metadata(&branch.socket).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = refused_start(&branch.socket.with_file_name("other"), |command| {
        command.arg("--aaep-socket").arg(&branch.socket);
    });
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success() && said.contains("another server has"), "{said}");

    let (mut over_ws, _) = branch.listener(Road::WebSocket).await;
    let (mut over_unix, _) = branch.listener(Road::Unix).await;
    let (mut over_stdio, _) = branch.listener(Road::Stdio).await;
    assert_eq!(server.stop(), Some(0));
    for peer in [&mut over_ws, &mut over_unix, &mut over_stdio] {
        assert_eq!(peer.closed().await, Some(1001));
    }
    assert!(!branch.socket.exists(), "nothing is left behind");
    let code = over_stdio.process().child.wait().expect("it ends").code();
    assert_eq!(code, Some(4));
}

/// A socket left over from a crash is replaced; another file is not.
#[tokio::test]
async fn a_socket_without_a_server_is_replaced() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let socket = folder.path().join("tasuki.sock");
    let start = |data: &str| {
        crate::server::Server::start_on(&folder.path().join(data), |command| {
            command.arg("--aaep-socket").arg(&socket);
        })
    };
    start("one").kill();
    assert!(socket.exists(), "a crash removes nothing");
    let second = start("two");
    assert_eq!(second.stop(), Some(0));
    std::fs::write(&socket, "precious").expect("a file");
    let refused = refused_start(&folder.path().join("three"), |command| {
        command.arg("--aaep-socket").arg(&socket);
    });
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("is no socket"), "{said}");
    assert_eq!(std::fs::read_to_string(&socket).expect("it is there"), "precious");
}

#[tokio::test]
async fn standard_input_and_output_speak_json_rpc() {
    let branch = Branch::open().await;
    let mut stdio = branch.producer(Road::Stdio).await.process();
    let started = event(1, "session.started", json!({}));
    for (line, expected) in [
        ("{ no json".to_owned(), json!({ "id": null, "error": -32_700 })),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"fly"}"#.to_owned(),
            json!({ "id": 1, "error": -32_601 }),
        ),
        ("x".repeat(2 << 20), json!({ "id": null, "error": -32_600 })),
        (
            r#"{"jsonrpc":"2.0","id":"p","method":"aaep.ping"}"#.to_owned(),
            json!({ "id": "p", "result": {} }),
        ),
    ] {
        stdio.write(&line);
        let answer = stdio.line().await.expect("an answer");
        assert_eq!(answer["id"], expected["id"], "{answer}");
        match expected.get("error") {
            Some(code) => assert_eq!(answer["error"]["code"], *code, "{answer}"),
            None => assert_eq!(answer["result"], expected["result"], "{answer}"),
        }
    }
    let call = |method: &str, id: Option<u32>, params: &Value| {
        let mut call = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if let Some(id) = id {
            call["id"] = id.into();
        }
        call.to_string()
    };
    stdio.write(&call("aaep.event", None, &progress(1)));
    let refused = stdio.line().await.expect("a remark");
    assert_eq!(
        (&refused["method"], &refused["params"]["code"]),
        (&json!("tasuki.refused"), &json!("protocol_violation"))
    );
    stdio.write(&call("aaep.announce", Some(5), &progress(1)));
    let refused = stdio.line().await.expect("an answer");
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(5), &json!(-32_001)),
        "{refused}"
    );
    assert!(refused["error"]["data"]["rule"].is_string(), "{refused}");
    // Messages before the end of the input are handled and answered.
    stdio.write(&call("aaep.event", None, &started));
    stdio.write(&call("aaep.announce", Some(6), &progress(2)));
    stdio.input = None;
    let recorded = stdio.line().await.expect("an answer");
    assert_eq!((&recorded["id"], &recorded["result"]["n_events"]), (&json!(6), &json!(1)));
    assert!(stdio.line().await.is_none());
    assert_eq!(stdio.child.wait().expect("it ends").code(), Some(0));

    let mut nobody = Peer::open(&branch, Road::Stdio, &Who::new("nobody", "")).await.process();
    assert_eq!(nobody.child.wait().expect("it ends").code(), Some(3), "there is no such agent");
    assert_eq!(branch.server.stop(), Some(0));
    let mut late = Peer::open(&branch, Road::Stdio, &branch.teller).await.process();
    assert_eq!(late.child.wait().expect("it ends").code(), Some(4), "there is no server");
}
