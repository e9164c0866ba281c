//! The stores that exist before anything is measured. They are filled through the engine, so that
//! they look like those of a server of that age.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::sync::watch;

use super::Progress;
use super::http::Tokens;
use super::load::{Meter, Walker, now};
use super::work::{EngineWalker, SENDER, TARGET, unlimited};
use tasuki::client::{Call, Client};
use tasuki::node::Node;

/// Enough callers to fill commit groups; more would only wait for each other.
const FILLING_CALLERS: usize = 256;

/// Progress is told once in so many handoffs.
const HANDOFFS_PER_STEP: u64 = 100;

/// A store of a certain size.
#[derive(Debug, Clone)]
pub struct Filled {
    pub handoffs: u64,
    pub folder: PathBuf,
    pub tokens: Tokens,
    pub filled_per_second: f64,
    pub database_bytes: u64,
    keep: Keep,
}

/// What happens to a store while it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// A small store would soon grow too large, so every measurement gets a copy.
    Pristine,
    /// A large store hardly grows.
    Grows,
}

/// Which of its two forms grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growing {
    /// By the engine and the server.
    Real,
    /// By the bare writer, whose rows only it understands.
    Raw,
}

impl Filled {
    /// The folder for the next measurement.
    pub fn place(&self, growing: Growing) -> Result<PathBuf> {
        let name = match growing {
            Growing::Real => "real",
            Growing::Raw => "raw",
        };
        let copy = self.folder.with_extension(name);
        match (self.keep, growing) {
            (Keep::Grows, Growing::Real) => Ok(self.folder.clone()),
            (Keep::Grows, Growing::Raw) if copy.exists() => Ok(copy),
            (Keep::Grows, Growing::Raw) | (Keep::Pristine, _) => {
                if copy.exists() {
                    fs::remove_dir_all(&copy)?;
                }
                copy_folder(&self.folder, &copy, growing)?;
                Ok(copy)
            }
        }
    }
}

/// Fills a store, beginning with a copy of a smaller one.
pub async fn fill(
    within: &Path,
    smaller: Option<&Filled>,
    handoffs: u64,
    progress: &dyn Progress,
) -> Result<Filled> {
    let folder = within.join(format!("store-{handoffs}"));
    let n_there = match smaller {
        Some(smaller) => {
            copy_folder(&smaller.folder, &folder, Growing::Real)?;
            smaller.handoffs
        }
        None => 0,
    };
    let (_keep_running, stopping) = watch::channel(false);
    let node = Node::start(&unlimited(folder.clone()), stopping)?;
    let tokens = match smaller {
        Some(smaller) => smaller.tokens.clone(),
        None => issue_tokens(&Client::in_process(node.router.clone())).await?,
    };
    let started = now();
    walk(&node, handoffs.saturating_sub(n_there), progress).await?;
    let seconds = started.elapsed().as_secs_f64();
    node.stop().await;
    // The store is closed, and a single file, once its last user is gone.
    let database_bytes = fs::metadata(folder.join(store::sqlite::FILE_NAME))?.len();
    Ok(Filled {
        handoffs,
        folder,
        tokens,
        filled_per_second: handoffs.saturating_sub(n_there) as f64 / seconds,
        database_bytes,
        keep: if smaller.is_none() { Keep::Pristine } else { Keep::Grows },
    })
}

async fn walk(node: &Node, n_handoffs: u64, progress: &dyn Progress) -> Result<()> {
    let n_begun = Arc::new(AtomicU64::new(0));
    let (done, mut n_done) = watch::channel(0_u64);
    let done = Arc::new(done);
    let mut tasks = Vec::with_capacity(FILLING_CALLERS);
    for _ in 0..FILLING_CALLERS {
        let mut walker = EngineWalker::new(node.engine.clone())?;
        let (n_begun, done) = (Arc::clone(&n_begun), Arc::clone(&done));
        tasks.push(tokio::spawn(async move {
            while n_begun.fetch_add(1, Ordering::Relaxed) < n_handoffs {
                walker.walk(&mut Meter::idle()).await?;
                done.send_modify(|n_done| *n_done += 1);
            }
            anyhow::Ok(())
        }));
    }
    drop(done);
    let mut n_told = 0;
    while n_done.wait_for(|n_done| *n_done >= n_told + HANDOFFS_PER_STEP).await.is_ok() {
        n_told += HANDOFFS_PER_STEP;
        progress.steps(HANDOFFS_PER_STEP);
    }
    for task in tasks {
        task.await.context("a caller ended in a panic")??;
    }
    Ok(())
}

pub(super) async fn issue_tokens(client: &Client) -> Result<Tokens> {
    let mut secrets = Vec::new();
    for agent in [SENDER, TARGET] {
        let call = Call::post("/v1/tokens", json!({ "agent": agent }));
        let issued = client.call(call).await?.success()?;
        secrets.push(issued["token"].as_str().context("a token was issued")?.to_owned());
    }
    let target = secrets.pop().context("there are two")?;
    let sender = secrets.pop().context("there are two")?;
    Ok(Tokens { sender, target })
}

/// A folder for a store that is to be made.
pub fn empty(within: &Path, name: &str) -> Result<PathBuf> {
    let folder = within.join(name);
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Copies the needed files and syncs them to disk, so that the copy does not disturb the
/// measurement.
pub(super) fn copy_folder(from: &Path, to: &Path, growing: Growing) -> Result<()> {
    fs::create_dir_all(to)?;
    for found in fs::read_dir(from)? {
        let found = found?;
        let (source, target) = (found.path(), to.join(found.file_name()));
        let kind = found.file_type()?;
        if kind.is_dir() && growing == Growing::Real {
            copy_folder(&source, &target, growing)?;
        }
        let is_wanted = growing == Growing::Real || found.file_name() == store::sqlite::FILE_NAME;
        if kind.is_file() && is_wanted {
            fs::copy(&source, &target)
                .with_context(|| format!("cannot copy {}", source.display()))?;
            fs::File::open(&target)?.sync_all()?;
        }
    }
    Ok(())
}
