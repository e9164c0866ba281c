//! The fuzz targets of the gateway, as bounded property tests: random bodies, headers, queries and
//! paths. For any input, the answer is not a server error, a refusal has a documented code, and the
//! ledger grows only with a success.

mod mutation;
mod place;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value, json};

use self::mutation::{any_json, mutations};
use self::place::{Place, Tally};
use crate::server::{is_full_run, offer, seed};
use crate::wire::Request;

/// The write operations, each with a valid body. `{…}` stands for an existing handoff.
const WRITES: [&str; 14] = [
    "POST /v1/handoffs",
    "POST /v1/handoffs/drafts",
    "PUT /v1/handoffs/{draft}/draft",
    "POST /v1/handoffs/{draft}/initiate",
    "POST /v1/handoffs/{proposed}/accept",
    "POST /v1/handoffs/{proposed}/reject",
    "POST /v1/handoffs/{proposed}/activate",
    "POST /v1/handoffs/{proposed}/complete",
    "POST /v1/handoffs/{proposed}/close",
    "POST /v1/handoffs/{closed}/erase",
    "POST /v1/acp/handoff",
    "PUT /v1/agents/newcomer",
    "POST /v1/tokens",
    "POST /v1/tokens/01938c2e-0000-7000-8000-000000000001/revoke",
];

const READS: [&str; 10] = [
    "/v1/handoffs",
    "/v1/handoffs/{proposed}",
    "/v1/handoffs/{proposed}/history",
    "/v1/events",
    "/v1/agents",
    "/v1/agents/alice",
    "/v1/tokens",
    "/readyz",
    "/metrics",
    "/openapi.json",
];

const CALLERS: [&str; 4] = ["alice", "bob", "operator", "customer"];

#[test]
fn changed_bodies() {
    let strategy = (writes(), select(CALLERS.to_vec()), 0..8usize, mutations());
    let tally = check("changed_bodies", strategy, |place, (line, caller, action, mutations)| {
        let body = mutation::apply(good_body(line, action, place), &mutations);
        place.request(caller, line).json(&body)
    });
    assert!(tally.n_done > 0, "{tally:?}");
}

/// Any of them, more often those that can succeed repeatedly.
fn writes() -> impl Strategy<Value = &'static str> {
    let always = ["POST /v1/handoffs", "POST /v1/handoffs/drafts", "POST /v1/acp/handoff"];
    prop_oneof![select(always.to_vec()), select(WRITES.to_vec())]
}

/// An invalid body, or a valid one with a few bytes changed.
#[derive(Debug, Clone)]
enum Garbage {
    Bytes(Vec<u8>),
    Flips(Vec<(usize, u8)>),
}

#[test]
fn bodies_of_any_bytes() {
    let alphabet = b"{}[]\",:0123456789.eE+-\\u truefalsnl\x00\xff".to_vec();
    let garbage = prop_oneof![
        vec(any::<u8>(), 0..200).prop_map(Garbage::Bytes),
        vec(select(alphabet), 0..60).prop_map(Garbage::Bytes),
        any_json().prop_map(|value| Garbage::Bytes(value.to_string().into_bytes())),
        vec((any::<usize>(), any::<u8>()), 0..3).prop_map(Garbage::Flips),
        vec((any::<usize>(), b'a'..=b'z'), 0..2).prop_map(Garbage::Flips),
    ];
    let strategy = (writes(), select(CALLERS.to_vec()), garbage);
    let tally = check("bodies_of_any_bytes", strategy, |place, (line, caller, garbage)| {
        let mut request = place.request(caller, line).json(&good_body(line, 1, place));
        match garbage {
            Garbage::Bytes(bytes) => request.body = bytes,
            Garbage::Flips(flips) => {
                for (at, byte) in flips {
                    let at = at % request.body.len();
                    request.body[at] = byte;
                }
            }
        }
        request
    });
    assert!(tally.n_done > 0, "{tally:?}");
}

#[test]
fn headers_of_any_text() {
    let name = prop_oneof![
        select(vec![
            "authorization",
            "content-type",
            "idempotency-key",
            "last-event-id",
            "tasuki-session",
            "tasuki-act-as",
            "tasuki-teamspace",
            "traceparent",
            "x-forwarded-for",
            "forwarded",
            "accept",
            "expect",
        ])
        .prop_map(str::to_owned),
        "[a-z][a-z0-9-]{0,20}",
    ];
    let visible = prop_oneof![Just(b'\t'), 0x20..0x7fu8, 0x80..0xffu8];
    let value = prop_oneof![
        vec(visible, 0..300),
        "(Bearer|Basic|bearer) ?(tasuki_)?[0-9a-f]{0,70}".prop_map(String::into_bytes),
        "[0-9]{0,25}".prop_map(String::into_bytes),
        "00-[0-9a-f]{30,34}-[0-9a-f]{15,17}-[0-9a-f]{0,3}".prop_map(String::into_bytes),
    ];
    let reads = READS.map(|path| format!("GET {path}"));
    let lines: Vec<_> = WRITES.iter().map(|line| (*line).to_owned()).chain(reads).collect();
    let tally = check(
        "headers_of_any_text",
        (select(lines), vec((name, value), 1..5)),
        |place, (line, headers)| {
            let mut request = place.request("alice", &line);
            if !line.starts_with("GET") {
                request = request.json(&good_body(&line, 0, place));
            }
            headers
                .into_iter()
                .fold(request, |request, (name, value)| request.header(&name, &value))
        },
    );
    assert!(tally.n_done > 0, "{tally:?}");
}

#[test]
fn queries_of_any_text() {
    let name = select(vec![
        "limit",
        "cursor",
        "status",
        "task_id",
        "from_agent",
        "to_agent",
        "stream",
        "kind",
        "agent",
        "after",
        "other",
        "",
        "%",
    ]);
    let value = prop_oneof![
        "[!-~&&[^#]]{0,40}",
        "[0-9]{0,25}",
        "(handoff|agent|token)/[0-9a-f-]{0,40}",
        "(%[0-9a-fA-F]{2}){0,12}",
        any::<i64>().prop_map(|number| number.to_string()),
    ];
    let query = vec((name, value), 0..5);
    let tally =
        check("queries_of_any_text", (select(READS.to_vec()), query), |place, (path, query)| {
            let query: Vec<_> =
                query.iter().map(|(name, value)| format!("{name}={value}")).collect();
            place.request("operator", &format!("GET {path}?{}", query.join("&")))
        });
    assert!(tally.n_done > 0, "{tally:?}");
}

#[test]
fn paths_of_any_text() {
    let step = prop_oneof![
        select(vec![
            "v1",
            "handoffs",
            "drafts",
            "accept",
            "history",
            "agents",
            "tokens",
            "revoke",
            "events",
            "acp",
            "handoff",
            "erase",
            "alice",
            "{proposed}",
            "{draft}",
            "",
            ".",
            "..",
            "%2e%2e",
            "%00",
            "%ff",
        ])
        .prop_map(str::to_owned),
        "[a-zA-Z0-9._~!$&'()*+,;=:@-]{0,70}",
        "(%[0-9a-fA-F]{2}){1,8}",
    ];
    let method = prop_oneof![
        Just("GET"),
        select(vec!["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "X"]),
    ];
    let known = ["", "/v1", "/v1/handoffs", "/v1/handoffs/{proposed}", "/v1/agents", "/v1/tokens"];
    let strategy = (method, select(known.to_vec()), vec(step, 0..4));
    let tally = check("paths_of_any_text", strategy, |place, (method, known, steps)| {
        let steps: String = steps.iter().map(|step| format!("/{step}")).collect();
        place.request("alice", &format!("{method} {known}{steps}"))
    });
    assert!(tally.n_done > 0, "{tally:?}");
}

/// Sends requests with random values and checks each answer; some must be refused.
fn check<S: Strategy>(
    name: &str,
    strategy: S,
    request_of: impl Fn(&Place, S::Value) -> Request,
) -> Tally {
    let place = Place::open();
    let cases = if is_full_run() { 4_096 } else { 256 };
    let rng_seed = RngSeed::Fixed(seed(name));
    let config = Config { cases, failure_persistence: None, rng_seed, ..Config::default() };
    let result =
        TestRunner::new(config).run(&strategy, |value| place.answer(&request_of(&place, value)));
    if let Err(error) = result {
        panic!("{error}");
    }
    let tally = place.tally();
    println!("{cases} cases: {tally:?}");
    assert!(tally.n_refused > 0, "{tally:?}");
    tally
}

fn good_body(line: &str, action: usize, place: &Place) -> Value {
    let path = line.rsplit('/').next().unwrap_or_default();
    match path {
        "handoffs" | "drafts" | "draft" | "initiate" => offer(&place.new_task(), "bob"),
        "reject" => json!({ "reason": "other", "detail": "no", "suggested_fix": "x" }),
        "accept" => json!({ "notes": "x" }),
        "activate" => json!({ "work_state_update": { "percent_complete": 50 } }),
        "complete" => {
            let reference = json!({ "type": "file", "path": "/a", "sha256": "0".repeat(64) });
            json!({ "final_artifacts": [{ "artifact_id": "a", "ref": reference }] })
        }
        "close" => json!({ "closure_notes": "x" }),
        "erase" => json!({ "position": 1, "reason": "x" }),
        "newcomer" => json!({ "kind": "worker", "profile": { "name": "x", "languages": ["en"] } }),
        "tokens" => json!({ "agent": "newcomer", "kind": "worker", "roles": ["reviewer"] }),
        "handoff" => {
            let actions =
                ["draft", "initiate", "accept", "reject", "activate", "complete", "close", "query"];
            let action = actions[action % actions.len()];
            let mut body = match action {
                "query" => json!({ "status": "proposed", "limit": 5 }),
                action => good_body(&format!("/{action}"), 0, place),
            };
            body["action"] = action.into();
            if !matches!(action, "query" | "initiate" | "draft") {
                body["handoff_id"] = place.id("proposed").into();
            }
            body
        }
        _ => json!({}),
    }
}
