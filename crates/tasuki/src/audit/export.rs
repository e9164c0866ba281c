//! Writing the ledger out, so that it can be verified far from the server that made it.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use protocol::checkpoint::Verifier;
use serde::Serialize;
use store::sqlite::ReadOnly;

use super::Progress;
use super::data::Documents;
use super::format::{DocumentLine, EndLine, EntryLine, Header, ReportLine, to_text};
use super::notes::Beside;

const PAGE_ENTRIES_MAX: usize = 512;

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exported {
    pub n_entries: u64,
    pub n_documents: u64,
    pub n_checkpoints: u64,
}

/// Writes every entry and document of a data folder, its checkpoints and its public key. Copies
/// without checking: verification is up to the reader of the export.
pub fn export(
    folder: &Path,
    mut out: impl Write,
    progress: Progress<'_>,
) -> anyhow::Result<Exported> {
    let beside =
        Beside::read(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let database = ReadOnly::open(folder)?;
    database.pin()?;
    let (checkpoint_sizes, checkpoints) = checkpoints(&database, &beside)?;
    let mut write = |line: &str| {
        out.write_all(line.as_bytes())
            .and_then(|()| out.write_all(b"\n"))
            .context("cannot write the export")
    };
    write(&to_text(&Header::new(checkpoint_sizes)))?;

    let n_checkpoints = checkpoints.len() as u64;
    let mut exported = Exported { n_entries: 0, n_documents: 0, n_checkpoints };
    let n_rows = database.newest()?;
    let mut documents = Documents::of(&database);
    let mut after = 0;
    loop {
        let page = database.entries(after, PAGE_ENTRIES_MAX)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        for one in &page {
            write(&to_text(&ReportLine::Entry(EntryLine::of(one.seq, &one.entry))))?;
            let seq = i64::try_from(one.seq).context("the ledger is too long")?;
            while documents.next_seq()?.is_some_and(|next| next < seq) {
                let orphan = documents.next_seq()?.unwrap_or_default();
                documents.take(orphan);
            }
            if let Some(document) = documents.take(seq) {
                let (hash, text) = (document.hash, document.text);
                write(&to_text(&ReportLine::Document(DocumentLine { seq: one.seq, hash, text })))?;
                exported.n_documents += 1;
            }
            exported.n_entries += 1;
        }
        progress(exported.n_entries, n_rows);
    }
    let key = beside.key.as_deref().map(|key| key.trim_end().to_owned());
    let end = EndLine { n_entries: exported.n_entries, checkpoints, key };
    write(&to_text(&ReportLine::End(end)))?;
    out.flush().context("cannot write the export")?;
    Ok(exported)
}

/// The sizes and notes of all checkpoints, by size, without duplicates, and without that of the
/// empty ledger, which says nothing. The one that was signed last comes last, also when a fork made
/// the ledger shorter.
fn checkpoints(database: &ReadOnly, beside: &Beside) -> anyhow::Result<(Vec<u64>, Vec<String>)> {
    let logged = beside.log.iter().flat_map(|log| log.notes.iter().cloned());
    let mut notes: Vec<String> = logged.chain(beside.newest.clone()).collect();
    notes.extend(database.sealed()?.map(|sealed| sealed.note));
    let verifier = beside.key.as_deref().and_then(|key| Verifier::new(key.trim_end()).ok());
    let size = |note: &str| Some(verifier.as_ref()?.open(note).ok()?.size);
    let mut sized: Vec<(Option<u64>, String)> =
        notes.into_iter().map(|note| (size(&note), note)).collect();
    sized.retain(|(size, _)| *size != Some(0));
    sized.sort();
    sized.dedup();
    if let Some(newest) = &beside.newest {
        sized.sort_by_key(|(_, note)| note == newest);
    }
    let sizes = sized.iter().filter_map(|(size, _)| *size).collect();
    Ok((sizes, sized.into_iter().map(|(_, note)| note).collect()))
}
