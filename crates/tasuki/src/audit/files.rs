//! The folder of the files against the record: every file that the record keeps must be there with
//! the bytes that its name says. What no record names is left over and no finding: the server
//! removes it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use adapters::files::{inspect, list, path_of};
use anyhow::Context;
use engine::ports::store::StoreError;
use protocol::ids::FileId;
use store::sqlite::KeptFile;

use super::report::Report;

/// Adds what is wrong with the files below `root`. `current` reads the record as it is now: a
/// server may have removed a file since the record was read.
pub fn check(
    report: &mut Report,
    kept: &[KeptFile],
    root: &Path,
    current: impl Fn() -> Result<Vec<KeptFile>, StoreError>,
) -> anyhow::Result<()> {
    let cannot = || format!("cannot read {}", root.display());
    let mut wrong = Vec::new();
    for one in kept {
        if let Some(problem) = problem(root, one).with_context(cannot)? {
            wrong.push((one, problem));
        }
    }
    let now: BTreeSet<KeptFile> = match wrong.is_empty() {
        true => BTreeSet::new(),
        false => current()?.into_iter().collect(),
    };
    for (one, problem) in wrong.into_iter().filter(|(one, _)| now.contains(*one)) {
        let KeptFile { teamspace, file, .. } = one;
        report.find(format!("the file {file} in {teamspace} {problem}"));
    }
    let named: BTreeSet<_> = kept.iter().map(|one| (&one.teamspace, &one.file)).collect();
    let found = list(root).with_context(cannot)?;
    let left_over = found.iter().filter(|(teamspace, file)| !named.contains(&(teamspace, file)));
    match left_over.count() {
        0 => {}
        n => report.remarks.push(format!(
            "{n} files are named by no record: they are being stored, or the server removes them"
        )),
    }
    Ok(())
}

/// What is wrong with one file.
pub fn problem(root: &Path, one: &KeptFile) -> io::Result<Option<String>> {
    let found = inspect(&path_of(root, &one.teamspace, &one.file))?;
    Ok(match found {
        None => Some("is missing".to_owned()),
        Some(content) if content.size_bytes != one.size_bytes => {
            Some(format!("has {} bytes, and {} were stored", content.size_bytes, one.size_bytes))
        }
        Some(content) if FileId::of_digest(&content.digest) != one.file => {
            Some("has other bytes than were stored".to_owned())
        }
        Some(_) => None,
    })
}
