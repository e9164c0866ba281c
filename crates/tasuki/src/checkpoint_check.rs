//! Whether the ledger of a data folder has everything that its newest checkpoint vouches for. After
//! a restore or a cut, it does not.

use std::path::Path;

use adapters::checkpoint_file;
use anyhow::{Context, Result};
use engine::ledger::fork::Behind;
use engine::ports::store::Sealed;
use protocol::checkpoint::{Checkpoint, Verifier};
use protocol::fork::Lost;
use protocol::merkle::Edge;
use store::sqlite::ReadOnly;

/// One read of the ledger.
const PAGE_ENTRIES_MAX: usize = 512;

/// Compares the ledger with the newest checkpoint outside the database, and with the one inside.
/// Notes that this key did not sign belong to another ledger, and are skipped.
pub fn behind(folder: &Path, verifier_key: &str) -> Result<Option<Behind>> {
    let cannot = || format!("cannot compare {} with its checkpoint", folder.display());
    let verifier = Verifier::new(verifier_key).with_context(cannot)?;
    let origin = verifier_key.split('+').next().unwrap_or_default();
    let note = checkpoint_file::newest(folder).with_context(cannot)?;
    let database = ReadOnly::open(folder)?;
    let ledger_size = database.newest().with_context(cannot)?;
    let sealed = database.sealed().with_context(cannot)?;
    let ours = |note: &str| verifier.open(note).ok().filter(|one| one.origin == origin);
    let outside = note.as_deref().and_then(|note| {
        let opened = ours(note);
        if opened.is_none() {
            tracing::warn!("the checkpoint outside the database is not signed with our key");
        }
        opened
    });
    let inside = sealed.as_ref().and_then(|sealed| ours(&sealed.note));
    let missing = inside.filter(|checkpoint| checkpoint.size > ledger_size);
    let lost = match outside {
        Some(outside) if !holds(&database, ledger_size, sealed.as_ref(), &outside)? => {
            Some(outside)
        }
        Some(_) | None => missing,
    };
    Ok(lost.map(|Checkpoint { size, root, .. }| Behind { ledger_size, lost: Lost { size, root } }))
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
    let sealed = sealed.filter(|sealed| sealed.size <= checkpoint.size);
    let edge = sealed.and_then(|sealed| Edge::from_bytes(sealed.size, &sealed.edge));
    let mut edge = edge.unwrap_or_else(Edge::empty);
    while edge.size() < checkpoint.size {
        let n_left = usize::try_from(checkpoint.size - edge.size()).unwrap_or(PAGE_ENTRIES_MAX);
        let page = database.entries(edge.size(), n_left.min(PAGE_ENTRIES_MAX))?;
        if page.is_empty() {
            return Ok(false);
        }
        page.iter().for_each(|one| edge.push(&one.entry.hash));
    }
    Ok(edge.root() == checkpoint.root)
}
