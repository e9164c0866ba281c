//! What customers, people and bots are told of a transfer while it happens, over every transport.

use serde_json::{Value, json};
use tasuki::client::Call;

use crate::server::{ok, refused};
use crate::sse::Stream;
use crate::transfers::{Desk, act, until};
use crate::ws::socket::Socket;

/// A socket that follows the conversation of a desk from its beginning.
async fn following(desk: &Desk, token: &str) -> Socket {
    let mut socket = Socket::open(&desk.server, token).await;
    let follow = json!({ "do": "subscribe", "conversation": desk.conversation, "after": 0 });
    socket.ok(follow).await;
    socket
}

/// Another token of the customer, with which to open a socket.
async fn customer_token(desk: &Desk) -> String {
    let minted = ok(&desk.bob, Call::post(desk.path("/tokens"), json!({}))).await;
    minted["token"].as_str().expect("a token").to_owned()
}

/// All frames up to an entry of that name.
async fn told_until(socket: &mut Socket, event: &str) -> Vec<Value> {
    let mut told = Vec::new();
    while told.last().is_none_or(|frame: &Value| frame["event"]["event"] != event) {
        told.push(socket.told().await);
    }
    told
}

/// Messages between colleagues reach no customer, on any transport.
#[tokio::test]
async fn notes_and_whispers_are_for_colleagues() {
    let desk = Desk::open(json!({})).await;
    let hana = desk.person("hana").await;
    let token = customer_token(&desk).await;
    let mut live = following(&desk, &token).await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    until(&hana, &transfer, "ringing").await;
    act(&hana, &transfer, "accept", json!({ "epoch": 2 })).await;
    act(&hana, &transfer, "note", json!({ "epoch": 3, "text": "hush, a note" })).await;
    let ivan = desk.person("ivan").await;
    let asked = json!({ "to": "ivan", "type": "supervisor_consult", "epoch": 3 });
    act(&hana, &transfer, "transfer", asked).await;
    act(&ivan, &transfer, "accept", json!({ "epoch": 3 })).await;
    act(&ivan, &transfer, "whisper", json!({ "epoch": 3, "text": "hush, a whisper" })).await;
    desk.say(&hana, "all is well", Some(3)).await;
    let summary = json!({ "epoch": 3, "summary": "hush, a summary" });
    act(&hana, &transfer, "complete", summary).await;
    ok(&desk.bob, Call::post(desk.path("/close"), json!({}))).await;

    let mut late = following(&desk, &token).await;
    for socket in [&mut live, &mut late] {
        let told = json!(told_until(socket, "conversation.closed").await).to_string();
        assert!(told.contains("all is well"), "{told}");
        assert!(!told.contains("hush") && !told.contains("transfer.noted"), "{told}");
    }
    let read = ok(&desk.customer, Call::get(desk.path("/messages?limit=200"))).await;
    assert!(!read.to_string().contains("hush"), "{read}");
    for number in 1..=8 {
        let file = Call::get(desk.path(&format!("/messages/{number}/attachments/0")));
        assert_eq!(refused(&desk.customer, file).await.status, 404);
    }
    let stream = format!("/v1/events?stream=conversation/{}", desk.conversation);
    assert_eq!(refused(&desk.customer, Call::get(stream)).await.status, 403);
    for reader in [&hana, &desk.operator] {
        let read = ok(reader, Call::get(desk.path("/messages?limit=200"))).await.to_string();
        assert!(read.contains("hush, a note") && read.contains("hush, a whisper"), "{read}");
    }
}

/// A frame in a few words; entries and places have none.
fn words(frame: &Value) -> Option<String> {
    let text = |name: &str| frame[name].as_str().unwrap_or("?").to_owned();
    Some(match frame["type"].as_str()? {
        "handoff.status" => text("status"),
        "agent_changed" => {
            let agent = frame["currentAgent"]["agentId"].as_str().unwrap_or("?");
            format!("{agent} by {}", text("handoffType"))
        }
        "handoff_transition" => format!("{} {}→{}", text("action"), text("from"), text("to")),
        "cockpit_action" => format!("{}!", text("action")),
        "queue_changed" => format!("{}: {}", text("queue"), text("status")),
        other => other.to_owned(),
    })
}

fn in_words(frames: &[Value]) -> Vec<String> {
    frames.iter().filter_map(words).collect()
}

const FOR_EVERYBODY: [&str; 11] = [
    "requested",
    "queued",
    "ringing",
    "queued",
    "ringing",
    "connected",
    "hana by bot_to_human",
    "on_hold",
    "connected",
    "completed",
    "bob by returned",
];

const FOR_MEMBERS: [&str; 28] = [
    "requested",
    "request idle→requested",
    "queued",
    "queue requested→queued",
    "ringing",
    "pickup queued→ringing",
    "pickup!",
    "queued",
    "decline ringing→queued",
    "decline!",
    "ringing",
    "pickup queued→ringing",
    "pickup!",
    "connected",
    "hana by bot_to_human",
    "accept ringing→connected",
    "accept!",
    "note!",
    "on_hold",
    "hold connected→on_hold",
    "hold!",
    "connected",
    "resume on_hold→connected",
    "resume!",
    "completed",
    "bob by returned",
    "complete connected→completed",
    "complete!",
];

/// Every participant of the conversation sees each change of status; the actors are for those who
/// see the entries. Live, resumed and as an event stream, it is the same.
#[tokio::test]
async fn everybody_sees_how_a_transfer_stands() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let (customer, bob) = (customer_token(&desk).await, desk.server.token("bob", &[]));
    let root = desk.server.token("root", &["--kind", "operator"]);
    let mut ana = following(&desk, &customer).await;
    let asked = json!({ "epoch": 1, "reason": "hush, cannot refund" });
    let transfer = desk.request(&desk.bob, asked).await;
    let queued = loop {
        let frame = ana.told().await;
        if frame["status"] == "queued" {
            break frame;
        }
    };
    assert_eq!(
        queued,
        json!({
            "type": "handoff.status", "of": "1", "requestId": transfer["transfer_id"],
            "responseId": transfer["transfer_id"], "sessionId": desk.conversation,
            "eventId": format!("{}/3", desk.conversation), "timestamp": queued["timestamp"],
            "sequence": 3, "status": "queued", "queuePosition": 1,
        })
    );
    act(&hana, &transfer, "pickup", json!({ "epoch": 2 })).await;
    act(&hana, &transfer, "decline", json!({ "epoch": 2, "reason": "hush, lunch" })).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    act(&hana, &transfer, "note", json!({ "epoch": 3, "text": "hush, a note" })).await;
    act(&hana, &transfer, "hold", json!({ "epoch": 3 })).await;
    act(&hana, &transfer, "resume", json!({ "epoch": 3 })).await;
    act(&hana, &transfer, "complete", json!({ "epoch": 3 })).await;
    ok(&desk.bob, Call::post(desk.path("/close"), json!({}))).await;

    let live = told_until(&mut ana, "conversation.closed").await;
    assert_eq!(in_words(&live), FOR_EVERYBODY[2..]);
    let connected = live.iter().find(|frame| frame["status"] == "connected").expect("told");
    assert_eq!(connected["targetAgent"]["agentName"], "hana");
    for token in [&customer, &bob] {
        let told = told_until(&mut following(&desk, token).await, "conversation.closed").await;
        let text = json!(told).to_string();
        match token == &customer {
            true => {
                assert_eq!(in_words(&told), FOR_EVERYBODY);
                assert!(!text.contains("hush") && !text.contains("cockpit"), "{text}");
            }
            // The bot sees the status, and the actions from while it held the conversation.
            false => {
                let of_bob = |word: &&str| !word.contains('→') && !word.ends_with('!');
                let told = in_words(&told);
                let statuses: Vec<_> = told.iter().map(String::as_str).filter(of_bob).collect();
                assert_eq!(statuses, FOR_EVERYBODY);
                assert!(!text.contains("hush, lunch") && !text.contains("hush, a note"), "{text}");
            }
        }
    }
    let told = told_until(&mut following(&desk, &root).await, "conversation.closed").await;
    assert_eq!(in_words(&told), FOR_MEMBERS);
    let declined = told.iter().find(|frame| frame["reason"] == "hush, lunch").expect("told");
    assert_eq!(declined["type"], "handoff.status");
    let note = told.iter().find(|frame| frame["action"] == "note").expect("told");
    assert_eq!((&note["agent"]["agentId"], &note["by"]), (&json!("hana"), &json!("agent:hana")));

    check_resumed(&desk, &customer, &live).await;
    let stream = format!("/v1/events?after=0&stream=conversation/{}", desk.conversation);
    let mut stream = Stream::open(&desk.operator, &stream, None).await;
    let mut told = Vec::new();
    while told.last().is_none_or(|event: &Value| event["event"] != "conversation.closed") {
        told.push(stream.next_entry().await.expect("the stream goes on").data);
    }
    assert_eq!(in_words(&told), FOR_MEMBERS);
}

/// A client that resumes at any cursor is told the rest, once.
async fn check_resumed(desk: &Desk, customer: &str, live: &[Value]) {
    for at in (0..live.len()).filter(|at| live[*at]["cursor"].is_string()).step_by(3) {
        let mut back = Socket::open(&desk.server, customer).await;
        back.ok(json!({ "do": "subscribe", "after": live[at]["cursor"] })).await;
        if at + 1 < live.len() {
            let rest = told_until(&mut back, "conversation.closed").await;
            assert_eq!(in_words(&rest), in_words(&live[at + 1..]), "after {at}");
        }
    }
}

/// One person passes the customer on to another; the parts of the transcript have ids of their own.
#[tokio::test]
async fn another_person_takes_over() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let (hana, ivan) = (desk.person("hana").await, desk.person("ivan").await);
    let transfer = desk.request(&desk.bob, json!({ "type": "warm", "epoch": 1 })).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    act(&hana, &transfer, "hold", json!({ "epoch": 3 })).await;
    act(&hana, &transfer, "transfer", json!({ "to": "ivan", "epoch": 3 })).await;
    act(&ivan, &transfer, "accept", json!({ "epoch": 3 })).await;
    ok(&desk.customer, Call::post(desk.path("/close"), json!({}))).await;

    let root = desk.server.token("root", &["--kind", "operator"]);
    let told = told_until(&mut following(&desk, &root).await, "conversation.closed").await;
    let told = in_words(&told);
    let after_hold = told.iter().position(|words| words == "hold!").expect("it was on hold");
    // Closed by the customer: no person did it, and no agent gets it back.
    let expected = [
        "transfer!",
        "connected",
        "ivan by human_to_human",
        "join on_hold→connected",
        "accept!",
        "ended",
        "end connected→ended",
    ];
    assert_eq!(told[after_hold + 1..], expected);
    let read = ok(&desk.operator, Call::get(desk.path("/messages"))).await;
    let parts: Vec<_> = read["items"].as_array().expect("a page").iter().map(part).collect();
    let id = transfer["transfer_id"].as_str().expect("an id");
    let expected = [
        format!("requested warm {id}-0 #1"),
        format!("connected warm {id}-0 #2"),
        format!("connected human_to_human {id}-1 #3"),
        "ended human_to_human - #4".to_owned(),
    ];
    assert_eq!(parts, expected);
}

/// An `agent-transfer` in a few words.
fn part(line: &Value) -> String {
    let part = &line["parts"][0];
    assert_eq!(part["type"], "agent-transfer", "{line}");
    let text = |name: &str| part[name].as_str().unwrap_or("-").to_owned();
    let number = text("id").rsplit('-').next().expect("a number").to_owned();
    format!("{} {} {} #{number}", text("status"), text("transferType"), text("bundleId"))
}

/// If a graph asked for the person, members see by which rule.
#[tokio::test]
async fn a_graph_that_asked_is_named_to_those_inside() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let graph = json!({ "entry": "triage", "nodes": [
        { "id": "triage", "kind": "router", "default": "general", "rules": [
            { "goto": "human", "reason": "asks for one", "keywords": { "any": ["human"] } }
        ] },
        { "id": "general", "kind": "specialist", "agent": "bob" }
    ] });
    ok(&desk.operator, Call::put("/v1/agents/bob", json!({ "kind": "worker" }))).await;
    ok(&desk.operator, Call::put("/v1/graphs/support", graph)).await;
    let opened =
        ok(&desk.bob, Call::post("/v1/conversations", json!({ "graph": "support" }))).await;
    let text = |name: &str| opened[name].as_str().expect("text").to_owned();
    let (conversation, token) = (text("conversation_id"), text("customer_token"));
    let customer = desk.server.with_token(&token);
    let desk = Desk { conversation, customer, ..desk };
    desk.say(&desk.customer, "a human please", None).await;
    ok(&desk.customer, Call::post(desk.path("/close"), json!({}))).await;

    let root = desk.server.token("root", &["--kind", "operator"]);
    let told = told_until(&mut following(&desk, &root).await, "conversation.closed").await;
    let asked = told.iter().find(|frame| frame["status"] == "requested").expect("told");
    assert_eq!(asked["routeDecision"]["to"], "human", "{asked}");
    assert_eq!(asked["graphPath"], json!(["triage"]), "{asked}");
    let read = ok(&desk.operator, Call::get(desk.path("/messages"))).await;
    let part = &read["items"][1]["parts"][0];
    assert_eq!(part["routeDecision"], asked["routeDecision"], "{read}");
    let told = told_until(&mut following(&desk, &token).await, "conversation.closed").await;
    let read = ok(&desk.customer, Call::get(desk.path("/messages"))).await;
    for shown in [json!(told), read] {
        assert!(!shown.to_string().contains("triage"), "{shown}");
    }
}

fn is_news(frame: &Value) -> bool {
    frame["type"] == "queue_changed"
}

async fn news_until_the_end(socket: &mut Socket) -> Vec<Value> {
    let mut told = Vec::new();
    while in_words(&told).last().is_none_or(|last| last != "default: cancelled") {
        told.push(socket.told().await);
    }
    told.retain(is_news);
    told
}

/// The people of a queue see its changes live; no other agent is told.
#[tokio::test]
async fn people_see_their_queues_live() {
    let desk = Desk::open(json!({ "mode": "pick", "wanted": { "team": "billing" } })).await;
    let into = async |name: &str, team: &str| {
        let profile = json!({ "name": name, "team": team });
        let agent = json!({ "kind": "human", "profile": profile });
        ok(&desk.operator, Call::put(format!("/v1/agents/{name}"), agent)).await
    };
    let hana = desk.person("hana").await;
    let _ivan = desk.person("ivan").await;
    into("hana", "billing").await;
    let mut sockets = Vec::new();
    for (name, more) in [("hana", &[][..]), ("ivan", &[]), ("bob", &[])] {
        let mut socket = Socket::open(&desk.server, &desk.server.token(name, more)).await;
        socket.ok(json!({ "do": "subscribe" })).await;
        sockets.push(socket);
    }
    let mut stream = Stream::open(&hana, "/v1/events", None).await;
    desk.say(&desk.customer, "hush, my bill", None).await;
    let transfer = desk.request(&desk.customer, json!({ "reason": "hush" })).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2 })).await;
    act(&hana, &transfer, "decline", json!({ "epoch": 2 })).await;
    // From here on it is Ivan's queue too.
    into("ivan", "billing").await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    act(&hana, &transfer, "hold", json!({ "epoch": 3 })).await;
    act(&hana, &transfer, "complete", json!({ "epoch": 3 })).await;
    let (other, customer) = crate::transfers::open(&desk.server, &desk.bob).await;
    let path = format!("/v1/conversations/{other}/transfers");
    let second = ok(&customer, Call::post(path, json!({ "reason": "hush" }))).await;
    act(&customer, &second, "cancel", json!({})).await;

    let [of_hana, of_ivan, of_bob] = &mut sockets[..] else { unreachable!("there are three") };
    let told = news_until_the_end(of_hana).await;
    let first = ["queued", "ringing", "queued"];
    let then = ["ringing", "connected", "completed", "queued", "cancelled"];
    let all: Vec<_> =
        first.iter().chain(&then).map(|status| format!("default: {status}")).collect();
    assert_eq!(in_words(&told), all);
    assert!(!json!(told).to_string().contains("hush"), "{told:?}");
    // What a pickup needs is as it was when the frame was made.
    let mut first = told[0].clone();
    let fields = first.as_object_mut().expect("a frame");
    fields.retain(|name, _| !["epoch", "priority", "waitingSince"].contains(&name.as_str()));
    assert_eq!(
        first,
        json!({
            "type": "queue_changed", "of": "1", "queue": "default", "status": "queued",
            "transferId": transfer["transfer_id"], "sessionId": desk.conversation,
            "eventId": format!("{}/4", desk.conversation), "timestamp": told[0]["timestamp"],
        })
    );
    assert_eq!(told[1]["targetAgent"]["agentId"], "hana");
    let mut streamed = Vec::new();
    while streamed.len() < all.len() {
        let event = stream.next_entry().await.expect("the stream goes on");
        streamed.extend(words(&event.data).filter(|_| is_news(&event.data)));
    }
    assert_eq!(streamed, all);
    let told = in_words(&news_until_the_end(of_ivan).await);
    assert!(told.len() < all.len() && told.ends_with(&all[3..]), "{told:?}");
    let told = of_bob.all_told().await;
    assert!(!told.iter().any(is_news), "{told:?}");
}

/// A person who was asked in hears the conversation while they advise, and nothing after it.
#[tokio::test]
async fn a_consultation_listens_live() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let ivan = desk.person("ivan").await;
    let transfer = desk.request(&desk.customer, json!({})).await;
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    let consult = json!({ "to": "ivan", "type": "supervisor_consult", "epoch": 3 });
    act(&hana, &transfer, "transfer", consult).await;
    act(&ivan, &transfer, "accept", json!({ "epoch": 3 })).await;
    let mut socket = Socket::open(&desk.server, &desk.server.token("ivan", &[])).await;
    socket.ok(json!({ "do": "subscribe", "conversation": desk.conversation })).await;
    desk.say(&desk.customer, "my bill", None).await;
    let heard = loop {
        let told = socket.told().await;
        if told["event"]["event"] == "conversation.said" {
            break told;
        }
    };
    assert_eq!(heard["event"]["data"]["parts"][0]["text"], "my bill", "{heard}");
    act(&ivan, &transfer, "complete", json!({ "epoch": 3 })).await;
    desk.say(&desk.customer, "a secret", None).await;
    let told = socket.all_told().await;
    assert!(!json!(told).to_string().contains("a secret"), "{told:?}");
}

/// The reason for giving up or ending a transfer is between colleagues.
#[tokio::test]
async fn why_a_transfer_is_over_is_not_for_the_customer() {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let opened = json!({ "agent": "bob" });
    let opened = ok(&desk.bob, Call::post("/v1/conversations", opened)).await;
    let (id, token) = (opened["conversation_id"].clone(), opened["customer_token"].clone());
    let mut socket = Socket::open(&desk.server, token.as_str().expect("a token")).await;
    socket.ok(json!({ "do": "subscribe" })).await;
    let own = desk.server.with_token(token.as_str().expect("a token"));
    for action in ["fail", "cancel"] {
        let path = format!("/v1/conversations/{}/transfers", id.as_str().expect("an id"));
        let transfer = ok(&own, Call::post(path, json!({}))).await;
        act(&desk.operator, &transfer, action, json!({ "reason": "hush, broken" })).await;
    }
    let is_over = |frame: &&Value| frame["type"] == "agent_changed";
    let mut told = Vec::new();
    while told.iter().filter(is_over).count() < 2 {
        told.push(socket.told().await);
    }
    told.extend(socket.all_told().await);
    assert!(!json!(told).to_string().contains("hush"), "{told:?}");
}
