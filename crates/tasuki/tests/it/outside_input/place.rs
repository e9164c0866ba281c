//! A server without a network, in this process: a panic in a handler is a panic of the test.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use gateways::http::CODES;
use gateways::listen::Peer;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};
use tasuki::client::{Call, Client, Identity};
use tasuki::config::Config;
use tasuki::node::Node;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tower::ServiceExt;

use crate::server::{act, initiate, offer, ok};
use crate::wire::{Answer, Request};

#[derive(Debug)]
pub struct Place {
    runtime: Runtime,
    node: Node,
    tokens: BTreeMap<&'static str, String>,
    ids: BTreeMap<&'static str, String>,
    n_tasks: AtomicUsize,
    n_refused: AtomicUsize,
    n_done: AtomicUsize,
    _stop: tokio::sync::watch::Sender<bool>,
    _folder: TempDir,
}

/// How requests were answered. Requests that could not be built are in neither.
#[derive(Debug, Clone, Copy)]
pub struct Tally {
    pub n_refused: usize,
    pub n_done: usize,
}

impl Place {
    pub fn open() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let runtime = Runtime::new().expect("a runtime");
        let trusted_proxies = vec!["192.0.2.0/24".to_owned(), "127.0.0.1".to_owned()];
        let data = folder.path().join("data");
        let config = Config { data, trusted_proxies, ..Config::default() };
        let (stop, stopping) = tokio::sync::watch::channel(false);
        let node = {
            let _inside = runtime.enter();
            Node::start(&config, stopping).expect("a new folder can be opened")
        };
        let mut place = Self {
            runtime,
            node,
            tokens: BTreeMap::new(),
            ids: BTreeMap::new(),
            n_tasks: AtomicUsize::new(0),
            n_refused: AtomicUsize::new(0),
            n_done: AtomicUsize::new(0),
            _stop: stop,
            _folder: folder,
        };
        place.fill();
        place
    }

    fn fill(&mut self) {
        let root = Client::in_process(self.node.router.clone());
        let acting = |agent: &str| {
            let act_as = Some(agent.to_owned());
            root.clone().with_identity(Identity { act_as, ..Identity::default() })
        };
        let (alice, bob) = (acting("alice"), acting("bob"));
        let bearers = [
            ("alice", "worker"),
            ("bob", "worker"),
            ("customer", "customer"),
            ("operator", "operator"),
        ];
        let (tokens, ids) = (&mut self.tokens, &mut self.ids);
        self.runtime.block_on(async {
            for (name, kind) in bearers {
                let body = json!({ "agent": name, "kind": kind });
                let issued = ok(&root, Call::post("/v1/tokens", body)).await;
                tokens.insert(name, issued["token"].as_str().expect("a token").to_owned());
            }
            let router = json!({ "kind": "system" });
            ok(&root, Call::put("/v1/agents/router", router)).await;
            let drafts = Call::post("/v1/handoffs/drafts", offer("DRAFT", "bob"));
            let draft = ok(&alice, drafts).await;
            ids.insert("draft", draft["handoff_id"].as_str().expect("an id").to_owned());
            ids.insert("proposed", initiate(&alice, "PROPOSED", "bob").await);
            let closed = initiate(&alice, "CLOSED", "bob").await;
            act(&bob, &closed, "reject", json!({ "reason": "other", "detail": "no" })).await;
            act(&bob, &closed, "close", json!({})).await;
            ids.insert("closed", closed);
        });
    }

    pub fn id(&self, name: &str) -> &str {
        &self.ids[name]
    }

    pub fn new_task(&self) -> String {
        format!("T-{}", self.n_tasks.fetch_add(1, Ordering::Relaxed))
    }

    pub fn request(&self, caller: &str, line: &str) -> Request {
        let mut line = line.to_owned();
        for (name, id) in &self.ids {
            line = line.replace(&format!("{{{name}}}"), id);
        }
        Request::new(&line).token(&self.tokens[caller])
    }

    pub fn tally(&self) -> Tally {
        let read = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        Tally { n_refused: read(&self.n_refused), n_done: read(&self.n_done) }
    }

    /// Sends a request, and checks the answer against the invariants.
    pub fn answer(&self, request: &Request) -> Result<(), TestCaseError> {
        // A request that cannot be built is never sent.
        let Ok(built) = request.build() else { return Ok(()) };
        let mut built = built.map(Body::new);
        built.extensions_mut().insert(Peer::Remote([127, 0, 0, 1].into()));
        let newest =
            || self.runtime.block_on(self.node.engine.ledger().newest()).expect("a sound store");
        // The server's notices of an earlier request are not an effect of this one.
        self.runtime.block_on(self.node.engine.send_due_notices()).expect("a sound store");
        let before = newest();
        let answer = self.runtime.block_on(async {
            let response = self.node.router.clone().oneshot(built).await.expect("an answer");
            let is_stream = response
                .headers()
                .get("content-type")
                .is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
            let response = if is_stream { response.map(|_| Body::empty()) } else { response };
            Answer::read(response).await
        });
        let n_new = newest() - before;
        prop_assert!(answer.status < 500, "{}: {:?}", answer.status, answer.json());
        if answer.status < 300 {
            self.n_done.fetch_add(1, Ordering::Relaxed);
            let is_reading = matches!(request.method.as_str(), "GET" | "HEAD");
            prop_assert!(n_new == 0 || !is_reading, "reading added {n_new} entries");
        } else {
            self.n_refused.fetch_add(1, Ordering::Relaxed);
            let is_recorded = is_verdict(request, &answer);
            prop_assert!(n_new == 0 || is_recorded, "a refusal added {n_new} entries");
            check_refusal(request, &answer)?;
        }
        Ok(())
    }
}

/// The gate's finding on artifacts is a refusal that is on the record.
fn is_verdict(request: &Request, answer: &Answer) -> bool {
    let path = request.path.split('?').next().unwrap_or_default();
    let asks_gate =
        ["/accept", "/complete", "/v1/acp/handoff"].iter().any(|end| path.ends_with(end));
    let body: Value = if asks_gate { answer.json() } else { Value::Null };
    let code = body["code"].as_str().or(body["error"]["code"].as_str()).unwrap_or_default();
    ["missing_artifact", "hash_mismatch", "policy_violation"].contains(&code)
}

/// A refusal gives the reason, in the shape of its protocol and with a documented code.
fn check_refusal(request: &Request, answer: &Answer) -> Result<(), TestCaseError> {
    if request.method == "HEAD" {
        return Ok(());
    }
    let body: Value = answer.json();
    let is_acp = request.path.split('?').next() == Some("/v1/acp/handoff");
    let error = if is_acp { &body["error"] } else { &body };
    let code = error["code"].as_str().unwrap_or_default();
    let status = CODES.iter().find(|(known, _)| *known == code).map(|(_, status)| *status);
    prop_assert_eq!(status, Some(answer.status), "{} is not documented so: {}", code, body);
    let detail = error["detail"].as_str().unwrap_or_default();
    prop_assert!(!detail.is_empty(), "no detail: {}", body);
    let is_harmless = !detail.chars().any(protocol::json::is_forbidden);
    prop_assert!(is_harmless, "the detail repeats what is forbidden: {:?}", detail);
    Ok(())
}

#[test]
fn an_answer_that_breaks_the_promise_is_noticed() {
    let request = Request::new("POST /v1/handoffs");
    let answer = |status: u16, body: Value| Answer {
        status,
        headers: axum::http::HeaderMap::new(),
        bytes: body.to_string().into(),
    };
    let good = json!({ "code": "wrong_state", "detail": "no" });
    check_refusal(&request, &answer(409, good.clone())).unwrap();
    let cases = [
        answer(422, good),
        answer(409, json!({ "code": "teapot", "detail": "no" })),
        answer(409, json!({ "code": "wrong_state", "detail": "" })),
        answer(409, json!({ "code": "wrong_state", "detail": "\u{1b}[2J" })),
        answer(409, json!("wrong_state")),
    ];
    for bad in cases {
        check_refusal(&request, &bad).unwrap_err();
    }
}
