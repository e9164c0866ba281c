//! The folder of the files against the record: every file that the record keeps must be there with
//! the bytes that its name says. What no record names is left over and no finding: the server
//! removes it.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use adapters::files::{inspect, list};
use anyhow::Context;
use engine::files::damage;
use engine::ports::store::StoreError;
use store::sqlite::KeptFile;

use super::pacer::FILE_BYTES_PER_ROW;
use super::report::Report;

/// Adds what is wrong with the files below `root`. `count` is told as how many rows each counts
/// that was read. `current` reads the record as it is now: a
/// server may have removed a file since the record was read.
pub fn check(
    report: &mut Report,
    kept: &[KeptFile],
    root: &Path,
    count: impl Fn(u64),
    current: impl Fn() -> Result<Vec<KeptFile>, StoreError>,
) -> anyhow::Result<()> {
    let cannot = || format!("cannot read {}", root.display());
    let mut wrong = Vec::new();
    for one in kept {
        if let Some(problem) = problem(root, one).with_context(cannot)? {
            wrong.push((one, problem));
        }
        count(1 + one.size_bytes / FILE_BYTES_PER_ROW);
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
    let KeptFile { teamspace, file, size_bytes } = one;
    damage::problem(inspect(root, teamspace, file, *size_bytes), file, *size_bytes)
}
