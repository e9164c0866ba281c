//! Assembles a server: store, engine, loops, followers and gateway. The same parts serve a network,
//! a single command without a server, and tests.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aaep::keys::KeyRing;

use adapters::aaep_keys::KeyFile;
use adapters::artifacts::Artifacts;
use adapters::audit_log::log::Log;
use adapters::checkpoint_file::{CheckpointFiles, CheckpointPlaces};
use adapters::effect_runner::EffectRunner;
use adapters::files::FileFolder;
use adapters::webhook::Webhook;
use adapters::{audit_log, checkpoint_file, ledger_key};
use anyhow::{Context, Result, bail};
use axum::Router;
use engine::aaep::manifest_signing::ManifestSigner;
use engine::ports::clock::{Clock, SystemClock};
use engine::ports::ids::{Ids, RandomIds};
use engine::{Engine, Loops};
use gateways::http::{Aaep, Api, CompatSettings, Open, Origins, Player, Served};
use gateways::listen::ConnectionCounts;
use gateways::proxy::TrustedProxies;
use protocol::checkpoint::{Checkpoint, Signer};
use protocol::ids::TeamspaceId;
use protocol::ledger::Stream;
use protocol::merkle::Edge;
use protocol::quota::Limits;
use protocol::row_mac::RowKey;
use store::Sqlite;
use store::sqlite::{FILE_NAME, Migrated, ReadOnly, sign_rows};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::config::{self, Config};
use crate::scripted::at_work::{self, AtWork};
use crate::slow_threads::SlowThreads;
use crate::witnesses::{self, Completeness, Witnesses};
use crate::{audit, telemetry, usage};
use gateways::slow_lane::SlowLane;

/// The socket through which the command line reaches a running server.
pub const CONTROL_SOCKET: &str = "control.sock";

/// The next entry would follow one that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the newest entry of {} cannot be read", .0.display())]
pub struct UnreadableEntry(pub PathBuf);

/// A server without its network.
#[derive(Debug)]
pub struct Node {
    pub engine: Engine,
    pub router: Router,
    /// The state of AAEP, for its Unix socket.
    pub aaep: Aaep,
    pub connections: Arc<ConnectionCounts>,
    pub slow_lane: Arc<SlowLane>,
    loops: Loops,
    /// The scripted agent, if it runs, and whether it is ready.
    scripted: Option<Scripted>,
    followers: Vec<JoinHandle<()>>,
    stop_followers: watch::Sender<bool>,
    _slow_threads: SlowThreads,
}

/// The scripted agent, which runs within this process.
#[derive(Debug)]
struct Scripted {
    work: JoinHandle<()>,
    ready: watch::Receiver<bool>,
}

impl Node {
    /// Opens the data folder, creating it if needed, and starts everything that runs beside
    /// requests. `stopping` turns true when streams shall end.
    pub fn start(config: &Config, stopping: watch::Receiver<bool>) -> Result<Self> {
        make_folder(&config.data)?;
        check_newest(&config.data)?;
        let store = Sqlite::open_with(&config.data, durability())?;
        check_schema(&config.data)?;
        let ids = Arc::new(RandomIds);
        let signer = ledger_key::open(&config.data, || ids.bytes())?;
        let witness = config.ledger.open_witness(&config.data, signer.key_name())?;
        let beside = CheckpointFiles::open(&config.data)?;
        let newest = ReadOnly::open(&config.data)?.newest_entry()?;
        if newest.is_none() {
            begin_checkpoints(&config.data, &beside, &signer)?;
        }
        let witnesses = Witnesses::open(&config.ledger, &config.data, signer.key_name())?;
        let checkpoints = CheckpointPlaces { beside, witness, http: witnesses.http.clone() };
        sign_rows_once(&config.data, &signer)?;
        let row_key = signer.row_key();
        let engine = Engine::new(Arc::new(store), Arc::new(SystemClock), ids);
        let engine = keeping_files(config, engine)?
            .asking_with(signer.reply_key())
            .sealing_cursors_with(signer.cursor_key())
            .authenticating_rows_with(row_key.clone())
            .with_quotas(Limits::default().with(&config.quotas));
        if let Some(newest) = newest {
            engine.access().note_time(newest.entry.at);
        }
        let check = Completeness::new(config.data.clone(), witnesses, &signer);
        check_complete(&check, &engine)?;
        let n_uncounted = usage::fill(&engine, &config.data)?;
        usage::look_at_disk(&engine, &config.data, config.storage.reserve_mib);
        let artifacts = Artifacts::new(config.artifacts.settings())?;
        let wake_key = signer.wake_key();
        let witness = config.witness.open(&config.data, &signer)?;
        let webhook = Webhook::new(wake_key.clone(), config.messages.wake_private_addresses);
        let webhook = if config.dev { webhook.calling_this_machine() } else { webhook };
        let outside = Arc::new(EffectRunner::new(artifacts, config.workq.open()?, webhook));
        let retention = config.messages.retention(&config.data);
        let loops = engine.start(signer, Arc::new(checkpoints), outside, retention);
        let (stop_followers, stopped) = watch::channel(false);
        let mut followers = followers(config, &engine, row_key, n_uncounted, &stopped);
        let push = witnesses::push(engine.clone(), Arc::new(check), stopped);
        followers.push(tokio::spawn(push));
        let connections = Arc::new(ConnectionCounts::default());
        let (scripted, compat) = scripted(&config.aaep, &engine, &stopping);
        let slow_threads = SlowThreads::start().context("cannot start threads")?;
        let slow_lane =
            SlowLane::new(slow_threads.runtimes().filter(|_| config.limits.fair_shares));
        let api = api(config, &engine, &connections, stopping)?
            .waking_with(wake_key)
            .witnessing(witness)
            .with_slow_lane(Arc::clone(&slow_lane))
            .with_compat(compat);
        let Served { router, aaep } = api.serve();
        Ok(Self {
            engine,
            router,
            aaep,
            connections,
            slow_lane,
            loops,
            scripted,
            followers,
            stop_followers,
            _slow_threads: slow_threads,
        })
    }

    /// Returns once the scripted agent is ready.
    pub async fn ready(&self) {
        if let Some(Scripted { ready, .. }) = &self.scripted {
            // An error means that it has ended, which it logs itself.
            let _ = ready.clone().wait_for(|ready| *ready).await;
        }
    }

    /// Finishes pending writes: the last checkpoint, the last lines of the audit log.
    pub async fn stop(self) {
        if let Some(Scripted { work, .. }) = self.scripted
            && let Err(error) = work.await
        {
            tracing::error!(%error, "the scripted agent did not end cleanly");
        }
        self.loops.stop().await;
        self.stop_followers.send_replace(true);
        for follower in self.followers {
            if let Err(error) = follower.await {
                tracing::error!(%error, "the audit log did not end cleanly");
            }
        }
    }
}

/// The API, as the settings say.
fn api(
    config: &Config,
    engine: &Engine,
    connections: &Arc<ConnectionCounts>,
    stopping: watch::Receiver<bool>,
) -> Result<Api> {
    let proxies =
        TrustedProxies::parse(&config.trusted_proxies).context("cannot use trusted_proxies")?;
    let origins = Origins::parse(&config.ws_origins).context("cannot use ws_origins")?;
    let (engine, limits) = (engine.clone(), config.request_limits());
    let api = Api::new(engine, limits, proxies, Arc::clone(connections), stopping)
        .signing_manifests_with(manifest_signer(config)?)
        .allowing_origins(origins)
        .showing_metrics_to(config.metrics);
    Ok(match config.telemetry.traces_url()? {
        Some(_) => api.joining_traces(telemetry::join_trace),
        None => api,
    })
}

/// Files lie in a folder beside the database.
fn keeping_files(config: &Config, engine: Engine) -> Result<Engine> {
    let cannot = || format!("cannot use the files in {}", config.data.display());
    let folder = FileFolder::open(&config.data).with_context(cannot)?;
    let uploads = folder.open_uploads().with_context(cannot)?;
    Ok(engine.keeping_files(Arc::new(folder), uploads, config.storage.file_bytes_max()))
}

/// What runs beside the engine: the logs, the scrub, and the count of what is used.
fn followers(
    config: &Config,
    engine: &Engine,
    row_key: RowKey,
    n_uncounted: u64,
    stopped: &watch::Receiver<bool>,
) -> Vec<JoinHandle<()>> {
    let (engine, data) = (|| engine.clone(), || config.data.clone());
    let follow = |log| audit_log::run(engine(), data(), log, stopped.clone());
    let mut followers: Vec<_> = Log::ALL.map(|log| tokio::spawn(follow(log))).into();
    let rows_per_second = config.ledger.scrub_rows_per_second;
    let scrub = audit::scrub::run(engine(), data(), row_key, rows_per_second, stopped.clone());
    let files = audit::file_scrub::run(engine(), data(), rows_per_second, stopped.clone());
    let stored = usage::count_stored(engine(), data(), n_uncounted, stopped.clone());
    let reserve_mib = config.storage.reserve_mib;
    let reserve = usage::keep_reserve(engine(), data(), reserve_mib, stopped.clone());
    followers.extend([
        tokio::spawn(scrub),
        tokio::spawn(files),
        tokio::spawn(stored),
        tokio::spawn(reserve),
    ]);
    followers
}

/// Before the database is opened for writing, so that it stays as it is. Opening it reports
/// whatever else is wrong with it.
fn check_newest(folder: &Path) -> Result<()> {
    let path = folder.join(FILE_NAME);
    let Ok(store) = ReadOnly::open(folder) else { return Ok(()) };
    if let Ok(Migrated::Completely | Migrated::Partly { .. }) = store.check_version(&path) {
        store.newest_entry().with_context(|| UnreadableEntry(path))?;
    }
    Ok(())
}

/// A trigger of others can make the database forget what the server acknowledges.
fn check_schema(folder: &Path) -> Result<()> {
    for difference in ReadOnly::open(folder)?.schema_differences()? {
        if difference.starts_with("the trigger") {
            bail!("{}: {difference}; remove it first", folder.join(FILE_NAME).display());
        }
        tracing::warn!("the schema of the database: {difference}");
    }
    Ok(())
}

/// Before the first entry, so that a ledger without checkpoints is known to lack them. The rows are
/// marked as signed after this, so an empty ledger that is marked has had its checkpoints.
fn begin_checkpoints(folder: &Path, beside: &CheckpointFiles, signer: &Signer) -> Result<()> {
    let was_started = ledger_key::has_signed_rows(folder)?;
    if !was_started && checkpoint_file::is_new(folder)? {
        let (origin, root) = (signer.key_name().to_owned(), Edge::empty().root());
        beside.begin(&signer.sign(&Checkpoint { origin, size: 0, root }))?;
    }
    Ok(())
}

/// A ledger that does not match its checkpoints is read, and not written to.
fn check_complete(check: &Completeness, engine: &Engine) -> Result<()> {
    if let Some(behind) = check.check()? {
        tracing::error!("{behind}: it is read, and not written to");
        engine.ledger().fall_behind(behind);
    }
    Ok(())
}

/// Signs the rows of an older release, or of a ledger whose key was lost: once, as the key says
/// from then on. Snapshots that do not follow from the ledger are not signed, and so are not
/// believed.
fn sign_rows_once(folder: &Path, signer: &Signer) -> Result<()> {
    if ledger_key::has_signed_rows(folder)? {
        return Ok(());
    }
    if ReadOnly::open(folder)?.newest()? > 0 {
        tracing::warn!(
            file = ledger_key::KEY_FILE,
            "no row is signed with this key yet: all rows are compared with the ledger and signed"
        );
    }
    let doubtful = audit::doubtful_streams(folder)?;
    for Stream { teamspace, subject } in &doubtful {
        tracing::error!("the snapshot of {subject} in {teamspace} is not believed: it is wrong");
    }
    sign_rows(folder, &signer.row_key(), &doubtful)?;
    Ok(ledger_key::mark_rows_signed(folder)?)
}

/// The scripted agent, if it runs here, and the channel to reach it.
fn scripted(
    settings: &config::Aaep,
    engine: &Engine,
    stopping: &watch::Receiver<bool>,
) -> (Option<Scripted>, CompatSettings) {
    let Some(manner) = settings.manner() else { return (None, CompatSettings::default()) };
    let (say, words) = mpsc::channel(at_work::WORDS_MAX);
    let (ready, is_ready) = watch::channel(false);
    let (engine, stopping) = (engine.clone(), stopping.clone());
    let work = tokio::spawn(AtWork { engine, manner, words, stopping, ready }.run());
    let agent = at_work::agent_id();
    let open = Open { agent: agent.clone(), caller: at_work::listener() };
    let player = Player { teamspace: TeamspaceId::default_teamspace(), agent, words: say };
    let open = settings.is_open().then_some(open);
    (Some(Scripted { work, ready: is_ready }), CompatSettings { open, player: Some(player) })
}

/// Our manifest and the keys that sign it, made on the first start.
fn manifest_signer(config: &Config) -> Result<Arc<ManifestSigner>> {
    let file = KeyFile::new(&config.data);
    let keys =
        file.open(|| KeyRing::new(&RandomIds.bytes(), &RandomIds.bytes(), SystemClock.now()))?;
    // Each active subscription is a stream, so the limit of streams applies.
    let n_subscriptions = u32::try_from(config.limits.streams).unwrap_or(u32::MAX);
    let mut manifest =
        protocol::narrator::manifest::of_server(env!("CARGO_PKG_VERSION"), n_subscriptions);
    if config.aaep_socket.as_os_str().is_empty() {
        manifest.transports_supported.retain(|name| name != "unix-socket");
    }
    Ok(ManifestSigner::new(keys, Box::new(file), manifest))
}

pub fn control_socket(data: &Path) -> PathBuf {
    data.join(CONTROL_SOCKET)
}

pub(crate) fn make_folder(data: &Path) -> Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data)
        .with_context(|| format!("cannot make the data folder {}", data.display()))
}

/// Test builds can be told to skip durability, to show that the tests would notice. Release builds
/// cannot.
fn durability() -> store::sqlite::Durability {
    let is_canary = cfg!(debug_assertions)
        && std::env::var_os("TASUKI_CANARY").is_some_and(|canary| canary == "no_sync");
    if is_canary {
        store::sqlite::Durability::ProcessCrashOnly
    } else {
        store::sqlite::Durability::Full
    }
}
