//! Promise 9: bad input gets a clear error that names the field, and changes nothing. A table of
//! refused requests, each asked through the native API and, where it has that form, through ACP.

mod content;
mod conversations;
mod form;
mod grids;
mod messages;
mod questions;
mod row;
mod world;

use serde_json::{Value, json};
use tasuki::client::Call;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use self::row::{Expected, Row};
use self::world::World;
use crate::schemas::inner_words;
use crate::server::{Server, ok, refused};
use crate::wire::{Answer, Request};

/// A table with fewer rows than this has lost some.
const ROWS_MIN: usize = 300;

#[tokio::test]
async fn every_refusal_has_its_code_and_changes_nothing() {
    let world = World::build().await;
    let tables = [
        content::TYPES,
        content::FIELDS,
        content::VALUES,
        content::FACTS,
        content::TRUST,
        form::BODIES,
        form::CALLERS,
        form::PLACES,
        form::MANAGING,
        form::ACP,
        messages::MESSAGES,
        questions::QUESTIONS,
        conversations::CONVERSATIONS,
    ];
    let mut rows: Vec<Row> = tables.iter().flat_map(|table| row::rows(table)).collect();
    rows.extend(
        [grids::STATES, grids::CALLERS, grids::IDS].iter().flat_map(|grid| grids::rows(grid)),
    );
    let before = (world.newest(), world.ledger().await);
    let mut failures = Vec::new();
    let mut n_requests = 0;
    for row in &rows {
        let native = row.native(&world).map(|request| (request, false));
        let acp = row.acp(&world).map(|request| (request, true));
        for (request, is_acp) in native.into_iter().chain(acp) {
            n_requests += 1;
            let answer = request.send(world.server.address()).await;
            let mut wrong = wrong_with(&answer, &row.expected, is_acp);
            if world.newest() != before.0 {
                wrong.push("the ledger grew".to_owned());
            }
            for what in wrong {
                let body = String::from_utf8_lossy(&answer.bytes);
                failures.push(format!("{} ({}): {what}\n    {body}", row.what, request.path));
            }
        }
    }
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), failures.join("\n"));
    assert_eq!((world.newest(), world.ledger().await), before);
    assert!(rows.len() >= ROWS_MIN, "{} rows", rows.len());
    println!("{} refusals, {n_requests} requests, 0 entries", rows.len());
}

/// The faults of an answer.
fn wrong_with(answer: &Answer, expected: &Expected, is_acp: bool) -> Vec<String> {
    let body = answer.json();
    let mut wrong = Vec::new();
    let mut check = |name: &str, actual: Value, wanted: Value| {
        if actual != wanted {
            wrong.push(format!("{name} is {actual}, expected {wanted}"));
        }
    };
    check("status", answer.status.into(), expected.status.into());
    let (kind, error) = if is_acp {
        check("success", body["success"].clone(), false.into());
        let fields = body.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let known = ["success", "handoff_id", "status", "error", "metadata", "waiting_for"];
        check("stray fields", fields.filter(|name| !known.contains(name)).collect(), json!([]));
        ("application/json", body["error"].clone())
    } else {
        check("status of the body", body["status"].clone(), expected.status.into());
        let kind = format!("urn:tasuki:problem:{}", expected.code);
        check("type", body["type"].clone(), kind.into());
        ("application/problem+json", body.clone())
    };
    check("content type", answer.header("content-type").into(), kind.into());
    check("code", error["code"].clone(), expected.code.as_str().into());
    check("www-authenticate", has(answer, "www-authenticate"), (expected.status == 401).into());
    check("allow", has(answer, "allow"), (expected.status == 405).into());
    let detail = error["detail"].as_str().unwrap_or_default();
    check("emptiness of detail", detail.is_empty().into(), false.into());
    check("words of the code", inner_words(detail).into(), Value::Null);
    let field = expected.field.as_deref();
    let stem = field.unwrap_or_default().trim_end_matches('…');
    check("whether detail names the field", detail.contains(stem).into(), true.into());
    match field.and_then(|field| field.strip_suffix('…')) {
        _ if is_acp => {}
        Some(stem) => {
            let begins = body["field"].as_str().is_some_and(|field| field.starts_with(stem));
            check("whether the field begins as expected", begins.into(), true.into());
        }
        None => check("field", body["field"].clone(), field.into()),
    }
    wrong
}

fn has(answer: &Answer, header: &str) -> Value {
    answer.headers.contains_key(header).into()
}

#[tokio::test]
async fn too_many_requests_are_told_when_to_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_LIMITS_REQUESTS_BURST", "3");
        command.env("TASUKI_LIMITS_REQUESTS_PER_SECOND", "1");
    });
    let expected = Expected { status: 429, code: "rate_limited".to_owned(), field: None };
    let cases = [("GET /v1/agents", false), ("POST /v1/acp/handoff", true)];
    for (line, is_acp) in cases {
        // A token of its own: buckets belong to tokens.
        let token = server.token("alice", &[]);
        let ask = Request::new(line).token(&token).json(&json!({ "action": "query" }));
        for _ in 0..3 {
            assert_eq!(ask.send(server.address()).await.status, 200, "{line}");
        }
        let refused = ask.send(server.address()).await;
        assert_eq!(wrong_with(&refused, &expected, is_acp), Vec::<String>::new(), "{line}");
        assert_eq!(refused.header("retry-after"), "1");
    }
}

/// A caller that has used up its share is told when it may write again, and nothing is recorded.
#[tokio::test]
async fn a_quota_that_is_used_up_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_QUOTAS_CUSTOMER_REQUESTS_PER_MINUTE", "2");
        command.env("TASUKI_QUOTAS_MEMBER_KIB_PER_MINUTE", "8");
    });
    let shop = server.agent("shop");
    server.agent("bob");
    let opened = ok(&shop, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
    let id = opened["conversation_id"].as_str().unwrap();
    let customer = server.with_token(opened["customer_token"].as_str().unwrap());
    let path = format!("/v1/conversations/{id}/messages");
    let say = |bytes: usize| {
        let parts = json!({ "parts": [{ "type": "text", "text": "x".repeat(bytes) }] });
        Call::post(path.clone(), parts)
    };
    for _ in 0..2 {
        ok(&customer, say(9)).await;
    }
    let too_many = refused(&customer, say(9)).await;
    let known = |refused: &tasuki::client::Answer| {
        (refused.status, refused.body["code"].clone(), refused.body["field"].clone())
    };
    let expected = |field: &str| (429, json!("quota_reached"), json!(field));
    assert_eq!(known(&too_many), expected("customer_requests_per_minute"));
    let shown = ok(&customer, Call::get(path.clone())).await;
    assert_eq!(shown["items"].as_array().unwrap().len(), 2, "the third was not recorded");
    let too_large = refused(&shop, say(9 * 1024)).await;
    let never = (413, json!("body_too_large"), json!("member_kib_per_minute"));
    assert_eq!(known(&too_large), never, "waiting does not help");
    // It counts, whether or not the shop may speak.
    shop.call(say(5 * 1024)).await.expect("an answer");
    let too_much = refused(&shop, say(5 * 1024)).await;
    assert_eq!(known(&too_much), expected("member_kib_per_minute"));
}

#[tokio::test]
async fn a_request_has_exactly_one_host() {
    let server = Server::start();
    for (version, hosts, status) in [
        ("HTTP/1.1", "", "400"),
        ("HTTP/1.1", "host: a\r\n", "200"),
        ("HTTP/1.1", "host: a\r\nhost: a\r\n", "400"),
        ("HTTP/1.1", "host: a\r\nhost: b\r\n", "400"),
        ("HTTP/1.0", "", "200"),
    ] {
        let mut stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        let request = format!("GET /healthz {version}\r\n{hosts}connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(status), "{version} {hosts:?}: {answer}");
        assert_eq!(answer.contains("host_invalid"), status == "400", "{answer}");
    }
}

/// A proxy that goes by the length takes the rest for the next request, perhaps of another caller.
#[tokio::test]
async fn a_request_has_one_length() {
    let server = Server::start();
    let token = server.token("alice", &[]);
    let with_token = format!("host: a\r\nauthorization: Bearer {token}\r\n");
    let (counted, chunked) = ("content-length: 30\r\n", "transfer-encoding: chunked\r\n");
    let body = "13\r\n{\"description\":\"x\"}\r\n0\r\n\r\n";
    for (path, lengths, is_refused) in [
        ("/v1/agents", [chunked, ""], false),
        ("/v1/agents", [counted, chunked], true),
        ("/v1/agents", [chunked, counted], true),
        ("/v1/acp/handoff", [counted, chunked], true),
        ("/nowhere", [counted, chunked], true),
    ] {
        let mut stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        let before = format!("GET /healthz HTTP/1.1\r\n{with_token}\r\n");
        let request = format!(
            "POST {path} HTTP/1.1\r\n{with_token}content-type: application/json\r\n\
             connection: close\r\n{}\r\n{body}",
            lengths.concat()
        );
        stream.write_all(format!("{before}{request}").as_bytes()).await.unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).await.unwrap();
        let [_, healthy, answer] = answers.split("HTTP/1.1 ").collect::<Vec<_>>()[..] else {
            panic!("expected two answers: {answers}");
        };
        assert!(healthy.starts_with("200 "), "{path} {lengths:?}: {answers}");
        let says_so = answer.starts_with("400 ") && answer.contains("length_ambiguous");
        assert_eq!(says_so, is_refused, "{path} {lengths:?}: {answer}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_LIMITS_BODY_READ_MS", "100");
    });
    let token = server.token("alice", &[]);
    for path in ["/v1/handoffs", "/v1/acp/handoff"] {
        let mut stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: tasuki\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: 100\r\n\r\n{{\"to_"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{path}: {answer}");
        assert!(answer.contains("\"code\":\"request_timeout\""), "{path}: {answer}");
    }
}

#[tokio::test]
async fn a_request_that_is_not_refused_is_noticed() {
    let world = World::build().await;
    let before = world.newest();
    let row = Row::new("alice", "initiate", "409 wrong_state detail");
    let request = row.native(&world).unwrap();
    let answer = request.send(world.server.address()).await;
    let wrong = wrong_with(&answer, &row.expected, false);
    for name in ["status", "type", "content type", "code", "field"] {
        assert!(wrong.iter().any(|line| line.starts_with(name)), "{name}: {wrong:#?}");
    }
    assert_ne!(world.newest(), before);
}
