//! Whether the ledger of a data folder has everything that its newest checkpoint vouches for. After
//! a restore or a cut, it does not.

use std::collections::HashSet;
use std::path::Path;

use adapters::checkpoint_file::{self, Newest};
use anyhow::{Context, Result};
use engine::ledger::fork::{Behind, Doubt};
use engine::ports::store::{Sealed, Sequenced, Snapshot};
use protocol::checkpoint::{Checkpoint, Verifier};
use protocol::fork::Lost;
use protocol::ledger::Stream;
use protocol::merkle::Edge;
use protocol::row_mac::{RowKey, SnapshotRow};
use store::sqlite::ReadOnly;

/// One read of the ledger.
const PAGE_ENTRIES_MAX: usize = 512;

/// Compares the ledger with its checkpoints: those beside the database, those of the witness, and
/// the one inside. Notes that this key did not sign do not count. A ledger with entries must have a
/// newest checkpoint outside the database, for the first one is written before the first entry.
pub fn behind(folder: &Path, witness: Option<&Path>, verifier_key: &str) -> Result<Option<Behind>> {
    let cannot = || format!("cannot compare {} with its checkpoint", folder.display());
    let verifier = Verifier::new(verifier_key).with_context(cannot)?;
    let origin = verifier_key.split('+').next().unwrap_or_default();
    let beside = checkpoint_file::newest_of(folder).with_context(cannot)?;
    let witness = match witness {
        Some(witness) => checkpoint_file::newest_of(&checkpoint_file::part_of(witness, origin)),
        None => Ok(Newest::default()),
    };
    let witness = witness.with_context(cannot)?;
    let database = ReadOnly::open(folder)?;
    let ledger_size = database.newest().with_context(cannot)?;
    let sealed = database.sealed().with_context(cannot)?;
    let ours = |note: &str| verifier.open(note).ok().filter(|one| one.origin == origin);
    let newest: Vec<_> = [&beside.note, &witness.note]
        .into_iter()
        .flatten()
        .filter_map(|note| {
            let opened = ours(note);
            if opened.is_none() {
                tracing::warn!("a checkpoint outside the database is not signed with our key");
            }
            opened
        })
        .collect();
    let is_witnessed = !newest.is_empty() || ledger_size == 0;
    let logged = [&beside.logged, &witness.logged].into_iter().flatten();
    let logged = logged.filter_map(|note| ours(note));
    let inside = sealed.as_ref().and_then(|sealed| ours(&sealed.note));
    let mut lost = inside.clone().filter(|checkpoint| checkpoint.size > ledger_size);
    for checkpoint in newest.into_iter().chain(logged) {
        let is_larger = lost.as_ref().is_none_or(|lost| lost.size < checkpoint.size);
        if is_larger && !holds(&database, ledger_size, sealed.as_ref(), &checkpoint)? {
            lost = Some(checkpoint);
        }
    }
    let behind = |doubt: Doubt, lost: Lost| Behind { ledger_size, lost, doubt };
    let vouched = |one: Checkpoint| Lost { size: one.size, root: one.root };
    Ok(match lost {
        Some(lost) => Some(behind(Doubt::Lost, vouched(lost))),
        None if is_witnessed => None,
        None => {
            let edge = edge_at(&database, sealed.as_ref(), ledger_size)?;
            let all = edge.unwrap_or_else(Edge::empty);
            Some(behind(Doubt::NoWitness, Lost { size: all.size(), root: all.root() }))
        }
    })
}

/// The entries after the last checkpoint are not sealed yet. The snapshots of their streams must be
/// ours, or the next checkpoint would vouch for what others wrote.
pub fn foreign_tail(folder: &Path, key: &RowKey) -> Result<Option<Behind>> {
    let cannot = || format!("cannot read the newest entries of {}", folder.display());
    let database = ReadOnly::open(folder)?;
    let ledger_size = database.newest().with_context(cannot)?;
    let sealed = database.sealed().with_context(cannot)?;
    let mut after = sealed.as_ref().map_or(0, |sealed| sealed.size);
    let mut ours = HashSet::new();
    while after < ledger_size {
        let page = database.entries(after, PAGE_ENTRIES_MAX).with_context(cannot)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for Sequenced { seq, entry } in &page {
            let stream = &entry.stream;
            if ours.contains(stream) {
                continue;
            }
            let found = database.load(stream).with_context(cannot)?;
            let is_ours = found.is_some_and(|it| {
                let Snapshot { position, head, at, state_text, .. } = &it;
                let (position, at) = (*position, *at);
                let row = SnapshotRow { stream, position, head, at, state_text };
                it.mac == Some(key.of_snapshot(row)) && entry.position <= position
            });
            if !is_ours {
                let Stream { teamspace, subject } = stream;
                tracing::error!("entry {seq} ({subject} in {teamspace}) is not of this server");
                let all = edge_at(&database, sealed.as_ref(), ledger_size)?;
                let all = all.unwrap_or_else(Edge::empty);
                let lost = Lost { size: all.size(), root: all.root() };
                return Ok(Some(Behind { ledger_size, lost, doubt: Doubt::Foreign }));
            }
            ours.insert(stream.clone());
        }
    }
    Ok(None)
}

/// Whether the ledger matches a checkpoint. The tree is continued from the seal in the store. The
/// store is sealed before the file is written, so usually both have the same size, and no entry
/// is read.
fn holds(
    database: &ReadOnly,
    ledger_size: u64,
    sealed: Option<&Sealed>,
    checkpoint: &Checkpoint,
) -> Result<bool> {
    if checkpoint.size > ledger_size {
        return Ok(false);
    }
    let edge = edge_at(database, sealed, checkpoint.size)?;
    Ok(edge.is_some_and(|edge| edge.root() == checkpoint.root))
}

/// The edge of the tree at a size, continued from the seal in the store.
fn edge_at(database: &ReadOnly, sealed: Option<&Sealed>, size: u64) -> Result<Option<Edge>> {
    let sealed = sealed.filter(|sealed| sealed.size <= size);
    let edge = sealed.and_then(|sealed| Edge::from_bytes(sealed.size, &sealed.edge));
    let mut edge = edge.unwrap_or_else(Edge::empty);
    while edge.size() < size {
        let n_left = usize::try_from(size - edge.size()).unwrap_or(PAGE_ENTRIES_MAX);
        let page = database.entries(edge.size(), n_left.min(PAGE_ENTRIES_MAX))?;
        if page.is_empty() {
            return Ok(None);
        }
        page.iter().for_each(|one| edge.push(&one.entry.hash));
    }
    Ok(Some(edge))
}
