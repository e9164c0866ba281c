//! A Tasuki as witness by C2SP's protocol: each of its answers, what it remembers, and what a
//! server makes of a witness that lies. Proofs and cosignatures are checked here by another reading
//! of the specifications than that of the server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use protocol::canonical::Hash;
use protocol::checkpoint::{Checkpoint, NOTE_BYTES_MAX, Signer};
use protocol::merkle::{consistency_proof, leaf_hash};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tasuki::client::Call;

use crate::ledger;
use crate::server::{Server, initiate, offer, refused, refused_start};
use crate::wire::{Answer, Request};
use crate::witness_server::{Manner, WitnessServer};

const ADD: &str = "POST /witness/add-checkpoint";

/// The leaves of a log; a log of `fork` differs from its third on.
fn leaves(fork: u8) -> Vec<Hash> {
    (0..9_u8).map(|n| leaf_hash(&[n, if n < 2 { 0 } else { fork }])).collect()
}

fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Sha256::digest([]).into(),
        [only] => *only,
        _ => {
            let half = leaves.len().next_power_of_two() / 2;
            node(&root(&leaves[..half]), &root(&leaves[half..]))
        }
    }
}

fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::digest([&[1], left.as_slice(), right].concat()).into()
}

fn log(name: &str, seed: u8) -> Signer {
    Signer::new(name, &[seed; 32]).expect("a name")
}

fn note(by: &Signer, size: usize, fork: u8) -> String {
    let (origin, root) = (by.key_name().to_owned(), root(&leaves(fork)[..size]));
    by.sign(&Checkpoint { origin, size: size as u64, root })
}

/// A request with the proof between two sizes.
fn body(old: u64, proof: (u64, u64), note: &str) -> String {
    let proof = consistency_proof(&leaves(0), proof.0, proof.1).expect("sizes of the log");
    let lines: String = proof.iter().map(|hash| format!("{}\n", STANDARD.encode(hash))).collect();
    format!("old {old}\n{lines}\n{note}")
}

async fn ask(server: &Server, body: &str) -> Answer {
    Request::new(ADD).text(body).send(server.address()).await
}

#[tokio::test]
async fn each_answer_of_the_protocol() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let ours = log("log.example", 7);
    let start = || {
        Server::start_on(&data, |command| {
            command.env("TASUKI_WITNESS_ORIGINS", ours.verifier_key());
        })
    };
    let mut server = start();
    let huge = format!("old 0\n\n{}", "x".repeat(NOTE_BYTES_MAX + 4_096));
    for (what, body, status, said) in [
        ("no request", "what?".to_owned(), 400, "checkpoint_invalid"),
        ("no note", "old 0\n\nnothing".to_owned(), 400, "checkpoint_invalid"),
        (
            "a spelling",
            body(0, (0, 3), &note(&ours, 3, 0)).replace("old", "OLD"),
            400,
            "checkpoint_invalid",
        ),
        ("old above new", body(4, (0, 0), &note(&ours, 3, 0)), 400, "checkpoint_invalid"),
        ("too long", huge, 413, "body_too_large"),
        (
            "an unknown log",
            body(0, (0, 3), &note(&log("other.example", 7), 3, 0)),
            404,
            "not_found",
        ),
        ("another key", body(0, (0, 3), &note(&log("log.example", 8), 3, 0)), 403, "not_allowed"),
        ("a wrong old size", body(2, (2, 3), &note(&ours, 3, 0)), 409, "0\n"),
        ("the first", body(0, (0, 3), &note(&ours, 3, 0)), 200, ""),
        ("the same again", body(3, (3, 3), &note(&ours, 3, 0)), 200, ""),
        ("the first again", body(0, (0, 3), &note(&ours, 3, 0)), 409, "3\n"),
        ("another root", body(3, (3, 3), &note(&ours, 3, 1)), 409, "3\n"),
        ("a wrong proof", body(3, (2, 7), &note(&ours, 7, 0)), 422, "proof_invalid"),
        ("no proof", body(3, (0, 7), &note(&ours, 7, 0)), 422, "proof_invalid"),
        ("a fork", body(3, (3, 7), &note(&ours, 7, 1)), 422, "proof_invalid"),
        ("stopped", String::new(), 0, ""),
        ("more", body(3, (3, 7), &note(&ours, 7, 0)), 200, ""),
        ("killed", String::new(), 0, ""),
        ("less", body(3, (3, 5), &note(&ours, 5, 0)), 409, "7\n"),
        ("the last", body(7, (7, 9), &note(&ours, 9, 0)), 200, ""),
    ] {
        if status == 0 {
            match what {
                "stopped" => assert_eq!(server.stop(), Some(0)),
                _ => server.kill(),
            }
            server = start();
            continue;
        }
        let answer = ask(&server, &body).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        let text = String::from_utf8(answer.bytes.to_vec()).expect("text");
        match status {
            200 => {
                let key = Request::new("GET /witness/key").send(server.address()).await;
                let key = String::from_utf8(key.bytes.to_vec()).expect("text");
                check_cosigned(&body, &text, key.trim_end());
            }
            409 => {
                assert_eq!(
                    (text.as_str(), answer.header("content-type")),
                    (said, "text/x.tlog.size")
                );
            }
            _ => assert_eq!(answer.json()["code"], said, "{what}"),
        }
    }
}

/// As C2SP's tlog-cosignature says, word for word.
fn check_cosigned(request: &str, answer: &str, key: &str) {
    let note = request.split_once("\n\n").expect("a blank line").1;
    let body = note.split_once("\n\n").expect("a blank line").0;
    let mut key = key.splitn(3, '+');
    let (name, id, typed) = (
        key.next().expect("it is there"),
        key.next().expect("it is there"),
        key.next().expect("it is there"),
    );
    let typed = STANDARD.decode(typed).expect("base64");
    assert_eq!((typed.len(), typed[0]), (33, 4));
    let expected_id = Sha256::digest([name.as_bytes(), b"\n", &typed].concat());
    let expected_id: String = expected_id[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(id, expected_id);
    let line = answer.strip_prefix("\u{2014} ").and_then(|line| line.strip_suffix('\n'));
    let (signer, encoded) = line.expect("one line").split_once(' ').expect("a name");
    assert_eq!(signer, name);
    let bytes = STANDARD.decode(encoded).expect("base64");
    assert_eq!(bytes.len(), 4 + 8 + 64);
    let time = u64::from_be_bytes(bytes[4..12].try_into().expect("it is there"));
    let public =
        VerifyingKey::from_bytes(typed[1..].try_into().expect("it is there")).expect("a key");
    let signature = Signature::from_slice(&bytes[12..]).expect("a signature");
    let message = format!("cosignature/v1\ntime {time}\n{body}\n");
    public.verify_strict(message.as_bytes(), &signature).expect("it is cosigned");
}

/// What a real server sends to its witness, by the algorithm of RFC 9162, section 2.1.4.2.
#[tokio::test]
async fn the_proofs_of_a_server_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let stub = WitnessServer::start();
    let server = witnessed(&data, &stub);
    let alice = server.agent("alice");
    server.agent("bob");
    for round in 0..5 {
        for number in 0..=round {
            initiate(&alice, &format!("{round}-{number}"), "bob").await;
        }
        ledger::until_idle(&data).await;
    }
    assert_eq!(server.stop(), Some(0));
    let mut known: Vec<(u64, Hash)> = Vec::new();
    let mut n_proofs = 0;
    for request in stub.requests() {
        let (head, note) = request.split_once("\n\n").expect("a blank line");
        let mut lines = note.lines().skip(1);
        let size: u64 = lines.next().expect("it is there").parse().expect("it is there");
        let decode = |line: &str| -> Hash {
            STANDARD.decode(line).expect("it is there").try_into().expect("it is there")
        };
        let new = (size, decode(lines.next().expect("it is there")));
        let mut head = head.lines();
        let old: u64 = head
            .next()
            .expect("it is there")
            .strip_prefix("old ")
            .expect("it is there")
            .parse()
            .expect("it is there");
        let proof: Vec<Hash> = head.map(decode).collect();
        if old > 0 && old < size {
            let old = *known.iter().find(|(size, _)| *size == old).expect("it was cosigned");
            assert!(is_consistent(old, new, &proof), "{old:?} {new:?}");
            n_proofs += 1;
        } else {
            assert!(proof.is_empty());
        }
        known.push(new);
    }
    assert!(n_proofs >= 3, "{n_proofs}");
}

fn is_consistent(old: (u64, Hash), new: (u64, Hash), proof: &[Hash]) -> bool {
    let whole = old.0.is_power_of_two().then_some(old.1);
    let path: Vec<Hash> = whole.into_iter().chain(proof.iter().copied()).collect();
    let (mut at, mut last) = (old.0 - 1, new.0 - 1);
    while at & 1 == 1 {
        (at, last) = (at >> 1, last >> 1);
    }
    let (mut old_root, mut new_root) = (path[0], path[0]);
    for beside in &path[1..] {
        if last == 0 {
            return false;
        }
        if at & 1 == 1 || at == last {
            old_root = node(beside, &old_root);
            new_root = node(beside, &new_root);
            while at & 1 == 0 && at != 0 {
                (at, last) = (at >> 1, last >> 1);
            }
        } else {
            new_root = node(&new_root, beside);
        }
        (at, last) = (at >> 1, last >> 1);
    }
    old_root == old.1 && new_root == new.1 && last == 0
}

fn witnessed(data: &std::path::Path, stub: &WitnessServer) -> Server {
    Server::start_on(data, |command| {
        command.env("TASUKI_LEDGER_WITNESS_URL", &stub.url);
        command.env("TASUKI_LEDGER_WITNESS_KEY", WitnessServer::key());
    })
}

/// A start does not believe it, and while the server runs it counts as one that fails.
#[tokio::test]
async fn a_witness_that_does_not_cosign_with_its_key_leaves_a_doubt() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let stub = WitnessServer::start();
    let server = witnessed(&data, &stub);
    let token = server.token("alice", &[]);
    let alice = server.with_token(&token);
    server.agent("bob");
    let manners = [Manner::WrongKey, Manner::Status(403), Manner::Status(404), Manner::Garbage];
    for manner in manners.into_iter().chain([Manner::Status(409), Manner::Huge]) {
        stub.behave(manner);
        initiate(&alice, &format!("{manner:?}"), "bob").await;
        while ready(&server).await.1["warning"].is_null() {}
        stub.behave(Manner::Sound);
        while !ready(&server).await.1["warning"].is_null() {}
    }
    assert_eq!(server.stop(), Some(0));
    stub.behave(Manner::WrongKey);
    let server = witnessed(&data, &stub);
    let (status, body) = ready(&server).await;
    assert_eq!((status, &body["code"]), (503, &"ledger_behind_checkpoint".into()));
    assert!(body["detail"].as_str().is_some_and(|it| it.contains("does not answer")), "{body}");
    let alice = server.with_token(&token);
    let refusal = refused(&alice, Call::post("/v1/handoffs", offer("T-9", "bob"))).await;
    assert_eq!(refusal.body["code"], "ledger_behind_checkpoint");
    stub.behave(Manner::Sound);
    while ready(&server).await.0 != 200 {}
}

async fn ready(server: &Server) -> (u16, Value) {
    let answer = server.anonymous().call(Call::get("/readyz")).await.expect("an answer");
    (answer.status, answer.body)
}

#[tokio::test]
async fn a_server_is_no_witness_unless_it_is_told_whose() {
    let server = Server::start();
    let ours = log("log.example", 7);
    assert_eq!(ask(&server, &body(0, (0, 3), &note(&ours, 3, 0))).await.status, 404);
    assert_eq!(Request::new("GET /witness/key").send(server.address()).await.status, 404);
    let folder = tempfile::tempdir().expect("a folder");
    let twins = [log("a/b", 7), log("a_b", 7)].map(|log| log.verifier_key()).join(",");
    for (name, value, expected) in [
        ("TASUKI_WITNESS_ORIGINS", "log.example", "witness.origins: cannot use log.example"),
        ("TASUKI_WITNESS_ORIGINS", &twins, "witness.origins: expected names that differ"),
        ("TASUKI_LEDGER_WITNESS_KEY", &ours.verifier_key(), "ledger.witness_key"),
    ] {
        let output = refused_start(&folder.path().join("data"), |command| {
            command.env(name, value).env("TASUKI_LEDGER_WITNESS_URL", "http://127.0.0.1:9/");
        });
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "{said}");
    }
}
