//! Where the entries of a teamspace are, or those that concern its AAEP listeners. Who follows them
//! wakes for these and reads no others, however much other teamspaces write.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use protocol::ids::TeamspaceId;
use tokio::sync::{Notify, watch};

use crate::ports::clock::pause;

/// Entries that are remembered of each teamspace, by their numbers. A follower that is further
/// behind reads the whole ledger up to the first of them.
const REMEMBERED_MAX: usize = 1_024;

/// Followers of a teamspace that are woken with each commit. Waking takes time, and everybody's
/// commits wait for it: if there are more, they are woken together with those of later commits.
const WOKEN_AT_ONCE_MAX: usize = 64;

/// How long later commits have to join.
const LATE_AFTER: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct EntryPlaces {
    remembers: Remembers,
    known: Mutex<KnownEntries>,
    /// There are followers to be woken late.
    is_late: Notify,
}

/// Of which teamspaces entries are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remembers {
    All,
    /// Those that are followed now.
    Followed,
}

#[derive(Debug, Default)]
struct KnownEntries {
    /// Entries up to this one were committed before the start. `None` until the first commit.
    seen_after: Option<u64>,
    newest: u64,
    teamspaces: HashMap<TeamspaceId, Places>,
    /// Those with many followers that are still to be woken.
    late: HashSet<TeamspaceId>,
    /// Whether they will be woken.
    has_waker: bool,
}

#[derive(Debug, Default)]
struct Places {
    bell: watch::Sender<u64>,
    entries: VecDeque<u64>,
    /// The newest that was forgotten, or the newest of all when this began.
    forgotten: Option<u64>,
}

/// What is next for a follower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextPlace {
    /// The first entry, and the last one of those that are close to it.
    From { first: u64, last: u64 },
    /// There is nothing up to this entry.
    Nothing { until: u64 },
    /// It is not remembered; the ledger has to be read.
    Unknown,
}

impl EntryPlaces {
    pub fn of(remembers: Remembers) -> Self {
        Self { remembers, known: Mutex::default(), is_late: Notify::new() }
    }

    /// Rings when there is something for the followers of a teamspace.
    pub fn bell(&self, teamspace: &TeamspaceId) -> watch::Receiver<u64> {
        let mut known = self.known();
        if let Some(places) = known.teamspaces.get(teamspace) {
            return places.bell.subscribe();
        }
        if self.remembers == Remembers::Followed {
            known.teamspaces.retain(|_, places| places.bell.receiver_count() > 0);
        }
        let forgotten = known.seen_after.map(|_| known.newest);
        let forgotten = forgotten.filter(|_| self.remembers == Remembers::Followed);
        let places = Places { forgotten, ..Places::default() };
        known.teamspaces.entry(teamspace.clone()).or_insert(places).bell.subscribe()
    }

    /// Entries were committed after this one, up to another. Those that count are named, in order.
    pub fn committed<'t>(
        &self,
        (after, newest): (u64, u64),
        entries: impl Iterator<Item = (&'t TeamspaceId, u64)> + Clone,
    ) {
        let mut known = self.known();
        known.seen_after.get_or_insert(after);
        known.newest = newest;
        for (teamspace, seq) in entries.clone() {
            // Most entries come from few teamspaces, which are known.
            match known.teamspaces.get_mut(teamspace) {
                Some(places) => places.push(seq),
                None if self.remembers == Remembers::Followed => {}
                None => known.teamspaces.entry(teamspace.clone()).or_default().push(seq),
            }
        }
        let KnownEntries { teamspaces, late, has_waker, .. } = &mut *known;
        for (teamspace, seq) in entries {
            let places = teamspaces.get(teamspace);
            // Once for all entries of a group.
            let Some(places) = places.filter(|it| it.entries.back() == Some(&seq)) else {
                continue;
            };
            if *has_waker && places.bell.receiver_count() > WOKEN_AT_ONCE_MAX {
                late.insert(teamspace.clone());
                self.is_late.notify_one();
            } else {
                places.bell.send_replace(seq);
            }
        }
    }

    /// Wakes the followers of teamspaces that have many, until it is dropped.
    pub async fn wake_late(&self) {
        self.known().has_waker = true;
        let _waker = Waker(self);
        loop {
            self.is_late.notified().await;
            pause(LATE_AFTER).await;
            self.ring_late();
        }
    }

    fn ring_late(&self) {
        let mut known = self.known();
        let late = std::mem::take(&mut known.late);
        let bells = late.iter().filter_map(|teamspace| known.teamspaces.get(teamspace));
        let bells = bells.filter_map(|places| Some((places.bell.clone(), *places.entries.back()?)));
        let bells: Vec<_> = bells.collect();
        drop(known);
        // Not while the next commit waits for the lock.
        for (bell, newest) in bells {
            bell.send_replace(newest);
        }
    }

    /// The next entries of a teamspace, at most `n_max` entries of the ledger apart.
    pub fn after(&self, teamspace: &TeamspaceId, cursor: u64, n_max: u64) -> NextPlace {
        let known = self.known();
        let nothing = Places::default();
        let places = match (known.teamspaces.get(teamspace), self.remembers) {
            (Some(places), _) => places,
            (None, Remembers::All) => &nothing,
            (None, Remembers::Followed) => return NextPlace::Unknown,
        };
        let complete_after = places.forgotten.or(known.seen_after);
        if complete_after.is_none_or(|after| cursor < after) {
            return NextPlace::Unknown;
        }
        let at = places.entries.partition_point(|seq| *seq <= cursor);
        let Some(first) = places.entries.get(at).copied() else {
            return NextPlace::Nothing { until: known.newest.max(cursor) };
        };
        let close = places.entries.range(at..).take_while(|seq| **seq < first + n_max);
        NextPlace::From { first, last: close.last().copied().unwrap_or(first) }
    }

    fn known(&self) -> MutexGuard<'_, KnownEntries> {
        self.known.lock().expect("nothing panics while holding the places")
    }
}

/// While it lives, followers may be woken late.
struct Waker<'p>(&'p EntryPlaces);

impl Drop for Waker<'_> {
    fn drop(&mut self) {
        self.0.known().has_waker = false;
        self.0.ring_late();
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
        let places = EntryPlaces::of(Remembers::All);
        let mut bell = places.bell(&small);
        assert_eq!(places.after(&small, 40, 16), NextPlace::Unknown, "it was before the start");
        places.committed((40, 42), [(&small, 42)].into_iter());
        assert!(bell.has_changed().unwrap());
        bell.mark_unchanged();
        for seq in 50..20_000 {
            places.committed((seq - 1, seq), [(&flood, seq)].into_iter());
        }
        assert!(!bell.has_changed().unwrap());
        assert_eq!(places.after(&small, 42, 16), NextPlace::Nothing { until: 19_999 });
        let both = [(&small, 20_000), (&flood, 20_001), (&small, 20_009)];
        places.committed((19_999, 20_009), both.into_iter());
        assert!(bell.has_changed().unwrap());
        for (cursor, n_max, next) in [
            (39, 16, NextPlace::Unknown),
            (40, 16, NextPlace::From { first: 42, last: 42 }),
            (42, 16, NextPlace::From { first: 20_000, last: 20_009 }),
            (42, 9, NextPlace::From { first: 20_000, last: 20_000 }),
            (20_000, 9, NextPlace::From { first: 20_009, last: 20_009 }),
            (20_009, 16, NextPlace::Nothing { until: 20_009 }),
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

    #[tokio::test]
    async fn many_followers_are_woken_once_for_several_commits() {
        let team: TeamspaceId = "crowded".parse().expect("a teamspace");
        let places = EntryPlaces::of(Remembers::Followed);
        let mut bells: Vec<_> = (0..=WOKEN_AT_ONCE_MAX).map(|_| places.bell(&team)).collect();
        let commit = |seq| places.committed((seq - 1, seq), [(&team, seq)].into_iter());
        commit(1);
        assert!(bells[0].has_changed().unwrap(), "nothing else would wake it");
        bells.iter_mut().for_each(|bell| bell.mark_unchanged());
        let mut last = bells.pop().unwrap();
        let checked = async {
            // Until the other one waits.
            tokio::task::yield_now().await;
            (2..100).for_each(commit);
            assert!(!last.has_changed().unwrap());
            last.changed().await.unwrap();
            assert_eq!(*last.borrow_and_update(), 99);
            // With one follower less there are few enough again.
            drop(last);
            commit(100);
            assert!(bells[0].has_changed().unwrap());
        };
        tokio::select! {
            () = places.wake_late() => unreachable!("it goes on"),
            () = checked => {}
        }
    }

    #[test]
    fn only_teamspaces_that_are_followed_are_remembered() {
        let teamspace = |name: &str| name.parse::<TeamspaceId>().expect("a teamspace");
        let (followed, other) = (teamspace("followed"), teamspace("other"));
        let places = EntryPlaces::of(Remembers::Followed);
        places.committed((0, 10), [(&followed, 9), (&other, 10)].into_iter());
        assert_eq!(places.after(&followed, 0, 16), NextPlace::Unknown);
        let bell = places.bell(&followed);
        places.committed((10, 12), [(&followed, 11), (&other, 12)].into_iter());
        assert_eq!(places.after(&followed, 9, 16), NextPlace::Unknown, "it was before");
        assert_eq!(places.after(&followed, 10, 16), NextPlace::From { first: 11, last: 11 });
        assert_eq!(places.after(&followed, 11, 16), NextPlace::Nothing { until: 12 });
        assert_eq!(places.after(&other, 11, 16), NextPlace::Unknown);
        drop(bell);
        let _bell = places.bell(&other);
        assert_eq!(places.after(&followed, 11, 16), NextPlace::Unknown, "it was forgotten");
    }
}
