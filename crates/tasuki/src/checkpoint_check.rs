//! Whether the ledger of a data folder has everything that its newest checkpoint vouches for. After
//! a restore or a cut, it does not.

use std::collections::HashSet;
use std::path::Path;

use adapters::checkpoint_file::{self, Newest};
use anyhow::{Context, Result};
use engine::ledger::behind::{Behind, Doubt};
use engine::ports::store::{Sealed, Sequenced, Snapshot};
use protocol::checkpoint::{Checkpoint, Verifier};
use protocol::fork::Lost;
use protocol::ledger::Stream;
use protocol::merkle::Edge;
use protocol::row_mac::{RowKey, SnapshotRow};
use store::sqlite::ReadOnly;

/// One read of the ledger.
pub const PAGE_ENTRIES_MAX: usize = 512;

/// What a witness outside the data folder answers.
#[derive(Debug)]
pub enum Testimony {
    /// Its notes about this ledger; none if it never had one.
    Notes(Newest),
    /// It has a checkpoint of this size that this ledger does not continue. It tells only the size.
    Differs {
        size: u64,
    },
    Unreached,
}

/// The notes of one place, as far as this key signed them.
struct Vouched {
    newest: Option<Checkpoint>,
    logged: Option<Checkpoint>,
    /// Whether there is any note, signed or not.
    has_notes: bool,
}

/// Compares the ledger with its checkpoints: those beside the database, those of the witnesses, and
/// the one inside. Notes that this key did not sign do not count.
///
/// A ledger must have its checkpoints outside the database, for the first one is written before the
/// first entry: the newest and the log beside it, or the newest of a witness. A witness that has
/// only notes of others, or does not answer, leaves the ledger in doubt.
pub fn behind(
    folder: &Path,
    witnesses: Vec<Testimony>,
    verifier_key: &str,
) -> Result<Option<Behind>> {
    let cannot = || format!("cannot compare {} with its checkpoint", folder.display());
    let verifier = Verifier::new(verifier_key).with_context(cannot)?;
    let origin = verifier_key.split('+').next().unwrap_or_default();
    let vouched = |found: Newest, place: &str| Vouched::new(&found, &verifier, origin, place);
    let found = checkpoint_file::newest_of(folder).with_context(cannot)?;
    let beside = vouched(found, &folder.display().to_string());
    let is_unreached = witnesses.iter().any(|one| matches!(one, Testimony::Unreached));
    let differing = witnesses.iter().filter_map(|one| match one {
        Testimony::Differs { size } => Some(*size),
        Testimony::Notes(_) | Testimony::Unreached => None,
    });
    let differing = differing.max();
    let witnesses = witnesses.into_iter().filter_map(|one| match one {
        Testimony::Notes(found) => Some(vouched(found, "a witness")).filter(|it| it.has_notes),
        Testimony::Differs { .. } | Testimony::Unreached => None,
    });
    let witnesses: Vec<_> = witnesses.collect();
    let is_witnessed = match &witnesses[..] {
        [] => beside.newest.is_some() && beside.logged.is_some(),
        outside => outside.iter().all(|one| one.newest.is_some()),
    };
    let database = ReadOnly::open(folder)?;
    let ledger_size = database.newest().with_context(cannot)?;
    let sealed = database.sealed().with_context(cannot)?;
    let inside = sealed.as_ref().and_then(|sealed| opened(&sealed.note, &verifier, origin));
    let mut lost = inside.filter(|checkpoint| checkpoint.size > ledger_size);
    let places = [beside].into_iter().chain(witnesses);
    for checkpoint in places.flat_map(|one| [one.newest, one.logged]).flatten() {
        let is_larger = lost.as_ref().is_none_or(|lost| lost.size < checkpoint.size);
        if is_larger && !holds(&database, ledger_size, sealed.as_ref(), &checkpoint)? {
            lost = Some(checkpoint);
        }
    }
    if let Some(size) = differing.filter(|size| lost.as_ref().is_none_or(|it| it.size < *size)) {
        lost = Some(Checkpoint { origin: origin.to_owned(), size, root: Lost::UNKNOWN_ROOT });
    }
    let doubt = match (&lost, is_witnessed) {
        (Some(_), _) => Doubt::Lost,
        (None, false) => Doubt::NoWitness,
        (None, true) if is_unreached => Doubt::Unreached,
        (None, true) => return Ok(None),
    };
    let lost = match lost {
        Some(Checkpoint { size, root, .. }) => Lost { size, root },
        None => all_there_is(&database, sealed.as_ref(), ledger_size)?,
    };
    Ok(Some(Behind { ledger_size, lost, doubt }))
}

impl Vouched {
    fn new(found: &Newest, verifier: &Verifier, origin: &str, place: &str) -> Self {
        let ours = |note: Option<&String>, file: &str| {
            let opened = opened(note?, verifier, origin);
            if opened.is_none() {
                tracing::warn!("the file {file} in {place} is not signed with our key");
            }
            opened
        };
        let (note, logged) = (found.note.as_ref(), found.logged.as_ref());
        let has_notes = note.is_some() || logged.is_some();
        let newest = ours(note, checkpoint_file::NEWEST_FILE);
        Self { newest, logged: ours(logged, checkpoint_file::LOG_FILE), has_notes }
    }
}

fn opened(note: &str, verifier: &Verifier, origin: &str) -> Option<Checkpoint> {
    verifier.open(note).ok().filter(|one| one.origin == origin)
}

/// For a fork that is declared although no checkpoint tells what was lost.
fn all_there_is(database: &ReadOnly, sealed: Option<&Sealed>, ledger_size: u64) -> Result<Lost> {
    let all = edge_at(database, sealed, ledger_size)?.unwrap_or_else(Edge::empty);
    Ok(Lost { size: all.size(), root: all.root() })
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
                let lost = all_there_is(&database, sealed.as_ref(), ledger_size)?;
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
pub fn edge_at(database: &ReadOnly, sealed: Option<&Sealed>, size: u64) -> Result<Option<Edge>> {
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
