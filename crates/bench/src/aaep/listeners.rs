//! What delivery to many listeners costs: each listens to everything over its own connection.
//! Measures the memory of a quiet listener, and how many events a second of the server's processor
//! time delivers. The limit is a thread that only writes the same bytes to sockets.

use std::io::Write as _;
use std::net::{TcpListener as StdListener, TcpStream as StdStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::super::blocking;
use super::super::load::{now, sleep};
use super::super::report::{Bar, at_least, at_most};
use super::super::usage::{Process, Usage};
use super::line::Line;
use super::stage::{ANNOUNCER, Stage};
use super::{Names, session_of};

/// The required rate and memory.
pub const DELIVERIES_PER_CPU_SECOND_MIN: f64 = 120_000.0;
pub const IDLE_KIB_MAX: f64 = 64.0;

/// A person may have 256 subscriptions.
const LISTENERS_PER_PERSON: usize = 250;

/// The first listeners load what all share into memory, and are not counted.
const FIRST_LISTENERS: usize = 50;

/// How long quiet listeners are left alone before memory is measured.
const QUIET: Duration = Duration::from_secs(2);

/// Events of one request: what a busy producer collects, or the server batches.
const BATCH_EVENTS: usize = 64;

/// Events that are announced each by a request of its own.
const EVENTS_ALONE: usize = 100;

/// All events are delivered within this time, or something is wrong.
const DELIVERED_WITHIN: Duration = Duration::from_secs(300);

/// The size of a server write; how many such writes the bare writer makes, and to how many sockets.
const CHUNK_BYTES: usize = 16 * 1_024;
const LIMIT_CHUNKS: usize = 20_000;
const LIMIT_SOCKETS: usize = 64;

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct ListenersPlan {
    pub n_listeners: usize,
    pub n_events: usize,
}

/// Everything, as it is printed. Deliveries are per second of the server's processor time, which
/// includes receiving the events, checking them and writing them to disk.
#[derive(Debug, Clone, Serialize)]
pub struct ListenersReport {
    pub version: &'static str,
    pub listeners: usize,
    pub events: usize,
    pub bytes_per_event: usize,
    pub events_per_request: usize,
    /// Memory of each quiet listener.
    pub idle_kib: Option<f64>,
    pub deliveries_per_cpu_second: Option<f64>,
    /// The same with one event in each request, and a wait for all before the next.
    pub alone_per_cpu_second: Option<f64>,
    /// A thread that writes the same bytes to sockets, 16 KiB at a time, and does nothing else.
    pub limit_per_cpu_second: Option<f64>,
    pub bars: Vec<Bar>,
}

pub async fn run(plan: &ListenersPlan, within: &Path) -> Result<ListenersReport> {
    if plan.n_listeners == 0 || plan.n_events < BATCH_EVENTS {
        bail!("expected at least one listener, and {BATCH_EVENTS} events");
    }
    let n_people = (plan.n_listeners + FIRST_LISTENERS).div_ceil(LISTENERS_PER_PERSON);
    let stage = Stage::open(within, "listeners", n_people).await?;
    let mut audience = Audience::default();
    audience.grow(&stage, FIRST_LISTENERS).await?;
    sleep(QUIET).await;
    let usage = || stage.server.process().usage();
    let before = usage();
    audience.grow(&stage, plan.n_listeners).await?;
    sleep(QUIET).await;
    let idle_kib = before.zip(usage()).map(|(before, after)| {
        let bytes = after.resident_bytes.saturating_sub(before.resident_bytes);
        bytes as f64 / plan.n_listeners as f64 / 1_024.0
    });
    let names = Names { session: "sess_bench", agent: ANNOUNCER };
    let events = session_of(names, plan.n_events);
    let names = Names { session: "sess_alone", agent: ANNOUNCER };
    let alone = session_of(names, EVENTS_ALONE.min(plan.n_events));
    let mut line = Line::connect(stage.server.address, &stage.announcer).await?;
    let before = usage();
    for batch in events.chunks(BATCH_EVENTS) {
        line.announce(&batch.join("\n")).await?;
    }
    audience.all_told(events.len()).await?;
    let together = before.zip(usage());
    let before = usage();
    for event in &alone {
        line.announce(event).await?;
        audience.all_told(1).await?;
    }
    let one_by_one = before.zip(usage());
    let n_audience = audience.n_listeners;
    stage.close().await?;
    let bytes_per_event = events.iter().map(String::len).sum::<usize>() / events.len();
    let deliveries = together.and_then(|cost| per_cpu_second(cost, events.len() * n_audience));
    let mut bars = Vec::new();
    if let Some(idle_kib) = idle_kib {
        bars.push(at_most("a quiet listener".to_owned(), IDLE_KIB_MAX, " KiB", idle_kib));
    }
    if let Some(deliveries) = deliveries {
        let what = "deliveries by second of processor time".to_owned();
        bars.push(at_least(what, DELIVERIES_PER_CPU_SECOND_MIN, deliveries));
    }
    Ok(ListenersReport {
        version: env!("CARGO_PKG_VERSION"),
        listeners: plan.n_listeners,
        events: events.len(),
        bytes_per_event,
        events_per_request: BATCH_EVENTS,
        idle_kib,
        deliveries_per_cpu_second: deliveries,
        alone_per_cpu_second: one_by_one
            .and_then(|cost| per_cpu_second(cost, alone.len() * n_audience)),
        limit_per_cpu_second: limit(bytes_per_event).await?,
        bars,
    })
}

fn per_cpu_second((before, after): (Usage, Usage), n_deliveries: usize) -> Option<f64> {
    let micros = after.cpu_us.saturating_sub(before.cpu_us);
    (micros > 0).then(|| n_deliveries as f64 * 1e6 / micros as f64)
}

/// The listeners, and how many events they received.
#[derive(Debug, Default)]
struct Audience {
    n_listeners: usize,
    n_told: Arc<AtomicU64>,
    n_awaited: u64,
}

impl Audience {
    async fn grow(&mut self, stage: &Stage, n_more: usize) -> Result<()> {
        let terms = json!({ "type": "subscription.request", "aaep_version": "1.0.0",
            "subscriber_id": "bench", "capabilities": { "coalesce_boundaries": ["none"],
            "event_filters": { "include": ["*"] } } })
        .to_string();
        for _ in 0..n_more {
            let token = &stage.people[self.n_listeners / LISTENERS_PER_PERSON];
            let mut line = Line::connect(stage.server.address, token).await?;
            let accepted = line.post("/aaep/v1/subscriptions", "application/json", &terms).await?;
            let accepted: Value = serde_json::from_str(accepted)?;
            let id = accepted["subscription_id"].as_str().context("an id")?;
            let stream = line.listen(id).await?;
            tokio::spawn(count(stream, Arc::clone(&self.n_told)));
            self.n_listeners += 1;
        }
        Ok(())
    }

    /// Waits until every listener received so many more events.
    async fn all_told(&mut self, n_events: usize) -> Result<()> {
        self.n_awaited += (n_events * self.n_listeners) as u64;
        let started = now();
        while self.n_told.load(Ordering::Relaxed) < self.n_awaited {
            if started.elapsed() > DELIVERED_WITHIN {
                bail!("not everything was delivered within {DELIVERED_WITHIN:?}");
            }
            sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

/// Counts the lines with events until the stream ends.
async fn count(mut stream: TcpStream, n_told: Arc<AtomicU64>) {
    let mut bytes = vec![0; CHUNK_BYTES];
    let mut is_new_line = true;
    while let Ok(n_bytes @ 1..) = stream.read(&mut bytes).await {
        let mut n_found = 0;
        let mut rest = &bytes[..n_bytes];
        while let Some(first) = rest.first() {
            n_found += u64::from(is_new_line && *first == b'd');
            let end = rest.iter().position(|byte| *byte == b'\n');
            is_new_line = end.is_some();
            rest = end.map_or(&[], |end| &rest[end + 1..]);
        }
        if n_found > 0 {
            n_told.fetch_add(n_found, Ordering::Relaxed);
        }
    }
}

async fn limit(bytes_per_event: usize) -> Result<Option<f64>> {
    let listener = StdListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let mut written = Vec::with_capacity(LIMIT_SOCKETS);
    let mut reading = Vec::with_capacity(LIMIT_SOCKETS);
    for _ in 0..LIMIT_SOCKETS {
        let stream = TcpStream::connect(address).await?;
        reading.push(tokio::spawn(count(stream, Arc::default())));
        written.push(listener.accept()?.0);
    }
    let cost = blocking(move || bare_writes(written)).await?;
    for reader in reading {
        reader.await.context("a reader ended in a panic")?;
    }
    let n_deliveries = LIMIT_CHUNKS * (CHUNK_BYTES / bytes_per_event);
    Ok(cost.and_then(|cost| per_cpu_second(cost, n_deliveries)))
}

fn bare_writes(mut sockets: Vec<StdStream>) -> Result<Option<(Usage, Usage)>> {
    let chunk = vec![b'x'; CHUNK_BYTES];
    let before = Process::Thread.usage();
    for number in 0..LIMIT_CHUNKS {
        sockets[number % LIMIT_SOCKETS].write_all(&chunk)?;
    }
    Ok(before.zip(Process::Thread.usage()))
}
