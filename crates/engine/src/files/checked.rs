//! Files whose bytes were read and found to be right. A part of such a file is sent without reading
//! all of it again.

use std::collections::{BTreeMap, HashMap};

use protocol::ids::{FileId, TeamspaceId};

/// Files that are known to have been right: about 3 MB. Beyond it the oldest one is forgotten, of a
/// teamspace that has more than its share, and is read once more before a part of it is sent.
pub const CHECKED_MAX: usize = 10_000;

#[derive(Debug)]
pub struct Checked {
    of: HashMap<TeamspaceId, OfTeamspace>,
    n_files: usize,
    n_files_max: usize,
    /// The number of the next file.
    next: u64,
}

#[derive(Debug, Default)]
struct OfTeamspace {
    numbers: HashMap<FileId, u64>,
    by_number: BTreeMap<u64, FileId>,
}

impl Default for Checked {
    fn default() -> Self {
        Self { of: HashMap::new(), n_files: 0, n_files_max: CHECKED_MAX, next: 0 }
    }
}

impl Checked {
    pub fn contains(&self, teamspace: &TeamspaceId, file: &FileId) -> bool {
        self.of.get(teamspace).is_some_and(|own| own.numbers.contains_key(file))
    }

    pub fn insert(&mut self, teamspace: &TeamspaceId, file: &FileId) {
        if self.contains(teamspace, file) {
            return;
        }
        if self.n_files >= self.n_files_max {
            self.forget_oldest(teamspace);
        }
        let own = self.of.entry(teamspace.clone()).or_default();
        own.numbers.insert(file.clone(), self.next);
        own.by_number.insert(self.next, file.clone());
        self.next += 1;
        self.n_files += 1;
    }

    pub fn remove(&mut self, teamspace: &TeamspaceId, file: &FileId) {
        let Some(own) = self.of.get_mut(teamspace) else { return };
        let Some(number) = own.numbers.remove(file) else { return };
        own.by_number.remove(&number);
        self.n_files -= 1;
        if own.numbers.is_empty() {
            self.of.remove(teamspace);
        }
    }

    /// Makes room for a file of this teamspace: its own oldest gives way if it has its share, and
    /// else the oldest of the teamspace with the most.
    fn forget_oldest(&mut self, teamspace: &TeamspaceId) {
        let n_files = |name: &TeamspaceId| self.of.get(name).map_or(0, |it| it.numbers.len());
        let share = self.n_files_max / self.of.len().max(1);
        let giving = match n_files(teamspace) >= share {
            true => Some(teamspace),
            false => self.of.keys().max_by_key(|name| n_files(name)),
        };
        let Some(giving) = giving.cloned() else { return };
        let oldest = self.of.get(&giving).and_then(|it| it.by_number.values().next().cloned());
        if let Some(oldest) = oldest {
            self.remove(&giving, &oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: usize) -> FileId {
        format!("sha256:{number:064x}").parse().expect("a name")
    }

    /// The files that are known at the end, by teamspace, when at most six are.
    #[test]
    fn the_oldest_of_a_teamspace_with_more_than_its_share_is_forgotten() {
        for (noted, expected) in [
            ("a1 a2 a3 a4 a5 a6", "a1 a2 a3 a4 a5 a6"),
            ("a1 a2 a3 a4 a5 a6 a7 a8", "a3 a4 a5 a6 a7 a8"),
            ("a1 a2 a3 a4 a5 a6 a1 a7", "a2 a3 a4 a5 a6 a7"),
            ("a1 a2 a3 a4 a5 a6 b1 b2 b3", "a4 a5 a6 b1 b2 b3"),
            ("b1 a1 a2 a3 a4 a5 a6 a7 a8 a9", "a5 a6 a7 a8 a9 b1"),
            ("b1 b2 b3 a1 a2 a3 b4", "a1 a2 a3 b2 b3 b4"),
            ("b1 c1 a1 a2 a3 a4 a5 b2 c2", "a4 a5 b1 b2 c1 c2"),
        ] {
            let mut checked = Checked { n_files_max: 6, ..Checked::default() };
            let named = |name: &str| {
                let (teamspace, number) = name.split_at(1);
                (teamspace.parse().expect("a name"), file(number.parse().expect("a number")))
            };
            for name in noted.split(' ') {
                let (teamspace, file) = named(name);
                checked.insert(&teamspace, &file);
            }
            let mut known: Vec<&str> = noted.split(' ').collect();
            known.sort_unstable();
            known.dedup();
            known.retain(|name| {
                let (teamspace, file) = named(name);
                checked.contains(&teamspace, &file)
            });
            assert_eq!(known.join(" "), expected, "{noted}");
            assert_eq!(checked.n_files, known.len(), "{noted}");
            for name in known {
                let (teamspace, file) = named(name);
                checked.remove(&teamspace, &file);
            }
            assert!(checked.of.is_empty() && checked.n_files == 0, "{noted}");
        }
    }
}
