//! Whether a stream that has lived long costs more than a young one: one draft, edited again and
//! again.

use std::path::Path;

use anyhow::{Context, Result};
use protocol::handoff::{Command, Offer};
use protocol::ledger::{Stream, Subject};
use protocol::step;
use serde::Serialize;
use tokio::sync::watch;

use super::load::now;
use super::work::{SENDER, caller_of, offer_json, register_agents, teamspace};
use crate::config::Config;
use crate::node::Node;

/// The cost of an edit, by the age of what is edited.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Age {
    pub n_edits: usize,
    /// Medians of the first and of the last tenth.
    pub first_ms: f64,
    pub last_ms: f64,
    pub last_of_first: f64,
}

pub async fn measure(folder: &Path, n_edits: usize) -> Result<Age> {
    let config = Config { data: folder.to_owned(), ..Config::default() };
    let (_keep_running, stopping) = watch::channel(false);
    let node = Node::start(&config, stopping)?;
    register_agents(&node.engine).await?;
    let offer: Offer = serde_json::from_value(offer_json("BENCH-AGE")).context("a valid offer")?;
    let subject = Subject::Handoff(node.engine.new_handoff_id());
    let stream = Stream { teamspace: teamspace(), subject };
    let sender = caller_of(SENDER);
    let mut took_ms = Vec::with_capacity(n_edits);
    for number in 0..n_edits {
        let offer = Offer { reason: format!("edit {number}"), ..offer.clone() };
        let command = step::Command::Handoff(Command::Draft { offer: Box::new(offer) });
        let started = now();
        node.engine.submit(&sender, stream.clone(), command, None).await?;
        took_ms.push(started.elapsed().as_secs_f64() * 1_000.0);
    }
    node.stop().await;
    let tenth = (n_edits / 10).max(1);
    let first_ms = super::report::median(took_ms.iter().take(tenth).copied());
    let last_ms = super::report::median(took_ms.iter().rev().take(tenth).copied());
    Ok(Age { n_edits, first_ms, last_ms, last_of_first: last_ms / first_ms })
}
