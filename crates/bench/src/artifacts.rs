//! How much verifying large artifacts slows down other callers: the same callers at the same pace,
//! with and without hashing beside them, in turns.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use engine::Engine;
use protocol::caller::Caller;
use protocol::handoff::artifact::Finding;
use protocol::handoff::package::{Artifact, ArtifactKind, ArtifactRef};
use protocol::ids::TeamspaceId;
use serde::Serialize;
use tokio::sync::watch;

use super::load::{Meter, Seen, Walker, Window, drive, now, sleep};
use super::report::{Bar, at_most, median};
use super::usage::Process;
use super::work::{self, EngineWalker};
use super::{WARM_UP, stores};
use tasuki::config::{Artifacts, Config};
use tasuki::node::Node;

/// Hashing may slow other callers down at most this much.
pub const SLOWDOWN_MAX: f64 = 1.5;

/// Room for buffers, but for nothing that grows with the artifact.
pub const GROWTH_MIB_MAX: f64 = 32.0;

/// A few callers with idle time left over: none waits for the processor.
const CALLERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(40);

/// What to measure.
#[derive(Debug, Clone, Copy)]
pub struct ArtifactsPlan {
    pub mebibytes: u64,
    pub rounds: usize,
    pub measured: Duration,
}

/// Everything, as it is printed.
#[derive(Debug, Clone, Serialize)]
pub struct ArtifactsReport {
    pub version: &'static str,
    pub mebibytes: u64,
    pub rounds: Vec<Round>,
    pub hashed_mib_per_second: f64,
    pub bars: Vec<Bar>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Round {
    pub calm_p99_ms: f64,
    pub hashing_p99_ms: f64,
    pub slowdown: f64,
    pub growth_mib: Option<f64>,
}

pub async fn run(plan: &ArtifactsPlan, folder: &Path) -> Result<ArtifactsReport> {
    let root = folder.join("artifacts");
    std::fs::create_dir(&root).context("cannot make a folder for the artifact")?;
    let path = root.join("image");
    let file = std::fs::File::create(&path).context("cannot make an artifact")?;
    file.set_len(plan.mebibytes * 1_048_576).context("cannot make an artifact")?;
    let artifacts = Artifacts { roots: vec![root], ..Artifacts::default() };
    let data = stores::empty(folder, "beside")?;
    let (_keep_running, stopping) = watch::channel(false);
    let node = Node::start(&Config { artifacts, ..work::unlimited(data) }, stopping)?;
    work::register_agents(&node.engine).await?;
    let artifact = artifact(&path);
    let hashed_mib_per_second = rate(&node.engine, &artifact, plan.mebibytes).await?;
    let mut rounds = Vec::new();
    for _ in 0..plan.rounds {
        rounds.push(round(&node.engine, &artifact, plan).await?);
    }
    node.stop().await;
    let slowdown = median(rounds.iter().map(|round| round.slowdown));
    let mut bars =
        vec![at_most("others' p99 while hashing".to_owned(), SLOWDOWN_MAX, " ×", slowdown)];
    if let Some(growth) = rounds.iter().map(|round| round.growth_mib).collect::<Option<Vec<_>>>() {
        let largest = growth.into_iter().fold(0.0, f64::max);
        bars.push(at_most("more memory while hashing".to_owned(), GROWTH_MIB_MAX, " MiB", largest));
    }
    let (version, mebibytes) = (env!("CARGO_PKG_VERSION"), plan.mebibytes);
    Ok(ArtifactsReport { version, mebibytes, rounds, hashed_mib_per_second, bars })
}

async fn round(engine: &Engine, artifact: &Artifact, plan: &ArtifactsPlan) -> Result<Round> {
    let window = Window { warm_up: WARM_UP, measured: plan.measured };
    let callers = || -> Result<Vec<Paced>> {
        (0..CALLERS).map(|_| Ok(Paced(EngineWalker::new(engine.clone())?))).collect()
    };
    let calm = drive(callers()?, window, Process::Own).await?;
    let busy = tokio::select! {
        seen = drive(callers()?, window, Process::Own) => seen?,
        failed = hash_for_ever(engine, artifact) => return Err(failed),
    };
    let peak = |seen: &Seen| seen.peak_mib;
    Ok(Round {
        calm_p99_ms: calm.p99_ms,
        hashing_p99_ms: busy.p99_ms,
        slowdown: busy.p99_ms / calm.p99_ms,
        growth_mib: peak(&busy).zip(peak(&calm)).map(|(busy, calm)| (busy - calm).max(0.0)),
    })
}

async fn rate(engine: &Engine, artifact: &Artifact, mebibytes: u64) -> Result<f64> {
    let started = now();
    look(engine, artifact).await?;
    Ok(mebibytes as f64 / started.elapsed().as_secs_f64())
}

async fn hash_for_ever(engine: &Engine, artifact: &Artifact) -> anyhow::Error {
    loop {
        if let Err(error) = look(engine, artifact).await {
            return error;
        }
    }
}

async fn look(engine: &Engine, artifact: &Artifact) -> Result<()> {
    let reader = Caller::system(TeamspaceId::default_teamspace());
    let seen = engine
        .outbox()
        .look(&reader, vec![artifact.clone()])
        .await
        .context("artifact checks are not available")?;
    match seen.first().map(|seen| &seen.finding) {
        Some(Finding::Verified { .. }) => Ok(()),
        other => anyhow::bail!("the artifact was not verified: {other:?}"),
    }
}

fn artifact(path: &Path) -> Artifact {
    Artifact {
        artifact_id: "image".to_owned(),
        reference: ArtifactRef {
            description: None,
            path: path.display().to_string(),
            required: None,
            sha256: None,
            size_bytes: None,
            kind: ArtifactKind::File,
            version: None,
        },
    }
}

/// A caller that rests between two handoffs.
struct Paced(EngineWalker);

impl Walker for Paced {
    async fn walk(&mut self, meter: &mut Meter) -> Result<()> {
        sleep(PAUSE).await;
        self.0.walk(meter).await
    }
}
