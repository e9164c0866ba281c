//! What waits for the writer. Teamspaces take turns, so that one that commits much or large things
//! does not make the others wait for it. The jobs of a teamspace keep their order.

use std::collections::{HashMap, VecDeque};

use protocol::ids::TeamspaceId;

/// Bytes of one group. A group is written as a whole before the next begins.
pub const GROUP_BYTES_MAX: usize = 1024 * 1024;

/// Commits of one teamspace that may wait. Past it they are answered that the store is overloaded,
/// and those of others still find room.
pub const WAITING_OF_A_TEAMSPACE_MAX: usize = 4_096;

#[derive(Debug)]
pub struct Turns<J> {
    /// Jobs of the server itself, which are few and small.
    own: VecDeque<J>,
    teamspaces: HashMap<TeamspaceId, VecDeque<(usize, J)>>,
    /// Those with jobs, in the order of their turns.
    order: VecDeque<TeamspaceId>,
}

impl<J> Default for Turns<J> {
    fn default() -> Self {
        Self { own: VecDeque::new(), teamspaces: HashMap::new(), order: VecDeque::new() }
    }
}

impl<J> Turns<J> {
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.order.is_empty()
    }

    pub fn push_own(&mut self, job: J) {
        self.own.push_back(job);
    }

    /// Gives the job back if too many of its teamspace wait.
    pub fn push(&mut self, teamspace: &TeamspaceId, n_bytes: usize, job: J) -> Result<(), J> {
        if let Some(waiting) = self.teamspaces.get_mut(teamspace) {
            if waiting.len() >= WAITING_OF_A_TEAMSPACE_MAX {
                return Err(job);
            }
            waiting.push_back((n_bytes, job));
            return Ok(());
        }
        self.teamspaces.insert(teamspace.clone(), VecDeque::from([(n_bytes, job)]));
        self.order.push_back(teamspace.clone());
        Ok(())
    }

    /// The next group: one of each teamspace, and so on, until it is large enough.
    pub fn take(&mut self, group: &mut Vec<J>, n_max: usize) {
        group.extend(self.own.drain(..));
        let mut n_bytes = 0;
        while group.len() < n_max
            && n_bytes < GROUP_BYTES_MAX
            && let Some(teamspace) = self.order.pop_front()
        {
            let Some(waiting) = self.teamspaces.get_mut(&teamspace) else { continue };
            // A single teamspace needs no turns.
            let is_alone = self.order.is_empty();
            while group.len() < n_max
                && n_bytes < GROUP_BYTES_MAX
                && let Some((size, job)) = waiting.pop_front()
            {
                n_bytes += size;
                group.push(job);
                if !is_alone {
                    break;
                }
            }
            if waiting.is_empty() {
                self.teamspaces.remove(&teamspace);
            } else {
                self.order.push_back(teamspace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn teamspace(name: &str) -> TeamspaceId {
        name.parse().expect("a teamspace")
    }

    #[test]
    fn one_that_commits_much_delays_nobody() {
        let mut turns = Turns::default();
        let (busy, calm) = (teamspace("busy"), teamspace("calm"));
        for number in 0..1_000 {
            assert!(turns.push(&busy, 100, number).is_ok());
        }
        assert!(turns.push(&calm, 100, 5_000).is_ok());
        assert!(turns.push(&calm, 100, 5_001).is_ok());
        turns.push_own(9_000);
        let mut group = Vec::new();
        turns.take(&mut group, 6);
        assert_eq!(group, [9_000, 0, 5_000, 1, 5_001, 2]);
        group.clear();
        turns.take(&mut group, 512);
        assert_eq!(group, (3..515).collect::<Vec<_>>());
    }

    #[test]
    fn large_commits_share_no_group_with_many_others() {
        let mut turns = Turns::default();
        let (large, small) = (teamspace("large"), teamspace("small"));
        for number in 0..10 {
            assert!(turns.push(&large, GROUP_BYTES_MAX - 1, number).is_ok());
            assert!(turns.push(&small, 10, 100 + number).is_ok());
        }
        let mut group = Vec::new();
        turns.take(&mut group, 512);
        assert_eq!(group, [0, 100]);
        group.clear();
        turns.take(&mut group, 512);
        assert_eq!(group, [1, 101]);
    }

    #[test]
    fn a_teamspace_cannot_fill_the_queue() {
        let mut turns = Turns::default();
        let busy = teamspace("busy");
        for number in 0..WAITING_OF_A_TEAMSPACE_MAX {
            assert!(turns.push(&busy, 0, number).is_ok());
        }
        assert!(turns.push(&busy, 0, 0).is_err());
        assert!(turns.push(&teamspace("calm"), 0, 0).is_ok());
    }
}
