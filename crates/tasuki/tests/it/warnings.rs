//! Settings that cannot work: refused if they never can, and otherwise saved with warnings that the
//! answer lists and the command line prints.

use serde_json::{Value, json};
use tasuki::client::{Call, Client};

use crate::cli::shell::{split, tasuki};
use crate::server::{Server, offer, ok, refused};

struct Team {
    server: Server,
    operator: Client,
    alice: Client,
}

/// Two workers, a router, a person and two queues.
async fn team() -> Team {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    for (name, kind) in [
        ("bob", "worker"),
        ("carol", "worker"),
        ("router", "system"),
        ("hana", "human"),
        ("default", "queue"),
        ("second", "queue"),
    ] {
        let agent = Call::put(format!("/v1/agents/{name}"), json!({ "kind": kind }));
        ok(&operator, agent).await;
    }
    let alice = server.agent("alice");
    Team { server, operator, alice }
}

fn graph(agent: &str, queue: Option<&str>) -> Value {
    let mut graph =
        json!({ "entry": "a", "nodes": [{ "id": "a", "kind": "specialist", "agent": agent }] });
    if let Some(queue) = queue {
        graph["queue"] = queue.into();
    }
    graph
}

fn lets(customers_name: &str) -> Value {
    let mut graph = graph("bob", None);
    graph["customer_queues"] = json!([customers_name]);
    graph
}

fn overflow(to: &str) -> Value {
    json!({ "patience": { "overflow": [{ "after": "1m", "to": to }] } })
}

fn led(supervisor: &str, worker: &str) -> Value {
    let kind = "supervisor";
    let topology = json!({ "kind": kind, "supervisor": supervisor, "workers": ["bob", worker] });
    json!({ "agent": "bob", "topology": topology })
}

fn swarm(member: &str) -> Value {
    let members = ["bob", member];
    json!({ "topology": { "kind": "swarm", "members": members, "default_agent": "bob" } })
}

/// The field of the refusal, of the warning, or nothing.
#[tokio::test]
async fn what_can_never_work_is_refused_and_what_may_work_later_is_pointed_out() {
    let team = team().await;
    let save = |body| Call::put("/v1/graphs/g", body);
    let set = |body| Call::put("/v1/queues/default", body);
    let open = |body| Call::post("/v1/conversations", body);
    for (call, expected) in [
        (save(graph("bob", None)), "fine"),
        (save(graph("zoe", None)), "warns nodes[0].agent"),
        (save(graph("hana", None)), "refused nodes[0].agent"),
        (save(graph("router", None)), "refused nodes[0].agent"),
        (save(graph("bob", Some("second"))), "fine"),
        (save(graph("bob", Some("night"))), "warns queue"),
        (save(graph("bob", Some("carol"))), "refused queue"),
        (save(lets("second")), "fine"),
        (save(lets("night")), "warns customer_queues[0]"),
        (save(lets("carol")), "refused customer_queues[0]"),
        (open(json!({ "agent": "bob", "customer_queues": ["second"] })), "fine"),
        (open(json!({ "agent": "bob", "customer_queues": ["night"] })), "warns customer_queues[0]"),
        (
            open(json!({ "agent": "bob", "customer_queues": ["hana"] })),
            "refused customer_queues[0]",
        ),
        (set(overflow("second")), "fine"),
        (set(overflow("night")), "warns patience.overflow[0].to"),
        (set(overflow("default")), "refused patience.overflow[0].to"),
        (set(overflow("bob")), "refused patience.overflow[0].to"),
        (set(overflow("hana")), "refused patience.overflow[0].to"),
        (open(led("router", "carol")), "fine"),
        (open(led("carol", "zoe")), "warns topology.workers[1]"),
        (open(led("zoe", "carol")), "warns topology.supervisor"),
        (open(led("hana", "carol")), "refused topology.supervisor"),
        (open(led("default", "carol")), "refused topology.supervisor"),
        (open(led("carol", "hana")), "refused topology.workers[1]"),
        (open(led("carol", "router")), "refused topology.workers[1]"),
        (open(swarm("carol")), "fine"),
        (open(swarm("zoe")), "warns topology.members[1]"),
        (open(swarm("hana")), "refused topology.members[1]"),
    ] {
        let what = format!("{} {:?}", call.path, call.body);
        let answer = team.operator.call(call).await.expect("an answer");
        let shown = match (answer.status, answer.body["warnings"][0]["field"].as_str()) {
            (422, _) => format!("refused {}", answer.body["field"].as_str().unwrap_or_default()),
            (_, Some(field)) => format!("warns {field}"),
            (_, None) => "fine".to_owned(),
        };
        assert_eq!(shown, expected, "{what}: {}", answer.body);
    }
}

#[tokio::test]
async fn a_restriction_that_is_not_enforced_is_pointed_out() {
    let team = team().await;
    let rules = ["agent:zoe", "zoe", "AGENT:zoe", "agent: zoe", "no export to EU"];
    let mut proposed = offer("T-1", "bob");
    proposed["policy"] = json!({ "export_restrictions": rules });
    for path in ["/v1/handoffs", "/v1/handoffs/drafts"] {
        let done = ok(&team.alice, Call::post(path, proposed.clone())).await;
        let warned = done["warnings"].as_array().expect("warnings").iter();
        let fields: Vec<_> = warned.map(|it| it["field"].clone()).collect();
        let at = |index| json!(format!("policy.export_restrictions[{index}]"));
        assert_eq!(fields, [at(1), at(2), at(3), at(4)], "{path}: {done}");
    }
    // A counter-offer as well, also about a target that cannot accept.
    let roles = json!({ "roles": ["reviewer"] });
    let proposed = ok(&team.alice, Call::post("/v1/handoffs", offer("T-2", "bob"))).await;
    let path = |verb: &str| {
        format!("/v1/handoffs/{}/{verb}", proposed["handoff_id"].as_str().expect("an id"))
    };
    let reject =
        json!({ "reason": "capacity_unavailable", "detail": "why", "suggested_fix": "wait" });
    ok(&team.server.agent("bob"), Call::post(path("reject"), reject)).await;
    ok(&team.operator, Call::put("/v1/agents/bob/roles", roles)).await;
    let counter = json!({ "policy": { "export_restrictions": ["team:y"] } });
    let done = ok(&team.alice, Call::post(path("counter"), counter)).await;
    let fields: Vec<_> = done["warnings"].as_array().expect("warnings").iter().collect();
    let fields: Vec<_> = fields.iter().map(|it| it["field"].clone()).collect();
    assert_eq!(fields, ["to_agent", "policy.export_restrictions[0]"], "{done}");
}

#[tokio::test]
async fn a_proposal_to_a_role_that_cannot_accept_is_pointed_out() {
    let team = team().await;
    let roles = |roles: &[&str]| Call::put("/v1/agents/bob/roles", json!({ "roles": roles }));
    let mut tasks = (1..).map(|number| format!("T-{number}"));
    for (has, warns) in [
        (&["reviewer"][..], true),
        (&["coordinator", "researcher"], true),
        (&["reviewer", "executor"], false),
        (&[], false),
    ] {
        ok(&team.operator, roles(has)).await;
        let task = || offer("T", "bob");
        let mut proposed = task();
        proposed["task"]["task_id"] = tasks.next().into();
        let call = || Call {
            key: Some(format!("k-{}", has.join("-"))),
            ..Call::post("/v1/handoffs", proposed.clone())
        };
        let done = ok(&team.alice, call()).await;
        assert_eq!(done["warnings"][0]["field"] == "to_agent", warns, "{has:?}: {done}");
        assert_eq!(ok(&team.alice, call()).await, done, "a retry is answered the same");
        if warns {
            let detail = done["warnings"][0]["detail"].as_str().expect("a text");
            assert!(detail.contains(has[0]), "{detail}");
        }
        let mut acp = task();
        acp["action"] = "initiate".into();
        acp["task"]["task_id"] = tasks.next().into();
        let done = ok(&team.alice, Call::post("/v1/acp/handoff", acp)).await;
        assert_eq!(done["metadata"]["warnings"].is_array(), warns, "{done}");
        let mut tried = task();
        tried["task"]["task_id"] = tasks.next().into();
        let mut in_url = tried.clone();
        in_url["action"] = "initiate".into();
        let in_url = Call::post("/v1/acp/handoff?dry_run=true", in_url);
        let refusal = refused(&team.alice, in_url).await;
        let shown = (refusal.status, &refusal.body["error"]["code"]);
        assert_eq!(shown, (422, &json!("schema_invalid")), "{}", refusal.body);
        let tried = ok(&team.alice, Call::post("/v1/handoffs?dry_run=true", tried)).await;
        let mut remarks = tried["remarks"].as_array().expect("remarks").iter();
        assert_eq!(remarks.any(|remark| remark["field"] == "to_agent"), warns, "{tried}");
    }
    let wrong = json!({ "roles": ["king"] });
    assert_eq!(refused(&team.operator, Call::put("/v1/agents/bob/roles", wrong)).await.status, 422);
}

/// The command line prints warnings beside its output.
#[test]
fn the_command_line_prints_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, body: &Value| {
        std::fs::write(folder.path().join(name), body.to_string()).expect("a file");
    };
    write("graph.json", &graph("zoe", None));
    write("queue.json", &overflow("night"));
    let swarm = swarm("zoe")["topology"].to_string();
    write("swarm.json", &serde_json::from_str(&swarm).expect("JSON"));
    let run = |line: &str| tasuki(folder.path(), &split(line), &[], "");
    for (line, expected) in [
        ("agent register bob --kind worker --init", None),
        ("agent register default --kind queue", None),
        ("queue set --file queue.json", Some("patience.overflow[0].to: no agent `night`")),
        ("graph save support graph.json", Some("nodes[0].agent: no agent `zoe`")),
        ("agent endpoint bob --url http://127.0.0.1:9/", Some("url: it is never called: its URL")),
        ("agent wake bob --url http://127.0.0.1:9/", Some("url: it is never called: its URL")),
        ("conversation open --topology @swarm.json", Some("topology.members[1]: no agent `zoe`")),
    ] {
        let shown = run(line);
        assert_eq!(shown.code, 0, "{line}: {}", shown.stderr);
        let warnings: Vec<_> =
            shown.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
        match expected {
            Some(expected) => {
                assert_eq!(warnings.len(), 1, "{line}: {}", shown.stderr);
                assert!(warnings[0].contains(expected), "{line}: {}", shown.stderr);
            }
            None => assert!(warnings.is_empty(), "{line}: {}", shown.stderr),
        }
    }
}

/// A misspelt field gets a list of all fields, and a missing one is told before the state.
#[tokio::test]
async fn a_wrong_field_is_named_with_all_that_there_are() {
    let team = team().await;
    let proposed = ok(&team.alice, Call::post("/v1/handoffs", offer("T-1", "bob"))).await;
    let id = proposed["handoff_id"].as_str().expect("an id");
    for (body, known) in [
        (json!({ "action": "initiate", "dryRun": true }), "action, dry_run, handoff_id"),
        (json!({ "action": "accept", "handoff_id": id, "why": 1 }), "action, handoff_id"),
    ] {
        let said = refused(&team.alice, Call::post("/v1/acp/handoff", body)).await;
        assert_eq!(said.status, 422, "{said:?}");
        assert!(said.body.to_string().contains(&format!("fields here are {known}")), "{said:?}");
    }
    let path = format!("/v1/handoffs/{id}/initiate");
    let said = refused(&team.alice, Call::post(&path, json!({ "to_agent": "bob" }))).await;
    assert_eq!((said.status, &said.body["code"]), (422, &json!("schema_invalid")), "{said:?}");
    let said = refused(&team.alice, Call::post(&path, json!({}))).await;
    assert_eq!((said.status, &said.body["code"]), (409, &json!("wrong_state")), "{said:?}");
}
