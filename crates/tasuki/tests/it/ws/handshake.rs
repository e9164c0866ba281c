//! Which callers may open a socket, and from which pages.

use serde_json::{Value, json};
use tasuki::client::Call;

use super::{Chat, Socket};
use crate::hidden_places::{newest, place_in};
use crate::server::{Server, ok};
use crate::wire::Request;

#[tokio::test]
async fn a_socket_opens_for_whoever_has_a_token_and_comes_from_a_known_page() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.args(["--ws-origin", "https://shop.example"]);
        command.args(["--ws-origin", "https://app.example"]);
    });
    let chat = Chat::open(server).await;
    let bearer = ("authorization", format!("Bearer {}", chat.bob));
    let offer =
        |entries: &str| ("sec-websocket-protocol", entries.replace("TOKEN", &chat.customer));
    let origin = |origin: &str| ("origin", origin.to_owned());
    let own = format!("http://{}", chat.server.address());
    let in_query = format!("/ws?token={}", chat.bob);
    let rows = [
        ("/ws", vec![bearer.clone()], 101, ""),
        ("/ws", vec![offer("tasuki.v1, bearer.TOKEN")], 101, ""),
        ("/ws", vec![offer("bearer.TOKEN,tasuki.v1")], 101, ""),
        ("/ws", vec![offer("tasuki.v1"), bearer.clone()], 101, ""),
        ("/ws", vec![bearer.clone(), offer("tasuki.v1, bearer.TOKEN")], 422, "schema_invalid"),
        ("/ws", vec![offer("tasuki.v1, bearer.TOKEN, bearer.other")], 422, "schema_invalid"),
        ("/ws", vec![offer("tasuki.v1, bearer.TOKEN, bearer.TOKEN")], 101, ""),
        ("/ws", vec![], 401, "unauthenticated"),
        ("/ws", vec![offer("tasuki.v1")], 401, "unauthenticated"),
        ("/ws", vec![offer("tasuki.v1, bearer.tasuki_0000")], 401, "unauthenticated"),
        ("/ws", vec![offer("bearer.TOKEN")], 422, "schema_invalid"),
        ("/ws", vec![offer("chat"), bearer.clone()], 422, "schema_invalid"),
        (&in_query, vec![], 401, "unauthenticated"),
        (&in_query, vec![bearer.clone()], 422, "schema_invalid"),
        ("/ws", vec![bearer.clone(), origin(&own)], 101, ""),
        ("/ws", vec![bearer.clone(), origin("https://shop.example")], 101, ""),
        ("/ws", vec![bearer.clone(), origin("https://app.example:443")], 101, ""),
        ("/ws", vec![bearer.clone(), origin("http://shop.example")], 403, "origin_not_allowed"),
        ("/ws", vec![bearer.clone(), origin("https://evil.example")], 403, "origin_not_allowed"),
        ("/ws", vec![bearer.clone(), origin("null")], 403, "origin_not_allowed"),
        ("/ws", vec![origin(&own), origin(&own), bearer.clone()], 403, "origin_not_allowed"),
        ("/ws", vec![origin("https://evil.example")], 403, "origin_not_allowed"),
    ];
    for (path, headers, status, code) in rows {
        match Socket::try_open(&chat.server, path, &headers).await {
            Ok(mut socket) => {
                assert_eq!(status, 101, "{path} {headers:?}");
                assert_eq!(socket.ask(json!({ "do": "ping" })).await["status"], 200);
            }
            Err(refused) => {
                let actual = (refused.status, refused.body["code"].as_str().unwrap_or_default());
                assert_eq!(actual, (status, code), "{path} {headers:?}: {}", refused.body);
            }
        }
    }
    let plain = Request::new("GET /ws").token(&chat.bob).send(chat.server.address()).await;
    assert_eq!((plain.status, plain.header("upgrade")), (426, "websocket"));
    assert_eq!(plain.json()["code"], "upgrade_required");
    let refused = crate::server::refused_start(&folder.path().join("other"), |command| {
        command.args(["--ws-origin", "shop.example"]);
    });
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("expected an origin"), "{said}");
}

/// For every request about another teamspace's things, and for every event.
#[tokio::test]
async fn nobody_is_told_of_another_teamspace_or_another_conversation() {
    let chat = Chat::start().await;
    let far = ["--kind", "operator", "--teamspace", "far"];
    let mut far = chat.socket(&chat.server.token("root", &far)).await;
    let body = json!({ "agent": "bob" });
    let other = ok(&chat.operator, Call::post("/v1/conversations", body)).await;
    let mut stranger = chat.socket(other["customer_token"].as_str().unwrap()).await;
    let mut ana = chat.socket(&chat.customer).await;
    let mut dora = chat.socket(&chat.server.token("dora", &[])).await;
    let typing = json!({ "do": "typing", "conversation": chat.id });
    for socket in [&mut far, &mut stranger, &mut dora] {
        for frame in [chat.follow(Some(json!(0))), chat.say("psst"), typing.clone()] {
            assert_eq!(socket.refused(frame).await.0, 404);
        }
        socket.ok(json!({ "do": "subscribe", "after": 0 })).await;
    }
    for filter in ["kind", "agent"] {
        let frame = json!({ "do": "subscribe", filter: "bob" });
        assert_eq!(stranger.refused(frame).await, (422, "schema_invalid".to_owned()));
    }
    for name in ["list_conversations", "list_agents", "list_handoffs", "show_teamspace"] {
        assert_eq!(stranger.refused(json!({ "do": name })).await.0, 403, "{name}");
    }
    ana.ok(chat.say("my secret")).await;
    stranger.ok(json!({ "do": "typing" })).await;
    // A later event that reaches every client shows that all earlier ones were told.
    let mut bob = chat.socket(&chat.bob).await;
    let parts = json!([{ "type": "text", "text": "hello stranger" }]);
    let say = json!({
        "do": "say", "with": { "conversation": other["conversation_id"] },
        "body": { "parts": parts, "epoch": 1 },
    });
    bob.ok(say).await;
    let mut seen = Vec::new();
    while !json!(seen).to_string().contains("hello stranger") {
        seen.push(stranger.told().await);
    }
    let last = newest();
    ok(&chat.operator, Call::put("/v1/agents/eve", json!({ "kind": "worker" }))).await;
    while seen_by(&mut dora).await <= last {}
    for frames in [seen, far.all_told().await, dora.all_told().await] {
        let text = json!(frames).to_string();
        assert!(!text.contains("my secret") && !text.contains(&chat.id), "{text}");
    }
}

async fn seen_by(socket: &mut Socket) -> u64 {
    let frame: Value = socket.told().await;
    assert!(!frame.to_string().contains("my secret"), "{frame}");
    place_in(&frame)
}
