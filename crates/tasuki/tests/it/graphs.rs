//! Graphs over HTTP and on the command line, and the conversations that they route: saved by
//! coordinators, applied to each message of a customer, and visible to one teamspace alone.

use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::server::{Server, ok, refused};
use crate::sse::whole_ledger;
use crate::wire::Request;

fn support() -> Value {
    json!({
        "entry": "triage",
        "signals": { "rules": [
            { "name": "frustrated", "signal": "frustration", "above": 0.7, "turns": 2 }
        ] },
        "nodes": [
            { "id": "triage", "kind": "router", "default": "general", "rules": [
                { "goto": "human", "keywords": { "any": ["human"] } },
                { "goto": "refunds", "reason": "about money", "keywords": { "any": ["refund"] } }
            ] },
            { "id": "general", "kind": "specialist", "agent": "bob" },
            { "id": "refunds", "kind": "specialist", "agent": "carol" }
        ]
    })
}

fn put(graph: &Value) -> Call {
    Call::put("/v1/graphs/support", graph.clone())
}

/// A conversation with the graph, and its participants.
struct Chat {
    id: String,
    customer: Client,
}

impl Chat {
    async fn open(server: &Server, shop: &Client, more: Value) -> Self {
        let mut body = more;
        body["graph"] = json!("support");
        let opened = ok(shop, Call::post("/v1/conversations", body)).await;
        let id = opened["conversation_id"].as_str().expect("an id").to_owned();
        let customer = server.with_token(opened["customer_token"].as_str().expect("a token"));
        Self { id, customer }
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/conversations/{}{rest}", self.id)
    }

    /// The customer's message, and the holder and epoch after it.
    async fn say(&self, text: &str) -> String {
        let body = json!({ "parts": [{ "type": "text", "text": text }] });
        let said = ok(&self.customer, Call::post(self.path("/messages"), body)).await;
        let holder = said["holder"].as_str().expect("a holder");
        format!("#{} {holder}@{}", said["number"], said["epoch"])
    }

    async fn transcript(&self, reader: &Client) -> Vec<Value> {
        let page = ok(reader, Call::get(self.path("/messages"))).await;
        page["items"].as_array().expect("a page").clone()
    }
}

fn operator(server: &Server, teamspace: &str) -> Client {
    let more = ["--kind", "operator", "--teamspace", teamspace];
    server.with_token(&server.token("root", &more))
}

async fn hire(operator: &Client, agents: &[&str]) {
    for agent in agents {
        let call = Call::put(format!("/v1/agents/{agent}"), json!({ "kind": "worker" }));
        ok(operator, call).await;
    }
}

#[tokio::test]
async fn a_graph_is_saved_in_versions_by_those_who_may() {
    let server = Server::start();
    let root = operator(&server, "default");
    let coordinator = server.with_token(&server.token("dora", &["--role", "coordinator"]));
    let bob = server.agent("bob");
    let saved = ok(&coordinator, put(&support())).await;
    assert_eq!((&saved["version"], &saved["n_rules"]), (&json!(1), &json!(2)));
    assert_eq!(saved["document"], support());
    assert_eq!(ok(&root, put(&support())).await["version"], 1, "nothing is new");
    assert_eq!(refused(&bob, put(&support())).await.status, 403);
    let mut changed = support();
    changed["nodes"][0]["rules"][1]["reason"] = json!("a refund");
    let save_as =
        |version: u64| Call::put(format!("/v1/graphs/support?version={version}"), changed.clone());
    let stale = refused(&root, save_as(0)).await;
    assert_eq!((stale.status, &stale.body["code"]), (409, &json!("revision_outdated")));
    assert_eq!(ok(&root, save_as(1)).await["version"], 2);
    let shown = ok(&bob, Call::get("/v1/graphs/support")).await;
    assert_eq!((&shown["version"], &shown["document"]), (&json!(2), &changed));
    let listed = ok(&bob, Call::get("/v1/graphs")).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);

    let remove = || Call::post("/v1/graphs/support/remove", json!({}));
    assert_eq!(refused(&bob, remove()).await.status, 403);
    ok(&coordinator, remove()).await;
    ok(&coordinator, remove()).await;
    assert_eq!(refused(&bob, Call::get("/v1/graphs/support")).await.status, 404);
    assert_eq!(ok(&bob, Call::get("/v1/graphs")).await["items"], json!([]));
    assert_eq!(ok(&root, put(&support())).await["version"], 3);
}

#[tokio::test]
async fn what_is_wrong_with_a_graph_is_named_with_its_rule() {
    let server = Server::start();
    let root = operator(&server, "default");
    let mut wrong = support();
    wrong["nodes"][0]["rules"][1]["goto"] = json!("refund");
    wrong["signals"]["rules"][0]["above"] = json!(7);
    let refusal = refused(&root, put(&wrong)).await;
    assert_eq!((refusal.status, &refusal.body["code"]), (422, &json!("graph_invalid")));
    let problems = refusal.body["problems"].as_array().expect("all of them");
    let fields: Vec<_> = problems.iter().map(|problem| problem["field"].as_str()).collect();
    let expected = ["signals.rules[0].above", "nodes[0].rules[1].goto", "nodes[2]"];
    assert_eq!(fields, expected.map(Some));
    assert_eq!(problems[1]["rule_index"], 1);
    assert_eq!(refusal.body["field"], "signals.rules[0].above");
    for (body, status) in [(json!([]), 422), (json!({}), 422), (json!({ "entry": "a" }), 422)] {
        assert_eq!(refused(&root, put(&body)).await.status, status, "{body}");
    }
    let refusal = refused(&root, Call::put("/v1/graphs/support?version=x", support())).await;
    assert_eq!((refusal.status, &refusal.body["field"]), (422, &json!("version")));
    let refusal = refused(&root, Call::put("/v1/graphs/No", support())).await;
    assert_eq!(refusal.status, 404);
    assert_eq!(ok(&root, Call::get("/v1/graphs")).await["items"], json!([]));
}

#[tokio::test]
async fn each_message_finds_its_agent_and_the_record_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let root = operator(&server, "default");
    let [bob, carol, shop] = ["bob", "carol", "shop"].map(|agent| server.agent(agent));
    ok(&root, put(&support())).await;
    let chat = Chat::open(&server, &shop, json!({})).await;
    assert_eq!(chat.say("hello").await, "#1 bob@1");
    assert_eq!(chat.say("a refund please").await, "#2 carol@2");
    let late =
        json!({ "parts": [{ "type": "text", "text": "Hi!" }], "epoch": 1, "in_reply_to": 1 });
    let late = refused(&bob, Call::post(chat.path("/messages"), late)).await;
    assert_eq!((late.status, &late.body["code"]), (409, &json!("epoch_outdated")));

    let inside = chat.transcript(&carol).await;
    let transfer = &inside[2]["parts"][0];
    assert_eq!(
        (&transfer["transferType"], &transfer["handoffType"]),
        (&json!("bot_to_bot"), &json!("graph"))
    );
    let mut decision = transfer["routeDecision"].clone();
    let took = decision.as_object_mut().expect("an object").remove("latencyMs");
    assert!(took.and_then(|took| took.as_f64()).is_some_and(|took| took >= 0.0), "{transfer}");
    assert_eq!(
        decision,
        json!({ "from": "triage", "to": "refunds", "reason": "about money", "ruleIndex": 1 })
    );
    assert_eq!(transfer["graphPath"], json!(["triage", "refunds"]));
    assert_eq!(transfer["graph"], json!({ "id": "support", "version": 1 }));
    assert_eq!(inside[0]["route"]["outcome"], "stayed");
    let outside = chat.transcript(&chat.customer).await;
    for name in ["routeDecision", "graphPath", "graph"] {
        assert_eq!(outside[2]["parts"][0].get(name), None, "{name} is not for the customer");
    }
    let told = "\u{2068}bob\u{2069} hands the conversation over to \u{2068}carol\u{2069}.";
    assert_eq!(outside[2]["parts"][0]["reason"], told, "why is not for the customer");

    // A version that is saved between two messages.
    let mut changed = support();
    changed["nodes"][0]["rules"][1]["keywords"]["any"] = json!(["parcel"]);
    ok(&root, put(&changed)).await;
    assert_eq!(chat.say("the refund").await, "#4 bob@3");
    assert_eq!(chat.say("the parcel").await, "#6 carol@4");
    assert_eq!(chat.say("a human").await, "#8 carol@4");
    ok(&root, Call::post("/v1/graphs/support/remove", json!({}))).await;
    assert_eq!(chat.say("anybody").await, "#9 carol@4");
    let inside = chat.transcript(&carol).await;
    let told = |index: usize| inside[index]["route"]["outcome"].as_str().unwrap().to_owned();
    assert_eq!([told(7), told(8)], ["nobody_to_ask", "no_graph"]);

    let feed = whole_ledger(&carol, "&kind=conversation").await;
    let feed = format!("{feed:?}");
    assert!(feed.contains("routeDecision") && feed.contains("graphPath"), "{feed}");
    let metrics =
        Request::new("GET /metrics").header("host", b"localhost").send(server.address()).await;
    let metrics = String::from_utf8_lossy(&metrics.bytes);
    for line in [
        "tasuki_graph_turns_to_agents_total 4",
        "tasuki_graph_decision_seconds_count 5",
        "tasuki_graph_decision_seconds_bucket{le=\"+Inf\"} 5",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    assert_eq!(server.stop(), Some(0));
    let mut verify = Command::new(env!("CARGO_BIN_EXE_tasuki"));
    let verified = verify.args(["audit", "verify", "--data"]).arg(&data).output();
    let verified = verified.expect("the executable runs");
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[tokio::test]
async fn how_a_customer_sounds_is_for_agents_to_see() {
    let server = Server::start();
    let root = operator(&server, "default");
    let [bob, _, shop] = ["bob", "carol", "shop"].map(|agent| server.agent(agent));
    ok(&root, put(&support())).await;
    let chat = Chat::open(&server, &shop, json!({ "customer": { "language": "en" } })).await;
    for _ in 0..2 {
        chat.say("This is terrible and unacceptable").await;
    }
    let [first, second] = &chat.transcript(&bob).await[..] else { panic!("two messages") };
    assert_eq!(first["signals"][0]["signal"], "frustration");
    assert!(first["signals"][0]["score"].as_f64().unwrap() > 0.7, "{first}");
    assert_eq!(
        (&first["escalation"], &second["escalation"]["rule"]),
        (&Value::Null, &json!("frustrated"))
    );
    for line in chat.transcript(&chat.customer).await {
        for name in ["signals", "escalation", "route"] {
            assert_eq!(line.get(name), None, "{name} is not for the customer");
        }
    }
}

/// The same name in two teamspaces is two graphs, and each routes its own conversations.
#[tokio::test]
async fn teamspaces_have_graphs_of_their_own() {
    let server = Server::start();
    let mut chats = Vec::new();
    for (teamspace, general) in [("red", "bob"), ("blue", "carol")] {
        let root = operator(&server, teamspace);
        hire(&root, &["bob", "carol"]).await;
        let mut graph = support();
        graph["nodes"][1]["agent"] = json!(general);
        assert_eq!(ok(&root, put(&graph)).await["version"], 1);
        chats.push(Chat::open(&server, &root, json!({ "agent": "bob" })).await);
    }
    assert_eq!(chats[0].say("hello").await, "#1 bob@1");
    assert_eq!(chats[1].say("hello").await, "#1 carol@2");
    let red = operator(&server, "red");
    ok(&red, Call::post("/v1/graphs/support/remove", json!({}))).await;
    assert_eq!(chats[1].say("refund").await, "#3 carol@2");
    let blue = operator(&server, "blue");
    assert_eq!(ok(&blue, Call::get("/v1/graphs/support")).await["version"], 1);
    let green = operator(&server, "green");
    hire(&green, &["bob"]).await;
    let open = json!({ "graph": "support", "agent": "bob" });
    let refusal = refused(&green, Call::post("/v1/conversations", open)).await;
    assert_eq!((refusal.status, &refusal.body["field"]), (422, &json!("graph")));
}

/// Larger than any other body, and still decided at once.
#[tokio::test]
async fn a_graph_may_have_ten_thousand_rules() {
    let server = Server::start();
    let root = operator(&server, "default");
    hire(&root, &["bob", "carol"]).await;
    let mut graph = support();
    let rules = (0..10_000).map(|number| {
        let words = json!({ "any": [format!("word{number} that somebody may type some day")] });
        let reason = "a reason that is long enough to make the document large";
        json!({ "goto": "refunds", "reason": reason, "keywords": words })
    });
    graph["nodes"][0]["rules"].as_array_mut().unwrap().extend(rules);
    assert!(graph.to_string().len() > 1024 * 1024);
    ok(&root, put(&graph)).await;
    let chat = Chat::open(&server, &root, json!({})).await;
    assert_eq!(chat.say("Word9999 that somebody may type some day?").await, "#1 carol@2");
    let shown = ok(&root, Call::get("/v1/graphs/support")).await;
    let decided = json!([{ "router": "triage", "rule_index": 10_001, "n_turns": 1 }]);
    assert_eq!(shown["decisions"], decided);
}

#[tokio::test]
async fn graphs_are_saved_and_shown_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("graph.json");
    std::fs::write(&file, support().to_string()).unwrap();
    let file = file.to_str().expect("a plain name");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tasuki"));
        command.args(arguments).arg("--data").arg(folder.path().join("data"));
        let output = command.env_remove("TASUKI_TOKEN").output().expect("the executable runs");
        let text = |bytes| String::from_utf8(bytes).expect("the command line prints text");
        (output.status.code().expect("it ended"), text(output.stdout) + &text(output.stderr))
    };
    for agent in ["bob", "carol"] {
        assert_eq!(run(&["agent", "register", agent, "--init"]).0, 0);
    }
    assert_eq!(run(&["graph", "save", "support", file]), (0, "support: version 1\n".to_owned()));
    let (code, shown) = run(&["graph", "show", "support"]);
    assert_eq!((code, serde_json::from_str::<Value>(&shown).unwrap()), (0, support()));
    let (code, listed) = run(&["graph", "list"]);
    assert!(code == 0 && listed.contains("support"), "{listed}");
    let (code, stale) = run(&["graph", "save", "support", file, "--version", "7"]);
    assert!(code == 3 && stale.contains("expected 1, the current one"), "{code} {stale}");
    std::fs::write(file, r#"{ "entry": "a", "nodes": [] }"#).unwrap();
    let (code, wrong) = run(&["graph", "save", "support", file]);
    assert!(code == 1 && wrong.contains("unknown_node  entry"), "{code} {wrong}");
    assert_eq!(run(&["graph", "remove", "support"]), (0, "support: removed\n".to_owned()));
    assert_eq!(run(&["graph", "show", "support"]).0, 3);
}

#[tokio::test]
async fn a_costly_graph_is_refused_or_cut_short() {
    let server = Server::start();
    let root = operator(&server, "default");
    hire(&root, &["bob", "carol", "shop"]).await;
    let costly = |n_rules: usize| {
        let rule = json!({ "goto": "refunds", "regex": "[ab]*a[ab]{900}c" });
        let mut graph = support();
        graph["nodes"][0]["rules"] = json!(vec![rule; n_rules]);
        graph
    };
    let refusal = refused(&root, put(&costly(256))).await;
    assert_eq!((refusal.status, &refusal.body["code"]), (422, &json!("graph_invalid")));
    let problem = &refusal.body["problems"][0];
    assert_eq!((&problem["code"], &problem["node"]), (&json!("too_large"), &json!("triage")));

    ok(&root, put(&costly(30))).await;
    let shop = server.agent("shop");
    let chat = Chat::open(&server, &shop, json!({})).await;
    // Without a pattern: a pattern would be recognised, and matched fast.
    let letter =
        |number: u64| if number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0 { 'a' } else { 'b' };
    let mixed = |number: u64| letter(number ^ (number >> 3).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    let holder = chat.say(&(0..8_192).map(mixed).collect::<String>()).await;
    assert_eq!(holder, "#1 bob@1", "the default of the graph");
    let decided = &chat.transcript(&shop).await[0];
    let reason = &decided["route"]["routeDecision"]["reason"];
    assert_eq!(reason, "the time for matching the rules was spent", "{decided:#}");
}
