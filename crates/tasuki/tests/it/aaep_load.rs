//! Listeners under load, over real connections: a rate-limited one hears critical events at once, a
//! stalled one delays no other, many cost little, and many streams slow down no caller.

mod burst;
mod stage;
mod streams;

use std::collections::HashMap;

use engine::ports::clock::Stopwatch;
use serde_json::{Value, json};

use crate::server::{is_full_run, raise_open_files};
use burst::Burst;
use stage::{Heard, Listener, Stage, everything};

/// The required load. The short run has the same shape.
const N_BURST_EVENTS: usize = 10_000;
const N_BURST_CRITICAL: usize = 50;
const N_SESSIONS: usize = 5;

/// The last critical event reaches the slow listener within this multiple of the time that it takes
/// to reach one without a limit; at one event a second it would take most of a minute.
const CRITICAL_LAG_MAX: f64 = 2.0;
const CRITICAL_LAG_SECONDS: f64 = 1.0;

#[tokio::test(flavor = "multi_thread")]
async fn one_event_a_second_loses_nothing_and_delays_nothing_critical() {
    let n_events = if is_full_run() { N_BURST_EVENTS } else { 2_000 };
    let stage = Stage::open();
    let bursts: Vec<_> = (0..N_SESSIONS)
        .map(|number| {
            let name = format!("sess_burst{number}");
            Burst::new(&name, n_events / N_SESSIONS, N_BURST_CRITICAL / N_SESSIONS)
        })
        .collect();
    let person = stage.person("dana");
    let mut free = Listener::open(&person, everything()).await;
    let mut slow = Listener::open(&person, json!({ "max_events_per_second": 1 })).await;
    let clock = Stopwatch::start();
    let has_critical =
        |heard: &[Heard]| heard.iter().filter(|one| one.is_critical()).count() == N_BURST_CRITICAL;
    tokio::join!(
        stage.announce(&bursts),
        free.until(&clock, |heard| heard.len() == n_events),
        slow.until(&clock, has_critical),
    );

    let critical = |heard: &[Heard]| {
        let ids = heard.iter().filter(|one| one.is_critical());
        ids.map(|one| one.event()["event_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(critical(&slow.heard), critical(&free.heard), "all of them, in order");
    let last = |heard: &[Heard]| {
        heard.iter().rfind(|one| one.is_critical()).expect("there are some").seconds
    };
    let (of_free, of_slow) = (last(&free.heard), last(&slow.heard));
    assert!(of_slow <= CRITICAL_LAG_MAX * of_free + CRITICAL_LAG_SECONDS, "{of_slow} {of_free}");
    let n_slowly = slow.heard.len() - N_BURST_CRITICAL;
    assert!(n_slowly as f64 <= of_slow + 2.0, "{n_slowly} others in {of_slow} seconds");

    // The rest would take as many seconds as there are pieces. With a higher rate the same pieces
    // come sooner: pieces that were accepted under the old terms stay merged.
    slow.renegotiate(json!({ "max_events_per_second": 10_000 })).await;
    let is_over = |heard: &[Heard]| heard.iter().filter(|one| one.is_end()).count() == N_SESSIONS;
    slow.until(&clock, is_over).await;
    println!(
        "{n_events} events with {N_BURST_CRITICAL} critical ones: the last of these after \
         {of_slow:.2} s at one event a second, after {of_free:.2} s without a limit; the rest in \
         {} pieces",
        slow.heard.len() - N_BURST_CRITICAL
    );
    assert!(slow.heard.len() < n_events, "something was merged");
    assert_nothing_lost(&bursts, &slow.heard);
    assert_nothing_lost(&bursts, &free.heard);
}

/// Every event was told, alone or in a merged one that says so. Each session is in order, apart
/// from critical events. The text of each output is complete to the character.
fn assert_nothing_lost(bursts: &[Burst], heard: &[Heard]) {
    let mut told: HashMap<String, Told> = HashMap::new();
    for one in heard {
        let event = one.event();
        let session = event["session_id"].as_str().expect("a session").to_owned();
        told.entry(session).or_default().take(&event);
    }
    for burst in bursts {
        let told = &told[&burst.session];
        assert_eq!(told.n_events, burst.events.len() as u64, "{}", burst.session);
        assert!(told.is_complete && told.text == burst.text, "{}", burst.session);
    }
}

/// What was told of a session.
#[derive(Debug, Default)]
struct Told {
    n_events: u64,
    text: String,
    n_chars: usize,
    is_complete: bool,
    /// The index of the last event that is not critical.
    last: Option<u64>,
}

impl Told {
    fn take(&mut self, event: &Value) {
        let merged = &event["extensions"]["tasuki"]["merged"];
        self.n_events += merged["n_events"].as_u64().unwrap_or(1);
        let id = merged["part_of"].as_str().or(event["event_id"].as_str()).expect("an id");
        let index = id.rsplit('x').next().and_then(|index| index.parse().ok());
        if event["urgency"] != "critical" {
            assert!(self.last <= index, "{:?} after {:?}", index, self.last);
            self.last = index;
        }
        if let Some(chunk) = event["chunk"].as_str() {
            assert_eq!(event["position"], json!(self.n_chars), "{event}");
            self.n_chars += chunk.chars().count();
            self.text.push_str(chunk);
            self.is_complete = event["complete"] == true;
        }
    }
}

/// The required load.
const N_STALLED_EVENTS: usize = 20_000;

/// Listeners that do not read, all at once. Missed events kept by the server would show in memory.
const N_STALLED: usize = 16;

/// The server keeps the ledger's newest entries for all, and a little for each listener.
const STALLED_KIB_MAX: u64 = 96 * 1_024;

#[tokio::test(flavor = "multi_thread")]
async fn who_stalls_wakes_to_everything_and_costs_nobody_anything() {
    let n_events = if is_full_run() { N_STALLED_EVENTS } else { 4_000 };
    let stage = Stage::open();
    let bursts: Vec<_> =
        (0..2).map(|number| Burst::new(&format!("sess_stall{number}"), n_events / 2, 0)).collect();
    let person = stage.person("dana");
    let mut free = Listener::open(&person, everything()).await;
    let mut stalled = Vec::new();
    for _ in 0..N_STALLED {
        stalled.push(Listener::open(&person, everything()).await);
    }
    let before = stage.server.resident_kib();
    let clock = Stopwatch::start();
    tokio::join!(stage.announce(&bursts), free.until(&clock, |heard| heard.len() == n_events),);
    let growth = stage.server.resident_kib().saturating_sub(before);
    let bytes: usize = free.heard.iter().map(|one| one.data.len()).sum();
    println!(
        "{n_events} events, {} KiB in all, to one who listens and {N_STALLED} who do not: \
         {growth} KiB more in memory",
        bytes / 1_024
    );
    assert!(growth <= STALLED_KIB_MAX, "{growth} KiB");
    let texts = |heard: &[Heard]| heard.iter().map(|one| one.data.clone()).collect::<Vec<_>>();
    let all = texts(&free.heard);
    for listener in &mut stalled {
        assert!(listener.heard.is_empty());
        listener.until(&clock, |heard| heard.len() == n_events).await;
        assert!(texts(&listener.heard) == all, "each event once, in order, as it was announced");
    }
    assert_nothing_lost(&bursts, &stalled[0].heard);
}

/// The required load; `bench aaep` shows how many deliveries a second of processor time
/// makes in a release build.
const N_LISTENERS: usize = 2_000;
const IDLE_KIB_MAX: u64 = 64;

/// A person may have 256 subscriptions.
const LISTENERS_PER_PERSON: usize = 250;

#[tokio::test(flavor = "multi_thread")]
async fn many_listen_at_little_cost_and_all_hear_everything() {
    raise_open_files();
    let n_listeners = if is_full_run() { N_LISTENERS } else { 250 };
    let n_events = 200;
    let stage = Stage::open();
    let people: Vec<_> = (0..n_listeners.div_ceil(LISTENERS_PER_PERSON) + 1)
        .map(|number| stage.person(&format!("person-{number}")))
        .collect();
    let mut listeners = Vec::new();
    // The first listeners load what is shared into memory.
    for _ in 0..50 {
        listeners.push(Listener::open(&people[0], everything()).await);
    }
    let before = stage.server.resident_kib();
    for number in 0..n_listeners {
        let person = &people[1 + number / LISTENERS_PER_PERSON];
        listeners.push(Listener::open(person, everything()).await);
    }
    let each = stage.server.resident_kib().saturating_sub(before) / n_listeners as u64;
    let clock = Stopwatch::start();
    let burst = Burst::new("sess_all", n_events, 5);
    let hearing = listeners.iter_mut().map(|one| one.until(&clock, |it| it.len() == n_events));
    let hearing = futures_util::future::join_all(hearing);
    tokio::join!(stage.announce(std::slice::from_ref(&burst)), hearing);
    println!(
        "{n_listeners} listeners at {each} KiB each when idle; {n_events} events to all of them \
         in {:.1} s",
        clock.seconds()
    );
    assert!(each <= IDLE_KIB_MAX, "{each} KiB");
    let all: Vec<_> = burst.events.iter().map(Value::to_string).collect();
    for listener in &listeners {
        let heard = listener.heard.iter().map(|one| &one.data);
        assert!(heard.eq(&all), "everything in order, as it was announced");
    }
}
