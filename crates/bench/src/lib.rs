//! Handoffs per second on this machine, as a share of the upper limit.
//!
//! Four things are measured in turns, so that they run under the same machine load: a bare SQLite
//! writer with the same rows ([`raw`]), the engine as a library ([`work`]), and the server as a
//! process of its own over HTTP ([`http`]), once for transitions and once for reads alone. [`load`]
//! generates the load, [`stores`] makes the stores that exist before it begins, [`age`] and `idle`
//! measure the other promises, [`report`] is the result. [`route`], [`artifacts`], [`aaep`] and
//! [`neighbours`] are separate: how long a routing decision takes, how much hashing slows down
//! other callers, how many events are checked a second, and what a hostile teamspace costs another.

pub mod aaep;
pub mod age;
pub mod artifacts;
pub mod child;
pub mod conversation;
pub mod http;
pub mod load;
pub mod neighbours;
pub mod raw;
pub mod report;
pub mod route;
pub mod stores;
pub mod usage;
pub mod work;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::{self, Runtime};
use tokio::sync::watch;

use self::child::Server;
use self::load::{Seen, Window, drive, sleep};
use self::raw::Rows;
use self::report::{Idle, Quartet, Report, Row, StoreReport};
use self::stores::{Filled, Growing};
use self::usage::Process;
use self::work::{EngineWalker, unlimited};
use tasuki::node::Node;

/// Caches fill and connections are made within a fraction of a second.
const WARM_UP: Duration = Duration::from_millis(400);

/// How long a server is left alone before its memory is looked at.
const IDLE: Duration = Duration::from_secs(2);

/// What to measure.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Everything is made in here.
    pub folder: PathBuf,
    /// Sizes of the store, smallest first.
    pub handoffs: Vec<u64>,
    pub callers: Vec<usize>,
    pub rounds: usize,
    pub measured: Duration,
    pub n_edits: usize,
}

/// Told what happens, for people who wait.
pub trait Progress: Sync {
    fn begin(&self, what: &str, n_steps: u64);
    fn step(&self, what: &str);
    fn steps(&self, n_steps: u64);
}

/// Fills the stores, measures round by round, and sums up.
pub async fn run(plan: &Plan, progress: &dyn Progress) -> Result<Report> {
    let rows = raw::record_rows().await?;
    let mut filled: Vec<Filled> = Vec::new();
    for &handoffs in &plan.handoffs {
        progress.begin(&format!("filling a store with {handoffs} handoffs"), handoffs);
        let next = stores::fill(&plan.folder, filled.last(), handoffs, progress).await?;
        filled.push(next);
    }
    let window = Window { warm_up: WARM_UP, measured: plan.measured };
    let bench = Bench { plan, rows, window };
    let seen = bench.rounds(&filled, progress).await?;
    progress.begin("editing one draft", 1);
    let age = age::measure(&stores::empty(&plan.folder, "age")?, plan.n_edits).await?;
    progress.begin("leaving a server alone", 1);
    let idle = idle(filled.last().context("at least one size of the store")?).await?;
    Ok(bench.sum_up(&filled, &seen, age, idle))
}

struct Bench<'p> {
    plan: &'p Plan,
    rows: Rows,
    window: Window,
}

/// By store, by number of callers, by round.
type AllSeen = Vec<Vec<Vec<Quartet>>>;

impl Bench<'_> {
    async fn rounds(&self, filled: &[Filled], progress: &dyn Progress) -> Result<AllSeen> {
        let mut seen = vec![vec![Vec::new(); self.plan.callers.len()]; filled.len()];
        let n_steps = self.plan.rounds * self.plan.callers.len() * filled.len() * 4;
        progress.begin("measuring", n_steps as u64);
        // Stores of different sizes are compared with each other, so they take turns.
        for round in 0..self.plan.rounds {
            for (which, &callers) in self.plan.callers.iter().enumerate() {
                for (store, by_callers) in filled.iter().zip(&mut seen) {
                    let what = format!(
                        "round {} of {}, {} handoffs, {callers} callers",
                        round + 1,
                        self.plan.rounds,
                        store.handoffs
                    );
                    let quartet = self.quartet(store, callers, round, &what, progress).await?;
                    by_callers[which].push(quartet);
                }
            }
        }
        Ok(seen)
    }

    /// All four, one after the other; which comes first changes from round to round.
    async fn quartet(
        &self,
        store: &Filled,
        callers: usize,
        round: usize,
        what: &str,
        progress: &dyn Progress,
    ) -> Result<Quartet> {
        let (mut raw, mut read, mut engine, mut server) = (None, None, None, None);
        for turn in 0..4 {
            match (turn + round) % 4 {
                0 => raw = Some(self.raw(store, callers).await.context("the raw limit")?),
                1 => read = Some(self.read(store, callers).await.context("the reads")?),
                2 => engine = Some(self.engine(store, callers).await.context("the engine")?),
                _ => server = Some(self.server(store, callers).await.context("the server")?),
            }
            progress.step(what);
        }
        let missing = "each of the four has its turn";
        Ok(Quartet {
            raw: raw.expect(missing),
            read: read.expect(missing),
            engine: engine.expect(missing),
            server: server.expect(missing),
        })
    }

    async fn raw(&self, store: &Filled, callers: usize) -> Result<Seen> {
        let folder = store.place(Growing::Raw)?;
        let (rows, window) = (self.rows.clone(), self.window);
        blocking(move || raw::measure(&folder, &rows, callers, window)).await
    }

    async fn engine(&self, store: &Filled, callers: usize) -> Result<Seen> {
        let folder = store.place(Growing::Real)?;
        let window = self.window;
        blocking(move || {
            let runtime = runtime_beside_writer()?;
            runtime.block_on(async {
                let (_keep_running, stopping) = watch::channel(false);
                let node = Node::start(&unlimited(folder), stopping)?;
                let walker = EngineWalker::new(node.engine.clone())?;
                let seen = drive(vec![walker; callers], window, Process::Own).await?;
                node.stop().await;
                Ok(seen)
            })
        })
        .await
    }

    async fn read(&self, store: &Filled, callers: usize) -> Result<Seen> {
        let folder = store.place(Growing::Real)?;
        let (tokens, window) = (store.tokens.clone(), self.window);
        blocking(move || {
            let server = Server::start(&folder)?;
            let seen = http::measure_reads(&server, &tokens, callers, window)?;
            server.stop()?;
            Ok(seen)
        })
        .await
    }

    async fn server(&self, store: &Filled, callers: usize) -> Result<Seen> {
        let folder = store.place(Growing::Real)?;
        let (tokens, window) = (store.tokens.clone(), self.window);
        blocking(move || {
            let server = Server::start(&folder)?;
            let seen = http::measure(&server, &tokens, callers, window)?;
            server.stop()?;
            Ok(seen)
        })
        .await
    }

    fn sum_up(&self, filled: &[Filled], seen: &AllSeen, age: age::Age, idle: Idle) -> Report {
        let row = |(callers, rounds): (&usize, &Vec<Quartet>)| Row::of(*callers, rounds);
        let of_store = |(store, by_callers): (&Filled, &Vec<Vec<Quartet>>)| StoreReport {
            handoffs: store.handoffs,
            filled_per_second: store.filled_per_second,
            database_bytes: store.database_bytes,
            measured: self.plan.callers.iter().zip(by_callers).map(row).collect(),
        };
        let stores: Vec<_> = filled.iter().zip(seen).map(of_store).collect();
        let growth: Vec<_> = match (seen.first(), seen.last()) {
            (Some(small), Some(large)) if seen.len() > 1 => {
                let sizes = small.iter().zip(large);
                let callers = self.plan.callers.iter();
                callers
                    .zip(sizes)
                    .map(|(n, (small, large))| report::growth(*n, small, large))
                    .collect()
            }
            (_, _) => Vec::new(),
        };
        Report {
            version: env!("CARGO_PKG_VERSION"),
            n_cores: std::thread::available_parallelism().map_or(1, usize::from),
            rounds: self.plan.rounds,
            seconds_per_measurement: self.plan.measured.as_secs_f64(),
            bars: report::bars(&stores, &growth, &age, &idle),
            stores,
            growth,
            age,
            idle,
        }
    }
}

/// The writer of the store is a thread of its own, and all wait for it: it should not have to wait
/// for a core.
fn runtime_beside_writer() -> Result<Runtime> {
    let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let n_threads = n_cores.saturating_sub(1).max(1);
    Ok(runtime::Builder::new_multi_thread().worker_threads(n_threads).enable_all().build()?)
}

async fn idle(store: &Filled) -> Result<Idle> {
    let folder = store.folder.clone();
    let server = blocking(move || Server::start(&folder)).await?;
    sleep(IDLE).await;
    let usage = server.process().usage();
    let ready_ms = server.ready_after.as_secs_f64() * 1_000.0;
    blocking(move || server.stop()).await?;
    let resident_mib = usage.map(|usage| usage.resident_bytes as f64 / 1_048_576.0);
    Ok(Idle { handoffs: store.handoffs, ready_ms, resident_mib })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.context("a measurement ended in a panic")?
}

/// A folder that is gone when the bench is.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn make(within: &Path) -> Result<Self> {
        let folder = within.join(format!("tasuki-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let folder = folder.canonicalize().context("the folder was just made")?;
        Ok(Self(folder))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tasuki::output::remark(&format!("cannot remove {}: {error}", self.0.display()));
        }
    }
}
