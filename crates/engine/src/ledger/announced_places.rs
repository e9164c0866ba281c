//! Where the entries are that concern the listeners of a teamspace. Its listeners wake for these
//! and read no others, however much other teamspaces announce.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use protocol::ids::TeamspaceId;
use tokio::sync::watch;

/// Entries that are remembered of each teamspace, by their numbers. A listener that is further
/// behind reads the whole ledger up to the first of them.
const REMEMBERED_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct AnnouncedPlaces {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Entries up to this one were committed before the start. `None` until the first commit.
    seen_after: Option<u64>,
    teamspaces: HashMap<TeamspaceId, Places>,
}

#[derive(Debug, Default)]
struct Places {
    bell: watch::Sender<u64>,
    entries: VecDeque<u64>,
    /// The newest that was forgotten.
    forgotten: Option<u64>,
}

/// What is next for a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextPlace {
    /// The first entry, and the last one of those that are close to it.
    From { first: u64, last: u64 },
    /// There is nothing yet.
    Nothing,
    /// It is not remembered; the ledger has to be read.
    Unknown,
}

impl AnnouncedPlaces {
    /// Rings when there is something for the listeners of a teamspace.
    pub fn bell(&self, teamspace: &TeamspaceId) -> watch::Receiver<u64> {
        self.known().teamspaces.entry(teamspace.clone()).or_default().bell.subscribe()
    }

    /// Entries were committed after this one. Those that concern listeners are named, in order.
    pub fn committed(&self, after: u64, concerning: Vec<(TeamspaceId, u64)>) {
        let mut known = self.known();
        known.seen_after.get_or_insert(after);
        for (teamspace, seq) in &concerning {
            // Most announcements come from few teamspaces, which are known.
            match known.teamspaces.get_mut(teamspace) {
                Some(places) => places.push(*seq),
                None => known.teamspaces.entry(teamspace.clone()).or_default().push(*seq),
            }
        }
        for (teamspace, seq) in concerning {
            let places = known.teamspaces.get(&teamspace);
            // Once for all entries of a group.
            if let Some(places) = places.filter(|it| it.entries.back() == Some(&seq)) {
                places.bell.send_replace(seq);
            }
        }
    }

    /// The next entries for the listeners of a teamspace, at most `n_max` entries of the ledger
    /// apart.
    pub fn after(&self, teamspace: &TeamspaceId, cursor: u64, n_max: u64) -> NextPlace {
        let known = self.known();
        let nothing = Places::default();
        let places = known.teamspaces.get(teamspace).unwrap_or(&nothing);
        let complete_after = places.forgotten.or(known.seen_after);
        if complete_after.is_none_or(|after| cursor < after) {
            return NextPlace::Unknown;
        }
        let at = places.entries.partition_point(|seq| *seq <= cursor);
        let Some(first) = places.entries.get(at).copied() else { return NextPlace::Nothing };
        let close = places.entries.range(at..).take_while(|seq| **seq < first + n_max);
        NextPlace::From { first, last: close.last().copied().unwrap_or(first) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect("nothing panics while holding the places")
    }
}

impl Places {
    fn push(&mut self, seq: u64) {
        self.entries.push_back(seq);
        if self.entries.len() > REMEMBERED_MAX {
            self.forgotten = self.entries.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_neither_wakes_for_other_teamspaces_nor_reads_what_they_announce() {
        let teamspace = |name: &str| name.parse::<TeamspaceId>().expect("a teamspace");
        let (flood, small) = (teamspace("flood"), teamspace("small"));
        let places = AnnouncedPlaces::default();
        let mut bell = places.bell(&small);
        assert_eq!(places.after(&small, 40, 16), NextPlace::Unknown, "it was before the start");
        places.committed(40, vec![(small.clone(), 42)]);
        assert!(bell.has_changed().unwrap());
        bell.mark_unchanged();
        for seq in 50..20_000 {
            places.committed(seq - 1, vec![(flood.clone(), seq)]);
        }
        assert!(!bell.has_changed().unwrap());
        assert_eq!(places.after(&small, 42, 16), NextPlace::Nothing);
        let both = vec![(small.clone(), 20_000), (flood.clone(), 20_001), (small.clone(), 20_009)];
        places.committed(19_999, both);
        assert!(bell.has_changed().unwrap());
        for (cursor, n_max, next) in [
            (39, 16, NextPlace::Unknown),
            (40, 16, NextPlace::From { first: 42, last: 42 }),
            (42, 16, NextPlace::From { first: 20_000, last: 20_009 }),
            (42, 9, NextPlace::From { first: 20_000, last: 20_000 }),
            (20_000, 9, NextPlace::From { first: 20_009, last: 20_009 }),
            (20_009, 16, NextPlace::Nothing),
        ] {
            assert_eq!(places.after(&small, cursor, n_max), next, "after {cursor}");
        }
        // The newest is 20,001, and 20,000 is of another teamspace.
        let first = 20_000 - REMEMBERED_MAX as u64;
        assert_eq!(places.after(&flood, first - 1, 16), NextPlace::Unknown, "too much");
        assert_eq!(
            places.after(&flood, first, 1),
            NextPlace::From { first: first + 1, last: first + 1 }
        );
    }
}
