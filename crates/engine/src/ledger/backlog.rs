//! The entries that a loop of the server has yet to act on, by teamspace. The teamspaces take
//! turns, so that the one with the most entries does not delay the others.

use std::collections::{BTreeMap, VecDeque};

use protocol::ids::TeamspaceId;

use crate::turns::in_turn;

/// Entries of one turn: enough to tell what belongs together at once.
pub const TURN_ENTRIES_MAX: usize = 16;

/// Writes of one turn. A turn ends with the entry that reaches it. What the entry wrote beyond it
/// is taken from the next turns of its teamspace.
pub const TURN_WRITES: usize = 16;

/// Entries of a teamspace that are remembered, by their numbers. Those after them are read again
/// once these are done.
pub const REMEMBERED_ENTRIES_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct Backlog {
    teamspaces: BTreeMap<TeamspaceId, Waiting>,
    /// The teamspace whose turn was last.
    served: Option<TeamspaceId>,
    turn: Option<TeamspaceTurn>,
}

#[derive(Debug, Default)]
struct Waiting {
    entries: VecDeque<u64>,
    /// The first that was not remembered, and neither were those after it.
    left_out: Option<u64>,
    /// Writes beyond the share of earlier turns.
    debt: usize,
}

#[derive(Debug)]
struct TeamspaceTurn {
    teamspace: TeamspaceId,
    entries: Vec<u64>,
}

/// What was done in a turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Entries, from the first of the turn on.
    pub n_entries: usize,
    pub n_writes: usize,
}

impl Done {
    /// Counts one more entry. Returns whether the turn goes on.
    pub fn goes_on_after(&mut self, n_writes: usize) -> bool {
        self.n_entries += 1;
        self.n_writes += n_writes;
        self.n_writes < TURN_WRITES
    }
}

impl Backlog {
    pub fn is_empty(&self) -> bool {
        self.teamspaces.is_empty() && self.turn.is_none()
    }

    /// Remembers an entry, which is newer than all before.
    pub fn push(&mut self, teamspace: &TeamspaceId, seq: u64) {
        let waiting = self.teamspaces.entry(teamspace.clone()).or_default();
        match (waiting.left_out, waiting.has_room()) {
            (Some(_), _) => {}
            (None, true) => waiting.entries.push_back(seq),
            (None, false) => waiting.left_out = Some(seq),
        }
    }

    /// Where to read again: the first entry that was left out of a teamspace that has nothing else
    /// to do.
    pub fn read_again_from(&self) -> Option<u64> {
        let idle = self.teamspaces.values().filter(|waiting| waiting.entries.is_empty());
        idle.filter_map(|waiting| waiting.left_out).min()
    }

    /// Remembers entries that were left out: all that a page from `from` to `until` has of them.
    /// None is left out after `newest`.
    pub fn push_again<'t>(
        &mut self,
        page: impl IntoIterator<Item = (&'t TeamspaceId, u64)>,
        (from, until): (u64, u64),
        newest: u64,
    ) {
        let is_read = |left_out: u64| (from..=until).contains(&left_out);
        for (teamspace, seq) in page {
            let Some(waiting) = self.teamspaces.get_mut(teamspace) else { continue };
            let is_next = waiting.left_out.is_some_and(|at| is_read(at) && at <= seq);
            if is_next && waiting.has_room() {
                waiting.entries.push_back(seq);
                waiting.left_out = Some(seq + 1);
            }
        }
        for waiting in self.teamspaces.values_mut().filter(|waiting| waiting.has_room()) {
            if waiting.left_out.is_some_and(|at| (from..=until + 1).contains(&at)) {
                waiting.left_out = (until < newest).then_some(until + 1);
            }
        }
        self.teamspaces.retain(|_, waiting| !waiting.is_over());
    }

    /// The entries of the next turn, in their order, all of one teamspace. The same again until
    /// they are done.
    pub fn turn(&mut self) -> &[u64] {
        if self.turn.is_none() {
            self.turn = self.next_turn();
        }
        self.turn.as_ref().map_or(&[], |turn| &turn.entries)
    }

    pub fn done(&mut self, done: Done) {
        let Some(TeamspaceTurn { teamspace, entries }) = self.turn.take() else { return };
        let waiting = self.teamspaces.entry(teamspace.clone()).or_default();
        for seq in entries.into_iter().skip(done.n_entries).rev() {
            waiting.entries.push_front(seq);
        }
        waiting.debt += done.n_writes.saturating_sub(TURN_WRITES);
        if waiting.is_over() {
            self.teamspaces.remove(&teamspace);
        }
    }

    /// Everything up to this entry is done, if everything up to `newest` was read.
    pub fn done_until(&self, newest: u64) -> u64 {
        let in_turn = self.turn.iter().filter_map(|turn| turn.entries.first().copied());
        let waiting = self.teamspaces.values();
        let first = waiting.filter_map(|it| it.entries.front().copied().or(it.left_out));
        first.chain(in_turn).min().map_or(newest, |first| first - 1)
    }

    fn next_turn(&mut self) -> Option<TeamspaceTurn> {
        loop {
            let teamspace = self.next_teamspace()?;
            self.served = Some(teamspace.clone());
            let waiting = self.teamspaces.get_mut(&teamspace)?;
            if waiting.debt > 0 {
                waiting.debt = waiting.debt.saturating_sub(TURN_WRITES);
                continue;
            }
            let n_entries = waiting.entries.len().min(TURN_ENTRIES_MAX);
            let entries = waiting.entries.drain(..n_entries).collect();
            return Some(TeamspaceTurn { teamspace, entries });
        }
    }

    fn next_teamspace(&self) -> Option<TeamspaceId> {
        let all = in_turn(&self.teamspaces, self.served.as_ref());
        let mut due = all.filter(|(_, waiting)| !waiting.entries.is_empty());
        due.next().map(|(teamspace, _)| teamspace.clone())
    }
}

impl Waiting {
    fn has_room(&self) -> bool {
        self.entries.len() < REMEMBERED_ENTRIES_MAX
    }

    fn is_over(&self) -> bool {
        self.entries.is_empty() && self.left_out.is_none()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// As many as a page of the ledger has.
    const PAGE: usize = 8;

    fn teamspace(name: &str) -> TeamspaceId {
        name.parse().expect("a teamspace")
    }

    /// Serves the entries of a ledger, of which each belongs to the teamspace that is named, and
    /// writes this much. Returns the teamspaces in the order in which entries were done.
    fn served(ledger: &[&str], n_writes: usize) -> Vec<String> {
        let ledger: Vec<_> = (1..).zip(ledger.iter().map(|name| teamspace(name))).collect();
        let of_seq = |seq: u64| &ledger[usize::try_from(seq - 1).expect("small")].1;
        let (mut backlog, mut newest, mut done_in_order) = (Backlog::default(), 0, Vec::new());
        for (seq, teamspace) in &ledger {
            backlog.push(teamspace, *seq);
            newest = *seq;
        }
        let mut open: BTreeSet<u64> = ledger.iter().map(|(seq, _)| *seq).collect();
        while !backlog.is_empty() {
            if let Some(from) = backlog.read_again_from() {
                let again = ledger.iter().filter(|(seq, _)| *seq >= from).take(PAGE);
                let page: Vec<_> = again.map(|(seq, teamspace)| (teamspace, *seq)).collect();
                let until = page.last().expect("it was left out").1;
                backlog.push_again(page, (from, until), newest);
            }
            let (turn, n_before) = (backlog.turn().to_vec(), done_in_order.len());
            let mut done = Done::default();
            for seq in turn {
                done_in_order.push(seq);
                if !done.goes_on_after(n_writes) {
                    break;
                }
            }
            backlog.done(done);
            done_in_order[n_before..].iter().for_each(|seq| assert!(open.remove(seq)));
            let first = open.first().map_or(newest + 1, |first| *first);
            assert!(backlog.done_until(newest) < first, "{first} is not done");
        }
        for name in ["flood", "one", "two"] {
            let own = done_in_order.iter().filter(|seq| *of_seq(**seq) == teamspace(name));
            let count = ledger.iter().filter(|(_, own)| *own == teamspace(name)).count();
            assert!(own.clone().is_sorted() && own.count() == count, "{name}: each once, in order");
        }
        done_in_order.iter().map(|seq| of_seq(*seq).to_string()).collect()
    }

    #[test]
    fn a_teamspace_with_much_does_not_delay_the_others() {
        let many = vec!["flood"; 3 * REMEMBERED_ENTRIES_MAX];
        for n_writes in [0, 1, 256] {
            let order = served(&[&many[..], &["one", "two"]].concat(), n_writes);
            let place = |name: &str| order.iter().position(|it| it == name).expect("it is served");
            let turn = TURN_ENTRIES_MAX.min(TURN_WRITES.div_ceil(n_writes.max(1)));
            assert!(place("one") <= turn && place("two") <= turn + 1, "{n_writes}: {order:?}");
        }
    }

    #[test]
    fn interleaved_entries_are_left_out_and_found_again() {
        let mixed = (0..4 * REMEMBERED_ENTRIES_MAX).map(|number| ["flood", "two"][number % 2]);
        let ledger: Vec<_> = mixed.collect();
        served(&[&["one"], &ledger[..], &["one"; 20]].concat(), 1);
    }

    #[test]
    fn a_costly_turn_is_paid_for_later() {
        let ledger = [vec!["flood"; 8], vec!["one"; 8]].concat();
        let order = served(&ledger, 2 * TURN_WRITES);
        assert_eq!(order[..4], ["flood", "one", "flood", "one"], "{order:?}");
    }
}
