//! Managing teamspaces, over HTTP and on the command line: created by the operator of the server,
//! configured by their own operators, and invisible to one another.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tasuki::client::Call;

use crate::server::{Server, initiate, offer, ok, refused};

/// The output of a command, and its exit code.
fn tasuki(data: &Path, arguments: &[&str]) -> (String, String, i32) {
    let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(arguments)
        .arg("--data")
        .arg(data)
        .env_remove("TASUKI_TOKEN")
        .output()
        .expect("the executable runs");
    let text = |bytes| String::from_utf8(bytes).expect("the command line prints text");
    let code = output.status.code().expect("it was not killed");
    (text(output.stdout), text(output.stderr), code)
}

fn printed(data: &Path, arguments: &[&str]) -> String {
    let (stdout, stderr, code) = tasuki(data, arguments);
    assert_eq!(code, 0, "{arguments:?}: {stderr}");
    stdout.trim().to_owned()
}

#[tokio::test]
async fn a_limit_of_the_teamspace_holds_for_what_is_proposed_later() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let alice = server.token("alice", &[]);
    let root = server.token("root", &["--kind", "operator"]);
    server.agent("bob");
    let operator = server.with_token(&root);
    let sender = server.with_token(&alice);
    let fresh = ok(&sender, Call::get("/v1/teamspace")).await;
    assert_eq!((&fresh["revision"], &fresh["settings"]), (&json!(0), &json!({})));
    assert_eq!(fresh["in_effect"]["sla"]["proposed"], "5m");
    let before = initiate(&sender, "T-1", "bob").await;

    let body = json!({
        "name": "Payments", "description": "Charges nobody twice", "revision": 0,
        "settings": { "sla": { "proposed": "20m" }, "verifier_required": true },
    });
    let set = ok(&operator, Call::put("/v1/teamspace", body.clone())).await;
    assert_eq!((&set["revision"], &set["name"]), (&json!(1), &json!("Payments")));
    assert_eq!(set["in_effect"]["sla"]["proposed"], "20m");
    assert_eq!(set["in_effect"]["sla"]["activated"], "24h");
    let stale = refused(&operator, Call::put("/v1/teamspace", body)).await;
    assert_eq!((stale.status, &stale.body["code"]), (409, &json!("revision_outdated")));
    assert_eq!((&stale.body["field"], &stale.body["revision"]), (&json!("revision"), &json!(1)));
    let after = initiate(&sender, "T-2", "bob").await;
    let mut own = offer("T-3", "bob");
    own["sla"] = json!({ "proposed": "1m", "warn_percent": 50 });
    let own = ok(&sender, Call::post("/v1/handoffs", own)).await;
    let own = own["handoff_id"].as_str().unwrap().to_owned();

    // A restart keeps all of it.
    assert_eq!(server.stop(), Some(0));
    let server = Server::start_on(&data, |_| {});
    let operator = server.with_token(&root);
    let shown = ok(&operator, Call::get("/v1/teamspace")).await;
    assert_eq!(shown, set);
    let last = initiate(&server.with_token(&alice), "T-4", "bob").await;
    for (id, minutes) in [(before, 5), (after, 20), (own, 1), (last, 20)] {
        let shown = ok(&operator, Call::get(format!("/v1/handoffs/{id}"))).await;
        let time = |name: &str| shown[name].as_str().unwrap().parse::<protocol::time::Time>();
        let span = time("due_at").unwrap().since(time("initiated_at").unwrap());
        assert_eq!(span.as_millis(), minutes * 60_000, "{shown}");
    }
}

#[tokio::test]
async fn bad_settings_are_named_and_change_nothing() {
    let server = Server::start();
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    let long = "x".repeat(2_001);
    let cases = [
        (json!({ "name": "a\nb" }), "name"),
        (json!({ "name": 7 }), "name"),
        (json!({ "description": long }), "description"),
        (json!({ "color": "red" }), "color"),
        (json!({ "settings": { "sla": { "proposed": "0s" } } }), "settings.sla.proposed"),
        (json!({ "settings": { "sla": { "accepted": "soon" } } }), "settings.sla.accepted"),
        (json!({ "settings": { "sla": { "warn_percent": 0 } } }), "settings.sla.warn_percent"),
        (json!({ "settings": { "message_retention_days": 0 } }), "settings.message_retention_days"),
        (json!({ "settings": { "verifier_required": "yes" } }), "settings.verifier_required"),
        (json!({ "revision": -1 }), "revision"),
    ];
    for (body, field) in cases {
        let answer = refused(&operator, Call::put("/v1/teamspace", body.clone())).await;
        assert_eq!((answer.status, &answer.body["field"]), (422, &json!(field)), "{body}");
    }
    let cases = [
        (json!({ "operator": "root" }), "teamspace"),
        (json!({ "teamspace": "../up", "operator": "root" }), "teamspace"),
        (json!({ "teamspace": "Red", "operator": "root" }), "teamspace"),
        (json!({ "teamspace": ".red", "operator": "root" }), "teamspace"),
        (json!({ "teamspace": "red" }), "operator"),
        (json!({ "teamspace": "red", "operator": "a b" }), "operator"),
        (
            json!({ "teamspace": "red", "operator": "root",
                    "settings": { "sla": { "proposed": "0s" } } }),
            "settings.sla.proposed",
        ),
    ];
    for (body, field) in cases {
        let answer = refused(&operator, Call::post("/v1/teamspaces", body.clone())).await;
        assert_eq!((answer.status, &answer.body["field"]), (422, &json!(field)), "{body}");
    }
    assert_eq!(ok(&operator, Call::get("/v1/teamspace")).await["revision"], 0);
    let all = ok(&operator, Call::get("/v1/teamspaces")).await;
    assert_eq!(all["items"], json!([{ "teamspace": "default", "name": "" }]));
    let answer = refused(&operator, Call::get("/v1/teamspaces?cursor=%2e%2e")).await;
    assert_eq!(answer.body["code"], "cursor_invalid");
}

#[tokio::test]
async fn a_new_teamspace_belongs_to_its_operator_alone() {
    let server = Server::start();
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let red = json!({ "teamspace": "red", "operator": "ruth", "name": "Red" });
    let created = ok(&root, Call::post("/v1/teamspaces", red.clone())).await;
    assert_eq!(created["teamspace"], "red");
    let ruth = server.with_token(created["token"].as_str().unwrap());
    assert_eq!(ok(&ruth, Call::get("/v1/teamspace")).await["name"], "Red");
    ok(&ruth, Call::put("/v1/agents/rosa", json!({ "kind": "worker" }))).await;

    // After its creation, its creator has no part in it.
    let again = refused(&root, Call::post("/v1/teamspaces", red)).await;
    assert_eq!((again.status, &again.body["code"]), (409, &json!("already_exists")));
    assert!(!ok(&root, Call::get("/v1/agents")).await.to_string().contains("rosa"));
    let renamed = json!({ "name": "Crimson" });
    ok(&ruth, Call::put("/v1/teamspace", renamed)).await;
    assert_eq!(ok(&root, Call::get("/v1/teamspace")).await["name"], "");
    let feed = crate::sse::whole_ledger(&root, "").await;
    assert!(!format!("{feed:?}").contains("Crimson"));

    // A teamspace that exists without having been created this way belongs to its members.
    server.token("gina", &["--kind", "operator", "--teamspace", "green"]);
    let green = json!({ "teamspace": "green", "operator": "root" });
    let taken = refused(&root, Call::post("/v1/teamspaces", green)).await;
    assert_eq!(taken.body["code"], "already_exists");
    let default = json!({ "teamspace": "default", "operator": "root" });
    let taken = refused(&root, Call::post("/v1/teamspaces", default)).await;
    assert_eq!(taken.body["code"], "already_exists");

    // The names of all are for the operator of the server, in pages.
    let mut names = Vec::new();
    let mut path = "/v1/teamspaces?limit=2".to_owned();
    loop {
        let page = ok(&root, Call::get(&path)).await;
        names.extend(page["items"].as_array().unwrap().iter().map(|one| one["teamspace"].clone()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/teamspaces?limit=2&cursor={next}");
    }
    assert_eq!(names, ["default", "green", "red"]);
    let blue = json!({ "teamspace": "blue", "operator": "ruth" });
    for call in [Call::get("/v1/teamspaces"), Call::post("/v1/teamspaces", blue)] {
        let answer = refused(&ruth, call).await;
        assert_eq!((answer.status, &answer.body["code"]), (403, &json!("not_allowed")));
    }
}

#[tokio::test]
async fn the_command_line_makes_sets_and_shows() {
    let server = Server::start();
    let data = &server.data;
    let token = printed(data, &["teamspace", "create", "red", "--operator", "ruth"]);
    let ruth = server.with_token(&token);
    assert_eq!(ok(&ruth, Call::get("/v1/teamspace")).await["teamspace"], "red");
    let (_, stderr, code) = tasuki(data, &["teamspace", "create", "red", "--operator", "ruth"]);
    assert_eq!((code, stderr.contains("exists already")), (3, true), "{stderr}");
    let (_, stderr, code) = tasuki(data, &["teamspace", "create", "Red", "--operator", "ruth"]);
    assert_eq!((code, stderr.contains("<ID>: ")), (3, true), "{stderr}");
    fn set<'a>(more: &[&'a str]) -> Vec<&'a str> {
        [&["teamspace", "set", "--teamspace", "red"], more].concat()
    }
    let shown = printed(data, &set(&["--name", "Red", "--sla-proposed", "20m"]));
    assert!(shown.contains("20m") && shown.contains("Red"), "{shown}");
    let more = ["--verifier-required", "true", "--message-retention-days", "30"];
    let shown = printed(data, &set(&more));
    for part in ["20m", "15m (default)", "30 days", "Red"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    printed(data, &set(&["--sla-proposed", "default", "--verifier-required", "false"]));
    let left = ok(&ruth, Call::get("/v1/teamspace")).await;
    assert_eq!(left["settings"], json!({ "message_retention_days": 30 }));
    assert_eq!(left["revision"], 4);
    for (more, code, part) in [
        (&["--sla-proposed", "0s"][..], 3, "error: --sla-proposed: expected"),
        (&["--warn-percent", "many"][..], 2, "expected a number"),
        (&[][..], 2, "required"),
    ] {
        let (_, stderr, actual) = tasuki(data, &set(more));
        assert_eq!((actual, stderr.contains(part)), (code, true), "{stderr}");
    }
    let names = printed(data, &["teamspace", "list"]);
    assert!(names.contains("red") && !names.contains("ruth"), "{names}");
    printed(data, &["agent", "register", "rosa", "--teamspace", "red"]);
    let roles = ["agent", "roles", "rosa", "--role", "executor", "--role", "reviewer"];
    printed(data, &[&roles[..], &["--teamspace", "red"]].concat());
    let members = printed(data, &["teamspace", "members", "--teamspace", "red"]);
    assert!(members.contains("rosa") && members.contains("executor, reviewer"), "{members}");
}

#[tokio::test]
async fn every_change_of_roles_is_a_line_of_its_teamspace() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let lead = server.with_token(&server.token("lead", &["--role", "coordinator"]));
    let bob = |profile: Value| json!({ "kind": "worker", "profile": profile });
    ok(&root, Call::put("/v1/agents/bob", bob(json!({})))).await;
    ok(&root, Call::put("/v1/agents/bob", bob(json!({ "name": "Bob" })))).await;
    let give = |roles: Value| Call::put("/v1/agents/bob/roles", json!({ "roles": roles }));
    ok(&lead, give(json!(["executor"]))).await;
    ok(&lead, give(json!(["executor"]))).await;
    ok(&root, give(json!(["reviewer"]))).await;
    server.token("rosa", &["--teamspace", "red"]);
    assert_eq!(server.stop(), Some(0));

    let lines = |teamspace: &str| -> Vec<Value> {
        let path = data.join(format!("teamspaces/{teamspace}/roles/ledger.jsonl"));
        let text = fs::read_to_string(path).expect("the log is there");
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    };
    let story: Vec<_> = lines("default")
        .iter()
        .map(|line| {
            let [event, agent, actor] =
                ["event", "agent", "actor"].map(|name| line[name].as_str().unwrap().to_owned());
            format!("{event} {agent} {} -> {} {actor}", line["before"], line["after"])
        })
        .collect();
    assert_eq!(
        story,
        [
            "member_registered lead [] -> [] operator:local",
            "member_registered bob [] -> [] operator:root",
            r#"roles_changed bob [] -> ["executor"] agent:lead"#,
            r#"roles_changed bob ["executor"] -> ["reviewer"] operator:root"#,
        ]
    );
    let theirs = lines("red");
    assert_eq!((theirs.len(), &theirs[0]["agent"]), (1, &json!("rosa")));

    // Removed files are derived again, line by line.
    let before = lines("default");
    fs::remove_dir_all(data.join("teamspaces/default/roles")).unwrap();
    let server = Server::start_on(&data, |_| {});
    assert_eq!(server.stop(), Some(0));
    assert_eq!(lines("default"), before);
}

#[tokio::test]
async fn an_integrator_assigns_what_is_to_be_merged() {
    let server = Server::start();
    let [alice, _, _] = ["alice", "bob", "carol"].map(|name| server.agent(name));
    let integrator = server.with_token(&server.token("ines", &["--role", "integrator"]));
    let bob = server.agent("bob");
    for (task, kind, expected) in [("T-1", json!("merge"), 201), ("T-2", Value::Null, 409)] {
        let mut proposal = offer(task, "bob");
        if !kind.is_null() {
            proposal["task"]["kind"] = kind.clone();
        }
        let done = ok(&alice, Call::post("/v1/handoffs", proposal)).await;
        let id = done["handoff_id"].as_str().unwrap();
        assert_eq!(
            ok(&bob, Call::get(format!("/v1/handoffs/{id}"))).await["package"]["task"]["kind"],
            kind
        );
        let reject = json!({ "reason": "other", "detail": "no" });
        crate::server::act(&bob, id, "reject", reject).await;
        let answer = integrator.call(Call::post("/v1/handoffs", offer(task, "carol"))).await;
        assert_eq!(answer.unwrap().status, expected, "{task}");
    }
    let mut odd = offer("T-3", "bob");
    odd["task"]["kind"] = json!("party");
    let answer = refused(&alice, Call::post("/v1/handoffs", odd)).await;
    assert_eq!(answer.body["field"], "task.kind");
}
