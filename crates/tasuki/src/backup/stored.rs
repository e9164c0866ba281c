//! The stored files of a backup: a folder beside it, with exactly the files that its database
//! keeps.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use adapters::files::{FOLDER, copy, list, path_of};
use anyhow::{Context, Result, bail};
use store::sqlite::KeptFile;

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

    /// Adds the files that came since, and removes those that went. Returns how many there are, and
    /// their bytes. Each was compared with its name when it was copied.
    pub fn finish(mut self, kept: &[KeptFile]) -> Result<(u64, u64)> {
        let missing: Vec<_> =
            kept.iter().filter(|one| !self.copied.contains(*one)).cloned().collect();
        self.copy(&missing)?;
        if let Some(KeptFile { teamspace, file, .. }) =
            kept.iter().find(|one| !self.copied.contains(*one))
        {
            bail!(
                "the file {file} of {teamspace} cannot be backed up: it is missing or damaged, \
                 or it was erased at this moment; tasuki audit verify tells"
            );
        }
        let kept: BTreeSet<_> = kept.iter().collect();
        for gone in self.copied.iter().filter(|one| !kept.contains(one)) {
            let path = path_of(&self.to, &gone.teamspace, &gone.file);
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        self.is_finished = true;
        Ok((kept.len() as u64, kept.iter().map(|one| one.size_bytes).sum()))
    }
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
