//! The stored files of a backup: a folder beside it, with exactly the files that its database
//! keeps, but for those that a list beside it names as missing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use adapters::files::{FOLDER, copy, list, path_of};
use anyhow::{Context, Result, bail};
use protocol::ids::{FileId, TeamspaceId};
use store::sqlite::KeptFile;

use super::files;

/// Damaged files that are named; the others are counted.
const NAMED_MAX: usize = 100;

/// What a backup does with files that are missing or damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damaged {
    Refuse,
    /// The backup says that they are missing, so that a restore accepts it.
    LeaveOut,
}

/// A stored file by its teamspace and its name.
type Name = (TeamspaceId, FileId);

/// What a backup has of the stored files.
#[derive(Debug)]
pub struct Copied {
    pub n_files: u64,
    pub n_bytes: u64,
    /// The files that were left out, a line for each.
    pub missing: Vec<String>,
}

/// A folder of files that is copied. Removed if it is not finished.
#[derive(Debug)]
pub struct StoredFiles {
    from: PathBuf,
    to: PathBuf,
    copied: BTreeSet<KeptFile>,
    is_finished: bool,
}

impl StoredFiles {
    /// From a data folder to a folder that is not there yet.
    pub fn begin(data: &Path, to: &Path) -> Result<Self> {
        if to.symlink_metadata().is_ok() {
            bail!("{} is there already, and a backup replaces nothing", to.display());
        }
        let (from, to) = (data.join(FOLDER), to.to_owned());
        Ok(Self { from, to, copied: BTreeSet::new(), is_finished: false })
    }

    /// Copies what can be copied; a file may be removed at this moment.
    pub fn copy(&mut self, kept: &[KeptFile]) -> Result<()> {
        for one in kept {
            let KeptFile { teamspace, file, .. } = one;
            let cannot = || format!("cannot copy {file} of {teamspace}");
            let is_copied = copy(&self.from, &self.to, teamspace, file).with_context(cannot)?;
            if is_copied {
                self.copied.insert(one.clone());
            }
        }
        Ok(())
    }

    /// Adds the files that came since, and removes those that went. Each was compared with its name
    /// when it was copied.
    pub fn finish(mut self, kept: &[KeptFile], damaged: Damaged) -> Result<Copied> {
        let missing: Vec<_> =
            kept.iter().filter(|one| !self.copied.contains(*one)).cloned().collect();
        self.copy(&missing)?;
        let missing = kept.iter().filter(|one| !self.copied.contains(*one));
        let missing: Vec<String> = missing.map(line).collect();
        if damaged == Damaged::Refuse && !missing.is_empty() {
            let named = missing[..missing.len().min(NAMED_MAX)].join("\n  ");
            bail!(
                "{} stored files cannot be backed up: they are missing or damaged, or were erased \
                 at this moment; tasuki audit verify tells:\n  {named}\nhint: put them back, or \
                 back up the rest with --leave-out-damaged",
                missing.len()
            );
        }
        let kept: BTreeSet<_> = kept.iter().collect();
        for gone in self.copied.iter().filter(|one| !kept.contains(one)) {
            let path = path_of(&self.to, &gone.teamspace, &gone.file);
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        self.is_finished = true;
        let copied = kept.into_iter().filter(|one| self.copied.contains(*one));
        let sizes: Vec<u64> = copied.map(|one| one.size_bytes).collect();
        Ok(Copied { n_files: sizes.len() as u64, n_bytes: sizes.iter().sum(), missing })
    }
}

fn line(one: &KeptFile) -> String {
    format!("{} {}", one.teamspace, one.file)
}

/// The files that a backup says are missing.
pub fn read_missing(path: &Path) -> Result<BTreeSet<Name>> {
    let text = files::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8_lossy(text.as_deref().unwrap_or_default()).into_owned();
    let name = |line: &str| -> Option<Name> {
        let (teamspace, file) = line.split_once(' ')?;
        Some((teamspace.parse().ok()?, file.parse().ok()?))
    };
    let found = text.lines().map(|line| {
        name(line).with_context(|| format!("{}: {line:?} names no stored file", path.display()))
    });
    found.collect()
}

/// The files that a restore needs: those that the database keeps and the backup does not miss.
pub fn wanted(kept: Vec<KeptFile>, missing: &BTreeSet<Name>) -> Vec<KeptFile> {
    let is_there = |one: &KeptFile| !missing.contains(&(one.teamspace.clone(), one.file.clone()));
    kept.into_iter().filter(is_there).collect()
}

impl Drop for StoredFiles {
    fn drop(&mut self) {
        if !self.is_finished {
            // The failure that led here is the one to report.
            let _ = fs::remove_dir_all(&self.to);
        }
    }
}

/// Puts the files of a backup into a data folder, before the database. Files that are there already
/// stay. Fails if one that the database keeps is not whole.
pub fn restore(from: &Path, data: &Path, kept: &[KeptFile]) -> Result<()> {
    let to = data.join(FOLDER);
    for KeptFile { teamspace, file, .. } in kept {
        let cannot = || format!("cannot copy {file} of {teamspace}");
        if !copy(from, &to, teamspace, file).with_context(cannot)? {
            bail!("the backup lacks the file {file} of {teamspace}, or it is damaged");
        }
    }
    Ok(())
}

/// Whether the folder of a backup has all files, as far as their names tell.
pub fn check(from: &Path, kept: &[KeptFile]) -> Result<()> {
    let found: BTreeSet<_> = list(from)
        .with_context(|| format!("cannot read {}", from.display()))?
        .into_iter()
        .collect();
    for KeptFile { teamspace, file, .. } in kept {
        if !found.contains(&(teamspace.clone(), file.clone())) {
            bail!("{} lacks the file {file} of {teamspace}", from.display());
        }
    }
    Ok(())
}
