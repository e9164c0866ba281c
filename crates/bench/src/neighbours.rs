//! What a hostile teamspace costs another. A victim works at a modest pace beside attackers that do
//! all that they may, as fast as they can, and again beside honest neighbours that make as many
//! requests as the attackers got admitted. [`attack`] has the attacks, [`victim`] what is measured.
//!
//! The server has its default settings and a process of its own. The attackers share the machine
//! with it, but would not in use: their threads run below its priority. The canary is the same on a
//! server without quotas and shares: it must break a limit that holds with them, or the measurement
//! shows nothing.

pub mod attack;
pub mod endpoint;
pub mod honest;
pub mod routine;
pub mod stage;
pub mod victim;
pub mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use tokio::sync::oneshot;

use super::load::{now, sleep};
use super::report::{Bar, at_least, at_most};
use super::{Progress, WARM_UP, blocking};

use self::attack::{Attack, Bodies, Counts, Target};
use self::stage::{Shares, Stage, Template};
use self::victim::Noticed;

/// The 99th percentile of the victim, of that beside honest neighbours.
pub const SLOWDOWN_MAX: f64 = 2.0;

/// No request of the victim takes longer, and no verdict of its gate.
pub const REQUEST_MS_MAX: f64 = 1_000.0;

/// The deadlines are looked at once a second.
pub const DEADLINE_LATE_MS_MAX: f64 = 2_000.0;
pub const DELIVERY_LATE_MS_MAX: f64 = 2_000.0;

/// The server, whatever one teamspace does.
pub const MEMORY_MIB_MAX: f64 = 1_024.0;

/// What a teamspace sends in a minute, `teamspace_kib_per_minute`.
const SENT_MIB_PER_MINUTE: f64 = 1_024.0;

/// A byte that is sent is stored once, and waits in the write-ahead log meanwhile.
const DISK_PER_BYTE: f64 = 2.0;

/// The attack that uses up the most.
pub const CANARY: Attack = Attack::Uploads;

/// What to measure.
#[derive(Debug, Clone)]
pub struct NeighboursPlan {
    /// The executable that is the server with the argument `serve`.
    pub server: PathBuf,
    /// Each on its own.
    pub attacks: Vec<Attack>,
    pub each: Duration,
    /// How often each is measured, in turns with the honest neighbours.
    pub rounds: usize,
    /// All of them at once, and the canary.
    pub together: Duration,
    pub priority: Priority,
}

/// Of the neighbours of the victim, on the machine that they share with the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// They run only while the processor has nothing else to do: on other machines they would not
    /// take the server's processor.
    Idle,
    /// They run like everything else, also on a machine that is busy.
    Normal,
}

/// Everything, as it is printed.
#[derive(Debug, Clone, Serialize)]
pub struct NeighboursReport {
    pub version: &'static str,
    pub tokens_of_each_kind: usize,
    pub rows: Vec<Row>,
    /// Only if its attack is among the others.
    pub canary: Option<Canary>,
    pub bars: Vec<Bar>,
}

/// One attack, and honest neighbours that got as much.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub attack: String,
    pub seconds: f64,
    /// By their slowdowns.
    pub rounds: Vec<Round>,
    /// The median of all rounds; of the other limits the worst.
    pub slowdown: f64,
    pub bars: Vec<Bar>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Round {
    pub hostile: Measured,
    pub honest: Measured,
    /// The victim's 99th percentiles, the first against the second.
    pub slowdown: f64,
}

/// One attack for as long as all together, with quotas and shares and without.
#[derive(Debug, Clone, Serialize)]
pub struct Canary {
    pub kept: Row,
    pub off: Row,
    /// The limits that hold only with them.
    pub broken: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    pub victim: Noticed,
    pub admitted_per_second: f64,
    pub refused_per_second: f64,
    pub cut_off_per_second: f64,
    /// The most that the server had in memory.
    pub peak_mib: Option<f64>,
    /// The growth of the data folder.
    pub disk_mib: f64,
}

/// Who is beside the victim.
#[derive(Debug, Clone)]
enum Beside {
    Attackers(Vec<Attack>),
    Honest { per_second: f64 },
}

pub async fn run(
    plan: &NeighboursPlan,
    within: &Path,
    progress: &dyn Progress,
) -> Result<NeighboursReport> {
    let template = Template::make(within, plan.server.clone(), plan.priority).await?;
    let template = Arc::new(template);
    progress.begin("measuring", plan.attacks.len() as u64 + 2);
    let mut rows = Vec::new();
    for &attack in &plan.attacks {
        progress.step(attack.name());
        let length = (plan.each, plan.rounds);
        rows.push(row(&template, &[attack], length, Shares::Kept).await?);
    }
    progress.step("all together");
    rows.push(row(&template, &plan.attacks, (plan.together, 1), Shares::Kept).await?);
    let mut bars = sum_up(&rows);
    let mut canary = None;
    if plan.attacks.contains(&CANARY) {
        progress.step("the canary");
        let measured = run_canary(&template, plan.together).await?;
        let what = format!("limits of `{}` that hold only with quotas and shares", CANARY.name());
        bars.push(at_least(what, 1.0, measured.broken.len() as f64));
        canary = Some(measured);
    }
    let (version, tokens_of_each_kind) = (env!("CARGO_PKG_VERSION"), stage::TOKENS);
    Ok(NeighboursReport { version, tokens_of_each_kind, rows, canary, bars })
}

async fn run_canary(template: &Arc<Template>, window: Duration) -> Result<Canary> {
    let kept = row(template, &[CANARY], (window, 1), Shares::Kept).await?;
    let off = row(template, &[CANARY], (window, 1), Shares::Off).await?;
    let pairs = kept.bars.iter().zip(&off.bars);
    let broken = pairs.filter(|(kept, off)| kept.met && !off.met);
    let broken = broken.map(|(_, off)| off.what.clone()).collect();
    Ok(Canary { kept, off, broken })
}

async fn row(
    template: &Arc<Template>,
    attacks: &[Attack],
    (window, n_rounds): (Duration, usize),
    shares: Shares,
) -> Result<Row> {
    let mut rounds = Vec::with_capacity(n_rounds);
    for _ in 0..n_rounds {
        let beside = Beside::Attackers(attacks.to_vec());
        let hostile = measure(template, beside, window, shares).await?;
        let per_second = hostile.admitted_per_second;
        let honest = measure(template, Beside::Honest { per_second }, window, shares).await?;
        let slowdown = hostile.victim.p99_ms / honest.victim.p99_ms;
        rounds.push(Round { hostile, honest, slowdown });
    }
    let attack = match attacks {
        [one] => one.name().to_owned(),
        _ => "all together".to_owned(),
    };
    Ok(Row::new(attack, window, rounds))
}

impl Row {
    fn new(attack: String, window: Duration, mut rounds: Vec<Round>) -> Self {
        rounds.sort_by(|one, other| one.slowdown.total_cmp(&other.slowdown));
        let slowdown = rounds[rounds.len() / 2].slowdown;
        let bars = rounds.iter().flat_map(|round| limits(&round.hostile, slowdown, window));
        let bars = worst(bars.map(|bar| (bar, ()))).into_iter().map(|(bar, ())| bar).collect();
        Self { attack, seconds: window.as_secs_f64(), rounds, slowdown, bars }
    }

    /// The round whose slowdown counts.
    pub fn median(&self) -> &Round {
        &self.rounds[self.rounds.len() / 2]
    }
}

/// One server, one victim, and what is beside it.
async fn measure(
    template: &Arc<Template>,
    beside: Beside,
    window: Duration,
    shares: Shares,
) -> Result<Measured> {
    let of_stage = Arc::clone(template);
    let stage = blocking(move || of_stage.open(shares)).await?;
    let process = stage.server.process();
    let disk = stage.disk_bytes()?;
    let counts = Arc::<Counts>::default();
    let (stop, stopped) = oneshot::channel::<()>();
    let loading = load(template, &stage, beside, Arc::clone(&counts), stopped);
    sleep(WARM_UP).await;
    process.forget_peak();
    let before = [&counts.admitted, &counts.refused, &counts.cut_off].map(read);
    let started = now();
    let over = Arc::new(AtomicBool::new(false));
    let working = tokio::spawn(victim(template, &stage, Arc::clone(&over)));
    sleep(window).await;
    over.store(true, Ordering::Relaxed);
    let seconds = started.elapsed().as_secs_f64();
    let after = [&counts.admitted, &counts.refused, &counts.cut_off].map(read);
    let disk_mib = stage.disk_bytes()?.saturating_sub(disk) as f64 / 1_048_576.0;
    // The neighbours go on until the last deadline of the victim was told of.
    let noticed = working.await.context("the victim ended in a panic")??;
    let peak = process.usage().map(|usage| usage.peak_bytes as f64 / 1_048_576.0);
    drop(stop);
    blocking(move || {
        loading.join().map_err(|_| anyhow!("the neighbours ended in a panic"))??;
        stage.server.stop()
    })
    .await?;
    let rate = |at: usize| (after[at] - before[at]) as f64 / seconds;
    Ok(Measured {
        victim: noticed,
        admitted_per_second: rate(0),
        refused_per_second: rate(1),
        cut_off_per_second: rate(2),
        peak_mib: peak,
        disk_mib,
    })
}

fn read(count: &AtomicU64) -> u64 {
    count.load(Ordering::Relaxed)
}

/// From now on the calling thread runs only while the processor has nothing else to do.
fn give_way() -> Result<()> {
    #[cfg(target_os = "linux")]
    {
        use thread_priority::{NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy};
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        let (thread, lowest) = (thread_priority::thread_native_id(), ThreadPriority::Min);
        let lowered = thread_priority::set_thread_priority_and_policy(thread, lowest, idle);
        lowered.map_err(|error| anyhow!("cannot lower the priority: {error:?}"))?;
    }
    Ok(())
}

/// The neighbours, on a thread of their own, until they are stopped.
fn load(
    template: &Template,
    stage: &Stage,
    beside: Beside,
    counts: Arc<Counts>,
    stopped: oneshot::Receiver<()>,
) -> JoinHandle<Result<()>> {
    let address = stage.server.address;
    let (honest, hostile) = (Arc::clone(&template.honest), Arc::clone(&template.hostile));
    let priority = template.priority;
    std::thread::spawn(move || {
        match priority {
            Priority::Idle => give_way()?,
            Priority::Normal => {}
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let working = async {
                match beside {
                    Beside::Honest { per_second } => {
                        honest::run(address, honest, per_second, counts).await;
                    }
                    Beside::Attackers(attacks) => {
                        let silent = endpoint::silent().await?;
                        let bodies = Arc::new(Bodies::new(&silent));
                        let target = Target { address, team: hostile, silent, bodies, counts };
                        attack::run(&attacks, target).await;
                    }
                }
                anyhow::Ok(())
            };
            tokio::select! {
                ended = working => ended,
                _ = stopped => Ok(()),
            }
        })
    })
}

/// The victim, on a thread of its own.
fn victim(
    template: &Template,
    stage: &Stage,
    over: Arc<AtomicBool>,
) -> impl Future<Output = Result<Noticed>> + use<> {
    let (address, team) = (stage.server.address, Arc::clone(&template.victim));
    let artifact = template.artifact();
    blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(victim::work(address, team, artifact, over))
    })
}

/// The limits of one measurement.
fn limits(hostile: &Measured, slowdown: f64, window: Duration) -> Vec<Bar> {
    let victim = &hostile.victim;
    let disk_mib_max = disk_mib_max(window);
    let at_most = |what: &str, bar, unit, measured| at_most(what.to_owned(), bar, unit, measured);
    let mut bars = vec![
        at_most("p99, of that beside honest ones", SLOWDOWN_MAX, " ×", slowdown),
        at_most("longest request", REQUEST_MS_MAX, " ms", victim.max_ms),
        at_most("requests that failed", 0.0, "", victim.failed as f64),
        at_most("verdicts after the answer", 0.0, "", victim.undecided as f64),
        at_most("longest verdict of the gate", REQUEST_MS_MAX, " ms", victim.gate_ms_max),
        at_most("lateness of deadlines", DEADLINE_LATE_MS_MAX, " ms", victim.deadline_late_ms_max),
        at_most("deadlines that were missed", 0.0, "", victim.missing as f64),
        at_most("lateness of deliveries", DELIVERY_LATE_MS_MAX, " ms", victim.delivery_late_ms_max),
        at_most("growth on disk", disk_mib_max, " MiB", hostile.disk_mib),
    ];
    bars.extend(hostile.peak_mib.map(|mib| at_most("memory", MEMORY_MIB_MAX, " MiB", mib)));
    bars
}

/// A quiet teamspace may send the share of a minute at once, and then as it refills.
fn disk_mib_max(window: Duration) -> f64 {
    (SENT_MIB_PER_MINUTE * DISK_PER_BYTE * (1.0 + window.as_secs_f64() / 60.0)).round()
}

/// The worst of all attacks, limit by limit.
fn sum_up(rows: &[Row]) -> Vec<Bar> {
    let all = rows.iter().flat_map(|row| row.bars.iter().map(|bar| (bar.clone(), &row.attack)));
    let named =
        |(bar, attack): (Bar, &String)| Bar { what: format!("{} ({attack})", bar.what), ..bar };
    worst(all).into_iter().map(named).collect()
}

/// Of each limit the measurement that is farthest beyond it, or closest to it.
fn worst<T>(all: impl Iterator<Item = (Bar, T)>) -> Vec<(Bar, T)> {
    let mut worst: Vec<(Bar, T)> = Vec::new();
    for one in all {
        // The limit on disk grows with the time.
        let is_same = |known: &Bar| known.what == one.0.what && known.wanted == one.0.wanted;
        match worst.iter_mut().find(|(known, _)| is_same(known)) {
            Some(known) if one.0.measured > known.0.measured => *known = one,
            Some(_) => {}
            None => worst.push(one),
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(attack: &str, slowdown: f64, disk_mib: f64) -> Row {
        let victim = Noticed {
            requests: 100,
            failed: 0,
            p50_ms: 1.0,
            p99_ms: 2.0,
            max_ms: 3.0,
            gates: 1,
            undecided: 0,
            gate_ms_max: 4.0,
            deadlines: 1,
            deadline_late_ms_max: 900.0,
            deliveries: 5,
            delivery_late_ms_max: 20.0,
            missing: 0,
        };
        let measured = Measured {
            victim,
            admitted_per_second: 10.0,
            refused_per_second: 0.0,
            cut_off_per_second: 0.0,
            peak_mib: Some(50.0),
            disk_mib,
        };
        let window = Duration::from_secs(60);
        let round = |slowdown| {
            let (hostile, honest) = (measured.clone(), measured.clone());
            Round { hostile, honest, slowdown }
        };
        let rounds = [9.0 * slowdown, slowdown, 0.1].map(round).to_vec();
        Row::new(attack.to_owned(), window, rounds)
    }

    #[test]
    fn the_worst_attack_is_named_by_each_limit() {
        let rows = [row("reads", 1.5, 7_000.0), row("writes", 2.5, 1.0)];
        let bars = sum_up(&rows);
        let told = |what: &str| {
            let bar = bars.iter().find(|bar| bar.what.starts_with(what)).expect("it has a limit");
            (bar.what.clone(), bar.met)
        };
        assert_eq!(told("p99"), ("p99, of that beside honest ones (writes)".to_owned(), false));
        assert_eq!(told("growth on disk"), ("growth on disk (reads)".to_owned(), false));
        assert_eq!(told("longest request"), ("longest request (reads)".to_owned(), true));
        assert_eq!(bars.len(), 10);
    }
}
