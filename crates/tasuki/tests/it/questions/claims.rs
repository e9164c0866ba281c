//! Eight workers claim one answered question, again and again. The server is killed meanwhile, and
//! claims expire: at every time one claim is valid, and its idempotency key is always the same.

use std::collections::BTreeMap;
use std::path::Path;

use engine::ports::store::Sequenced;
use futures_util::future::join_all;
use protocol::time::Time;
use serde_json::{Value, json};
use tasuki::client::{Answer, Call, Client};

use super::{Desk, answer, ask, at};
use crate::ledger::{Ledger, audit};
use crate::power_loss::Random;
use crate::server::{Server, is_full_run, ok, seed};

const WORKERS: [&str; 8] = ["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"];

/// The server is killed in this share of the steps, in percent.
const KILLED: usize = 20;

/// The server of the moment, and what happened so far.
struct Story {
    server: Server,
    tokens: Vec<String>,
    n_kills: usize,
    n_repeated: usize,
    n_calls: usize,
}

impl Story {
    fn client(&self, worker: usize) -> Client {
        self.server.with_token(&self.tokens[worker])
    }

    /// All calls at once. The server may be killed meanwhile; then the calls are repeated with
    /// their keys, as a client does that got no answer.
    async fn send(&mut self, calls: Vec<(usize, Call)>, kill_after: Option<u64>) -> Vec<Answer> {
        let keyed: Vec<(usize, Call)> = calls
            .into_iter()
            .map(|(worker, call)| {
                self.n_calls += 1;
                (worker, Call { key: Some(format!("call-{}", self.n_calls)), ..call })
            })
            .collect();
        let sent: Vec<_> = keyed
            .iter()
            .map(|(worker, call)| {
                let (client, call) = (self.client(*worker), call.clone());
                tokio::spawn(async move { client.call(call).await.ok() })
            })
            .collect();
        if let Some(micros) = kill_after {
            std::thread::park_timeout(std::time::Duration::from_micros(micros));
            self.server.kill();
        }
        let answers = join_all(sent).await;
        if kill_after.is_some() {
            self.server = Server::start_on(&self.server.data.clone(), |_| {});
            self.n_kills += 1;
        }
        let mut all = Vec::new();
        for (first, (worker, call)) in answers.into_iter().zip(keyed) {
            let first = first.expect("no call panics");
            let client = self.client(worker);
            // An answer that was given holds: the retry gets the same, unless another worker has
            // claimed it since.
            let is_asked_again = first.is_none() || kill_after.is_some();
            let again = match is_asked_again {
                true => Some(client.call(call).await.expect("the server answers")),
                false => None,
            };
            self.n_repeated += usize::from(first.is_none());
            if let (Some(first), Some(again)) = (&first, &again)
                && first.status == 200
            {
                let is_same = again.status == 200 && again.body["epoch"] == first.body["epoch"];
                let is_over = again.body["code"] == "claim_outdated";
                assert!(is_same || is_over, "{} {}", first.body, again.body);
            }
            all.push(again.or(first).expect("one of them"));
        }
        all
    }
}

fn claims(question: &Value) -> Vec<(usize, Call)> {
    let lease = json!({ "lease": "100ms" });
    (0..WORKERS.len())
        .map(|worker| (worker, Call::post(at(question, "/claim"), lease.clone())))
        .collect()
}

/// The worker whose claim is the last one, with its epoch; the others are told who has it. On a
/// slow machine a lease ends while the calls are on their way; then the next claim has an epoch of
/// its own.
fn winner(answers: &[Answer], key: &str) -> Option<(usize, u64)> {
    let mut won: BTreeMap<u64, usize> = BTreeMap::new();
    for (worker, answer) in answers.iter().enumerate() {
        match answer.status {
            200 => {
                assert_eq!(answer.body["idempotency_key"], key, "{}", answer.body);
                let epoch = answer.body["epoch"].as_u64().expect("an epoch");
                assert_eq!(won.insert(epoch, worker), None, "one claim has an epoch");
            }
            _ => {
                let code = answer.body["code"].as_str().unwrap_or_default();
                let known = ["question_claimed", "claim_outdated"];
                assert!(known.contains(&code), "{}", answer.body);
            }
        }
    }
    won.pop_last().map(|(epoch, worker)| (worker, epoch))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_eight_workers_goes_on_at_a_time() {
    let n_rounds = if is_full_run() { 1_000 } else { 12 };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let desk = Desk::on(Server::start_on(&data, |_| {})).await;
    let Desk { server, .. } = desk;
    let (bot, hana) = (server.token("bot", &[]), server.token("hana", &[]));
    let tokens = WORKERS.map(|name| server.token(name, &[])).to_vec();
    let mut story = Story { server, tokens, n_kills: 0, n_repeated: 0, n_calls: 0 };
    let mut random = Random::from_seed(seed("claims"));
    let mut n_expired = 0;
    for round in 0..n_rounds {
        let (asker, human) = (story.server.with_token(&bot), story.server.with_token(&hana));
        let question =
            json!({ "to": "desk", "text": format!("Go on? {round}"), "workers": WORKERS });
        let question = ask(&asker, question).await;
        ok(&human, answer(&question, "approve")).await;
        let id = question["question_id"].as_str().expect("an id");
        n_expired += one_round(&mut story, &mut random, &question, &format!("question-{id}")).await;
        let asker = story.server.with_token(&bot);
        check_history(&ok(&asker, Call::get(at(&question, ""))).await);
    }
    let Story { server, n_kills, n_repeated, .. } = story;
    println!(
        "{n_rounds} rounds, {n_kills} kills, {n_repeated} retries, {n_expired} expired claims"
    );
    assert!(n_kills > n_rounds / 10 && n_expired >= n_rounds, "{n_kills} {n_expired}");
    server.kill();
    let n_claims = check_ledger(&data);
    assert!(n_claims >= 2 * n_rounds, "{n_claims}");
    audit(&data).expect("the record is whole");
}

/// A worker claims and is lost; others claim after its lease, and the last one finishes. Returns
/// how many claims expired.
async fn one_round(story: &mut Story, random: &mut Random, question: &Value, key: &str) -> usize {
    let n_lost = 1 + random.below(2);
    let mut last = (0, 0);
    for _ in 0..=n_lost {
        let before = last.1;
        last = loop {
            let kill = random.happens(KILLED).then(|| random.below(4_000) as u64);
            let answers = story.send(claims(question), kill).await;
            let won = winner(&answers, key);
            if let Some((worker, epoch)) = won.filter(|won| won.1 > before) {
                break (worker, epoch);
            }
        };
    }
    // Those who were lost come back, and are refused.
    let finish = |worker: usize, epoch: u64| {
        (worker, Call::post(at(question, "/finish"), json!({ "epoch": epoch })))
    };
    let late = story.send(vec![finish(last.0, last.1 - 1)], None).await;
    assert_eq!(late[0].body["code"], "claim_outdated", "{}", late[0].body);
    let kill = random.happens(KILLED).then(|| random.below(4_000) as u64);
    let done = story.send(vec![finish(last.0, last.1)], kill).await;
    assert_eq!(done[0].status, 200, "{}", done[0].body);
    let over = story.send(claims(question), None).await;
    assert!(over.iter().all(|answer| answer.body["code"] == "question_finished"), "{over:?}");
    n_lost
}

fn check_history(question: &Value) {
    let of = &question["continuation"];
    assert_eq!(of["status"], "finished", "{question}");
    assert!(of["epoch"].as_u64().is_some_and(|epoch| epoch >= 2), "{question}");
}

/// In the ledger each claim of a question begins after the one before it ended, and its epoch is
/// the next one. Returns how many claims there are.
fn check_ledger(data: &Path) -> usize {
    let mut ends: BTreeMap<String, (u64, Time)> = BTreeMap::new();
    let mut n_claims = 0;
    for Sequenced { entry, .. } in Ledger::read(data).expect("it can be read").entries {
        if entry.name != "question.claimed" {
            continue;
        }
        n_claims += 1;
        let body: Value = serde_json::from_str(entry.body.text().expect("a body")).expect("JSON");
        let epoch = body["epoch"].as_u64().expect("an epoch");
        let until: Time = body["until"].as_str().and_then(|at| at.parse().ok()).expect("a time");
        let stream = entry.stream.subject.to_string();
        let (before, ended) = ends.get(&stream).copied().unwrap_or((0, Time::from_millis(0)));
        assert_eq!(epoch, before + 1, "{stream}");
        assert!(entry.at >= ended, "{stream}: two claims at once in epoch {epoch}");
        ends.insert(stream, (epoch, until));
    }
    n_claims
}
