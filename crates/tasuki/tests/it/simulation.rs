//! A seeded simulation: random commands by random callers, retries, a clock that jumps both ways,
//! deadlines, crashes. The same script is played on every side, step by step; all of them must
//! answer alike and keep the same ledger, byte for byte, and none may break a promise.
//!
//! A run ends when every command has succeeded, every refusal was seen, and nothing new has come up
//! for a while, or at its bound. A failure prints the seed: `TASUKI_SEED=… cargo test simulation`
//! repeats it. `TASUKI_TEST_FULL=1` raises the bound.

mod careless;
mod chats;
mod letters;
mod negotiation;
mod post;
mod script;
mod side;
mod watch;

use std::collections::BTreeSet;

use engine::ports::ids::{Ids, RandomIds};
use store::Memory;

use careless::{Careless, Flaw};
use script::{Act, Script};
use side::Side;
use watch::Watch;

/// Steps between two full checks.
const BATCH_STEPS: usize = 50;

/// How long a run may be, in batches.
#[derive(Debug, Clone, Copy)]
struct Bound {
    max: usize,
    /// After this many in a row without anything new, the script has shown what it can.
    without_news: usize,
}

/// The short one takes some seconds, unless one of the refusals comes up late.
const SHORT: Bound = Bound { max: 900, without_news: 8 };
const FULL: Bound = Bound { max: 1_000, without_news: 100 };

/// All commands, and all their refusals.
const COMMANDS: [&str; 47] = [
    "draft",
    "initiate",
    "accept",
    "verified",
    "workq_answered",
    "approve",
    "refuse",
    "reject",
    "counter",
    "withdraw",
    "delegate",
    "reassign",
    "activate",
    "progress",
    "recall",
    "complete",
    "confirm",
    "dispute",
    "extend_sla",
    "close",
    "discard",
    "warn",
    "elapse",
    "register",
    "set_roles",
    "issue",
    "revoke",
    "erase",
    "send",
    "deliver",
    "read",
    "expire",
    "woken",
    "not_woken",
    "set_wake",
    "set_endpoint",
    "set_presence",
    "connect",
    "lose_connection",
    "miss",
    "open",
    "say",
    "route",
    "select_agent",
    "delivered",
    "not_delivered",
    "close_conversation",
];
const CODES: [&str; 14] = [
    "schema_invalid",
    "ownership_conflict",
    "wrong_state",
    "not_allowed",
    "not_found",
    "evidence_missing",
    "unknown_agent",
    "already_exists",
    "key_reused",
    "sequence_out_of_order",
    "epoch_outdated",
    "not_holder",
    "loop_guard",
    "conversation_closed",
];

/// The coverage of a run: the command, the state it met, and the result.
#[derive(Debug, Default)]
struct Seen {
    signatures: BTreeSet<(&'static str, &'static str, String)>,
}

impl Seen {
    /// Commands that never succeeded, and refusals that never came up.
    fn missing(&self) -> Vec<&'static str> {
        let has = |is_wanted: &dyn Fn(&str, &str) -> bool| {
            self.signatures.iter().any(|(command, _, result)| is_wanted(command, result))
        };
        let is_new = |word: &&&str| {
            !has(&|command, result| (command == **word && result == "ok") || result == **word)
        };
        COMMANDS.iter().chain(&CODES).filter(is_new).copied().collect()
    }
}

#[tokio::test]
async fn memory_and_sqlite_agree_on_every_step_and_keep_every_promise() {
    let seed = seed();
    let is_full = std::env::var_os("TASUKI_TEST_FULL").is_some();
    let sides = vec![Side::memory(seed), Side::sqlite(seed)];
    match run(sides, seed, if is_full { FULL } else { SHORT }).await {
        Ok(seen) => {
            let missing = seen.missing();
            assert!(missing.is_empty(), "TASUKI_SEED={seed}: never happened: {missing:?}");
            println!("seed {seed}: {} different steps", seen.signatures.len());
        }
        Err(finding) => panic!("TASUKI_SEED={seed}\n{finding}"),
    }
}

/// A harness that cannot fail proves nothing: each of these stores breaks one promise, and the
/// promise checks alone must notice, with no other side to compare with.
#[tokio::test]
async fn every_careless_store_is_caught() {
    let seed = seed();
    for (flaw, complaints) in [
        // Both a task and a thread rely on holds.
        (Flaw::IgnoresHolds, ["active handoffs", "the thread"].as_slice()),
        (Flaw::ForgetsKeys, &["a retry"]),
        (Flaw::DamagesHashes, &["the chain"]),
        (Flaw::ForgetsTheLastCommit, &["after a crash"]),
    ] {
        let store = Careless::new(Memory::default(), flaw);
        match run(vec![Side::careless(seed, store)], seed, SHORT).await {
            Err(finding) if complaints.iter().any(|complaint| finding.contains(complaint)) => {}
            Err(finding) => {
                panic!("TASUKI_SEED={seed}: {flaw:?} was caught by another:\n{finding}")
            }
            Ok(_) => panic!("TASUKI_SEED={seed}: {flaw:?} was not caught"),
        }
    }
}

fn seed() -> u64 {
    if let Some(seed) = std::env::var("TASUKI_SEED").ok().and_then(|text| text.parse().ok()) {
        return seed;
    }
    let mut word = [0; 8];
    word.copy_from_slice(&RandomIds.bytes()[..8]);
    u64::from_le_bytes(word)
}

/// Plays one script on all sides. An error names the first step that went wrong.
async fn run(mut sides: Vec<Side>, seed: u64, bound: Bound) -> Result<Seen, String> {
    let mut script = Script::new(seed);
    let mut watch = Watch::default();
    let mut seen = Seen::default();
    let mut trace = Vec::new();
    let mut without_news = 0;
    for side in &sides {
        side.register_everybody().await;
    }
    watch.catch_up(&sides).await?;
    for _ in 0..bound.max {
        let n_before = seen.signatures.len();
        for _ in 0..BATCH_STEPS {
            let act = script.next(&watch);
            trace.push(act.to_string());
            let played = play(&mut sides, &act, &mut watch, &mut seen).await;
            played.map_err(|finding| explain(&finding, &trace))?;
            script.learn(act, &watch);
        }
        watch.compare_everything(&sides).await.map_err(|finding| explain(&finding, &trace))?;
        without_news = if seen.signatures.len() > n_before { 0 } else { without_news + 1 };
        if seen.missing().is_empty() && without_news >= bound.without_news {
            break;
        }
    }
    Ok(seen)
}

async fn play(
    sides: &mut Vec<Side>,
    act: &Act,
    watch: &mut Watch,
    seen: &mut Seen,
) -> Result<(), String> {
    match act {
        Act::Submit(asked) => {
            let met = watch.status_of(&asked.stream);
            let mut answers = Vec::new();
            for side in sides.iter() {
                answers.push(side.submit(asked).await);
            }
            watch::same("answers", &answers)?;
            let n_new = watch.catch_up(sides).await?.len();
            let answer = answers.swap_remove(0);
            watch.judge(asked, &answer, n_new)?;
            for result in watch::results(&answer, n_new) {
                seen.signatures.insert((asked.name(), met, result));
            }
        }
        Act::Fire => {
            let mut counts = Vec::new();
            for side in sides.iter() {
                counts.push(side.fire().await);
            }
            watch::same("deadlines", &counts)?;
            for name in watch.catch_up(sides).await? {
                let command = match name.as_str() {
                    "handoff.escalated" => "elapse",
                    "handoff.sla_warned" => "warn",
                    "message.expired" => "expire",
                    "agent.lost" => "miss",
                    "conversation.holder_silent" | "conversation.routed" => "miss_answer",
                    _ => return Err(format!("a deadline led to {name}")),
                };
                seen.signatures.insert((command, "any", "ok".to_owned()));
            }
        }
        Act::Move(span) => sides.iter().for_each(|side| side.move_clock(*span)),
        Act::Crash => {
            *sides = std::mem::take(sides).into_iter().map(Side::crash).collect();
            watch.after_crash(sides).await?;
        }
    }
    Ok(())
}

fn explain(finding: &str, trace: &[String]) -> String {
    let last = trace.len().saturating_sub(12);
    format!("step {}: {finding}\n{}", trace.len(), trace[last..].join("\n"))
}
