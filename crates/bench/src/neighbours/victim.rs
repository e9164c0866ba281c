//! The teamspace that must not notice its neighbours: members at a modest pace, a gate that looks
//! at a file, handoffs that become overdue, and a webhook.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use protocol::time::{Span, Time};
use serde::Serialize;
use serde_json::json;

use super::super::load::{now, sleep};
use super::endpoint::{Delivered, Receiver};
use super::routine::Routine;
use super::stage::Team;
use super::wire::{Side, Wire, request};

/// Members that work at once, and the rest of each between two requests. Much slower than the
/// server, so that the server is measured and not the queue in front of it.
const CALLERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(20);

/// Between two handoffs with an artifact, and between two that become overdue.
const SLOW_PAUSE: Duration = Duration::from_millis(250);

/// How long a proposal may wait before it is overdue.
const DUE_AFTER: Span = Span::from_millis(1_000);

/// How long to wait for what was due, before it counts as missing.
const GIVE_UP: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What was measured. Times are milliseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Noticed {
    pub requests: usize,
    /// Requests that were refused or got no answer.
    pub failed: usize,
    pub p50_ms: f64,
    pub p99_ms: f64,
    pub max_ms: f64,
    pub gates: usize,
    /// Verdicts that did not come with the answer.
    pub undecided: usize,
    /// From an accept to its verdict.
    pub gate_ms_max: f64,
    pub deadlines: usize,
    /// From the moment that a handoff was overdue until the server recorded it.
    pub deadline_late_ms_max: f64,
    pub deliveries: usize,
    /// From the record of an event until its endpoint had it.
    pub delivery_late_ms_max: f64,
    /// Overdue handoffs that were not told of.
    pub missing: usize,
}

/// The requests of one caller.
#[derive(Debug, Default)]
struct Asked {
    taken_ms: Vec<f64>,
    n_failed: usize,
    gate_ms: Vec<f64>,
    n_undecided: usize,
    /// Streams of handoffs that become overdue.
    due: Vec<String>,
}

/// Works until `over`, and once at least: a disk may pause for longer than a short measurement
/// takes. Then waits for what is still due.
pub async fn work(
    address: SocketAddr,
    team: Arc<Team>,
    artifact: String,
    over: Arc<AtomicBool>,
) -> Result<Noticed> {
    let receiver = Receiver::listen().await?;
    let mut wire = Wire::new(address, Side::Victim);
    let body = json!({ "url": receiver.url, "events": ["handoff"] }).to_string();
    let made = wire.ask(&request("POST", "/v1/webhooks", &team.operators[0], Some(&body))).await?;
    ensure!(made.is_success(), "no webhook: {}", made.text);
    let mut tasks = Vec::new();
    for number in 0..CALLERS {
        let caller = Caller::new(address, &team, number);
        tasks.push(tokio::spawn(caller.routine(Arc::clone(&over))));
    }
    let gate = Caller::new(address, &team, CALLERS);
    tasks.push(tokio::spawn(gate.pass_gates(artifact, Arc::clone(&over))));
    let deadline = Caller::new(address, &team, CALLERS + 2);
    tasks.push(tokio::spawn(deadline.become_overdue(over)));
    let mut all = Asked::default();
    for task in tasks {
        let one = task.await.context("a caller ended in a panic")?;
        all.taken_ms.extend(one.taken_ms);
        all.gate_ms.extend(one.gate_ms);
        all.due.extend(one.due);
        all.n_failed += one.n_failed;
        all.n_undecided += one.n_undecided;
    }
    let started = now();
    let mut noticed = sum_up(&all, &receiver.delivered());
    while noticed.missing > 0 && started.elapsed() < GIVE_UP {
        sleep(LOOK_EVERY).await;
        noticed = sum_up(&all, &receiver.delivered());
    }
    Ok(noticed)
}

struct Caller {
    wire: Wire,
    routine: Routine,
    asked: Asked,
}

impl Caller {
    fn new(address: SocketAddr, team: &Arc<Team>, number: usize) -> Self {
        let wire = Wire::new(address, Side::Victim);
        Self { wire, routine: Routine::new(team, number), asked: Asked::default() }
    }

    async fn routine(mut self, over: Arc<AtomicBool>) -> Asked {
        let mut is_last = false;
        while !is_last {
            is_last = over.load(Ordering::Relaxed);
            sleep(PAUSE).await;
            let request = self.routine.next_request();
            if let Some(answer) = self.ask(&request).await {
                self.routine.note(&answer);
            }
        }
        self.asked
    }

    async fn pass_gates(mut self, artifact: String, over: Arc<AtomicBool>) -> Asked {
        let mut is_last = false;
        while !is_last {
            is_last = over.load(Ordering::Relaxed);
            sleep(SLOW_PAUSE).await;
            let mut offer = self.routine.offer();
            let reference = json!({ "type": "file", "path": artifact });
            offer["artifacts"] = json!([{ "artifact_id": "a", "ref": reference }]);
            let Some(id) = self.propose(&offer.to_string()).await else { continue };
            let path = format!("/v1/handoffs/{id}/accept");
            let accept = request("POST", &path, self.routine.target_token(), Some("{}"));
            let started = now();
            let answer = self.ask(&accept).await;
            self.asked.gate_ms.push(started.elapsed().as_secs_f64() * 1e3);
            if answer.is_some_and(|answer| answer.field("status") != Some("accepted")) {
                self.asked.n_undecided += 1;
            }
        }
        self.asked
    }

    async fn become_overdue(mut self, over: Arc<AtomicBool>) -> Asked {
        let mut is_last = false;
        while !is_last {
            is_last = over.load(Ordering::Relaxed);
            sleep(SLOW_PAUSE).await;
            let mut offer = self.routine.offer();
            offer["sla"] = json!({ "proposed": "1s" });
            if let Some(id) = self.propose(&offer.to_string()).await {
                self.asked.due.push(format!("handoff/{id}"));
            }
        }
        self.asked
    }

    async fn propose(&mut self, offer: &str) -> Option<String> {
        let request = request("POST", "/v1/handoffs", self.routine.sender_token(), Some(offer));
        Some(self.ask(&request).await?.field("handoff_id")?.to_owned())
    }

    /// The answer, if it is a success.
    async fn ask(&mut self, request: &[u8]) -> Option<super::wire::Answer> {
        let started = now();
        let answer = self.wire.ask(request).await;
        self.asked.taken_ms.push(started.elapsed().as_secs_f64() * 1e3);
        let answer = answer.ok().filter(|answer| answer.is_success());
        self.asked.n_failed += usize::from(answer.is_none());
        answer
    }
}

fn sum_up(asked: &Asked, delivered: &[Delivered]) -> Noticed {
    let Asked { taken_ms, n_failed, gate_ms, n_undecided, due } = asked;
    let mut taken_ms = taken_ms.clone();
    taken_ms.sort_by(f64::total_cmp);
    let at = |hundredths: usize| {
        taken_ms.get(taken_ms.len() * hundredths / 100).or(taken_ms.last()).copied().unwrap_or(0.0)
    };
    let by_name = |name: &str| -> HashMap<&str, Time> {
        let named = delivered.iter().filter(|one| one.name == name);
        named.map(|one| (one.subject.as_str(), one.recorded)).collect()
    };
    let (proposed, escalated) = (by_name("handoff.proposed"), by_name("handoff.escalated"));
    let late = due.iter().filter_map(|stream| {
        let due_at = proposed.get(stream.as_str())?.plus(DUE_AFTER);
        Some(millis(escalated.get(stream.as_str())?.since(due_at)))
    });
    let late: Vec<f64> = late.collect();
    let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let delivery_late: Vec<f64> =
        delivered.iter().map(|one| millis(one.arrived.since(one.recorded))).collect();
    Noticed {
        requests: taken_ms.len(),
        failed: *n_failed,
        p50_ms: at(50),
        p99_ms: at(99),
        max_ms: largest(&taken_ms),
        gates: gate_ms.len(),
        undecided: *n_undecided,
        gate_ms_max: largest(gate_ms),
        deadlines: late.len(),
        deadline_late_ms_max: largest(&late),
        deliveries: delivered.len(),
        delivery_late_ms_max: largest(&delivery_late),
        missing: due.len() - late.len(),
    }
}

fn millis(span: Span) -> f64 {
    span.as_millis() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_that_of_the_record_and_of_its_delivery() {
        let delivered = |name: &str, recorded, arrived| Delivered {
            name: name.to_owned(),
            subject: "handoff/1".to_owned(),
            recorded: Time::from_millis(recorded),
            arrived: Time::from_millis(arrived),
        };
        let due = ["handoff/1", "handoff/2"].map(str::to_owned).to_vec();
        let asked = Asked {
            taken_ms: vec![3.0, 1.0],
            n_failed: 1,
            gate_ms: vec![7.0],
            n_undecided: 0,
            due,
        };
        let seen = sum_up(
            &asked,
            &[
                delivered("handoff.proposed", 500, 510),
                delivered("handoff.escalated", 1_700, 2_000),
            ],
        );
        assert_eq!((seen.deadline_late_ms_max, seen.delivery_late_ms_max), (200.0, 300.0));
        assert_eq!((seen.deadlines, seen.missing, seen.deliveries, seen.failed), (1, 1, 2, 1));
        assert_eq!((seen.p99_ms, seen.max_ms, seen.gate_ms_max), (3.0, 3.0, 7.0));
    }
}
