//! Whether an old stream costs more than a young one: a draft that was edited many times, against a
//! new one.

use std::path::Path;

use anyhow::{Context, Result};
use engine::Engine;
use protocol::caller::Caller;
use protocol::handoff::{Command, Offer};
use protocol::ledger::{Stream, Subject};
use protocol::step;
use serde::Serialize;
use tokio::sync::watch;

use super::load::now;
use super::report::median;
use super::work::{SENDER, caller_of, offer_json, register_agents, teamspace, unlimited};
use tasuki::node::Node;

/// Timed edits of each of the two, in turns, so that both run under the same machine load.
const TIMED_EDITS: usize = 300;

/// The cost of an edit, by the age of the draft.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Age {
    /// How often the old one was edited before.
    pub n_edits: usize,
    /// Medians.
    pub young_ms: f64,
    pub old_ms: f64,
    pub old_of_young: f64,
}

pub async fn measure(folder: &Path, n_edits: usize) -> Result<Age> {
    let config = unlimited(folder.to_owned());
    let (_keep_running, stopping) = watch::channel(false);
    let node = Node::start(&config, stopping)?;
    register_agents(&node.engine).await?;
    let (old, young) = (Editor::new(&node.engine)?, Editor::new(&node.engine)?);
    for _ in 0..n_edits {
        old.edit().await?;
    }
    let (mut old_ms, mut young_ms) = (Vec::new(), Vec::new());
    for _ in 0..TIMED_EDITS {
        young_ms.push(young.edit().await?);
        old_ms.push(old.edit().await?);
    }
    node.stop().await;
    let (young_ms, old_ms) = (median(young_ms.into_iter()), median(old_ms.into_iter()));
    Ok(Age { n_edits, young_ms, old_ms, old_of_young: old_ms / young_ms })
}

/// The editor of one draft.
struct Editor {
    engine: Engine,
    sender: Caller,
    stream: Stream,
    offer: Offer,
}

impl Editor {
    fn new(engine: &Engine) -> Result<Self> {
        let offer = serde_json::from_value(offer_json("BENCH-AGE")).context("a valid offer")?;
        let subject = Subject::Handoff(engine.new_handoff_id());
        let stream = Stream { teamspace: teamspace(), subject };
        Ok(Self { engine: engine.clone(), sender: caller_of(SENDER), stream, offer })
    }

    /// Returns how many milliseconds it took.
    async fn edit(&self) -> Result<f64> {
        let offer = Box::new(self.offer.clone());
        let command = step::Command::Handoff(Command::Draft { offer });
        let started = now();
        self.engine.submit(&self.sender, self.stream.clone(), command, None).await?;
        Ok(started.elapsed().as_secs_f64() * 1_000.0)
    }
}
