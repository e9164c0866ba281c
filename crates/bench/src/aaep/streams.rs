//! How much streaming agents slow down other callers. Agents stream answers in small pieces;
//! callers hand over at their own pace beside them, over HTTP. Each side has its own thread. The
//! limit is the same callers alone.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::json;

use super::super::http::{HttpWalker, Tokens};
use super::super::load::{Meter, Seen, Walker, Window, drive, now, sleep};
use super::super::report::{Bar, at_most};
use super::super::usage::Process;
use super::super::{WARM_UP, blocking};
use super::line::Line;
use super::stage::{ANNOUNCER, Stage};
use super::{Names, written};

/// Streams may slow other callers down at most this much.
pub const SLOWDOWN_MAX: f64 = 2.0;

/// A few callers with idle time left over.
const CALLERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(40);

/// One piece of a model's output.
const CHUNK: &str = "The plan is on its way. ";

/// A request carries at most so many events.
const BATCH_EVENTS_MAX: usize = 256;

/// The part of the time that is spent on measuring bytes, without callers beside it.
const ALONE_PART: u32 = 6;

/// The resolution of the timer.
const TICK: Duration = Duration::from_millis(1);

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct StreamsPlan {
    pub n_streams: usize,
    pub chunks_per_second: u32,
    pub measured: Duration,
}

/// Everything, as it is printed.
#[derive(Debug, Clone, Serialize)]
pub struct StreamsReport {
    pub version: &'static str,
    pub streams: usize,
    pub chunks_per_second: u32,
    pub seconds: f64,
    /// Chunks recorded per second, all streams together, while the callers worked.
    pub recorded_per_second: f64,
    /// How many of them were in a request.
    pub chunks_per_request: f64,
    pub calm_p99_ms: f64,
    pub streaming_p99_ms: f64,
    pub slowdown: f64,
    /// The growth of the database, and the bytes written to disk, per character of output.
    pub stored_bytes_per_character: f64,
    pub written_bytes_per_character: Option<f64>,
    pub bytes_per_event: usize,
    pub bars: Vec<Bar>,
}

pub async fn run(plan: &StreamsPlan, within: &Path) -> Result<StreamsReport> {
    if plan.n_streams == 0 || plan.chunks_per_second == 0 {
        bail!("expected at least one stream and one chunk a second");
    }
    let stage = Stage::open(within, "streams", 0).await?;
    let process = stage.server.process();
    let stored = stage.database_bytes()?;
    let before = process.usage();
    let alone = speak(&stage, plan, "alone", plan.measured / ALONE_PART).await?;
    let after = process.usage();
    let stored = stage.database_bytes()?.saturating_sub(stored);
    let n_chars = (alone.n_chunks * CHUNK.len()) as f64;
    let calm = others(&stage, plan.measured).await?;
    let (streamed, busy) = tokio::join!(
        speak(&stage, plan, "beside", plan.measured + WARM_UP * 2),
        others(&stage, plan.measured),
    );
    let (streamed, busy) = (streamed?, busy?);
    stage.close().await?;
    let slowdown = busy.p99_ms / calm.p99_ms;
    let bar = at_most("others' p99 while agents stream".to_owned(), SLOWDOWN_MAX, " ×", slowdown);
    Ok(StreamsReport {
        version: env!("CARGO_PKG_VERSION"),
        streams: plan.n_streams,
        chunks_per_second: plan.chunks_per_second,
        seconds: plan.measured.as_secs_f64(),
        recorded_per_second: streamed.n_chunks as f64 / streamed.seconds,
        chunks_per_request: streamed.n_chunks as f64 / streamed.n_requests as f64,
        calm_p99_ms: calm.p99_ms,
        streaming_p99_ms: busy.p99_ms,
        slowdown,
        stored_bytes_per_character: stored as f64 / n_chars,
        written_bytes_per_character: before.zip(after).map(|(before, after)| {
            after.written_bytes.saturating_sub(before.written_bytes) as f64 / n_chars
        }),
        bytes_per_event: chunk("sess_alone0", 1, 0).len(),
        bars: vec![bar],
    })
}

/// The other callers. They have a thread of their own, as they would in another process.
async fn others(stage: &Stage, measured: Duration) -> Result<Seen> {
    let (address, tokens) = (stage.server.address, stage.tokens.clone());
    let process = stage.server.process();
    blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async_others(address, tokens, measured, process))
    })
    .await
}

async fn async_others(
    address: SocketAddr,
    tokens: Tokens,
    measured: Duration,
    process: Process,
) -> Result<Seen> {
    let mut callers = Vec::with_capacity(CALLERS);
    for _ in 0..CALLERS {
        callers.push(Paced(HttpWalker::connect(address, tokens.clone()).await?));
    }
    drive(callers, Window { warm_up: WARM_UP, measured }, process).await
}

/// A caller that rests between two handoffs.
struct Paced(HttpWalker);

impl Walker for Paced {
    async fn walk(&mut self, meter: &mut Meter) -> Result<()> {
        sleep(PAUSE).await;
        self.0.walk(meter).await
    }
}

/// The result of streaming.
#[derive(Debug, Clone, Copy, Default)]
struct Streamed {
    n_chunks: usize,
    n_requests: usize,
    seconds: f64,
}

/// All streams, for a while, each in a session of its own.
async fn speak(
    stage: &Stage,
    plan: &StreamsPlan,
    name: &str,
    lasting: Duration,
) -> Result<Streamed> {
    let (address, token) = (stage.server.address, stage.announcer.clone());
    let (plan, name) = (*plan, name.to_owned());
    blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let started = now();
            let mut streams = Vec::with_capacity(plan.n_streams);
            for number in 0..plan.n_streams {
                let line = Line::connect(address, &token).await?;
                let session = format!("sess_{name}{number}");
                streams.push(tokio::spawn(stream(line, session, plan, lasting)));
            }
            let mut all = Streamed::default();
            for stream in streams {
                let one = stream.await.context("a stream ended in a panic")??;
                all.n_chunks += one.n_chunks;
                all.n_requests += one.n_requests;
            }
            Ok(Streamed { seconds: started.elapsed().as_secs_f64(), ..all })
        })
    })
    .await
}

/// One answer, piece by piece: the pieces since the last request go out with the next.
async fn stream(
    mut line: Line,
    session: String,
    plan: StreamsPlan,
    lasting: Duration,
) -> Result<Streamed> {
    let names = Names { session: &session, agent: ANNOUNCER };
    let start = json!({ "requested_by": "user:bench", "summary_normal": "An answer begins." });
    line.announce(&written(names, 0, "session.started", &start)).await?;
    let pause = Duration::from_secs(1) / plan.chunks_per_second;
    let n_chunks_max = (lasting.as_secs_f64() / pause.as_secs_f64()) as usize;
    let mut streamed = Streamed::default();
    let started = now();
    while streamed.n_chunks < n_chunks_max {
        let n_due = (started.elapsed().as_nanos() / pause.as_nanos()) as usize;
        let n_due = n_due.min(n_chunks_max).min(streamed.n_chunks + BATCH_EVENTS_MAX);
        if n_due == streamed.n_chunks {
            sleep((pause * (n_due as u32 + 1)).saturating_sub(started.elapsed()).max(TICK)).await;
            continue;
        }
        let events: Vec<_> = (streamed.n_chunks..n_due)
            .map(|index| chunk(&session, index + 1, index * CHUNK.len()))
            .collect();
        line.announce(&events.join("\n")).await?;
        streamed.n_chunks = n_due;
        streamed.n_requests += 1;
    }
    Ok(streamed)
}

fn chunk(session: &str, index: usize, position: usize) -> String {
    let names = Names { session, agent: ANNOUNCER };
    let payload = json!({ "chunk": CHUNK, "position": position, "complete": false });
    written(names, index, "output.streaming", &payload)
}
