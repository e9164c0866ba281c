//! Taking turns, so that the teamspace with the most work does not delay the others.

use std::collections::HashMap;

use engine::ports::store::Due;
use protocol::ids::TeamspaceId;

/// Takes one from each queue, then a second one from each, until there are enough.
pub fn take_turns<T>(queues: Vec<Vec<T>>, limit: usize) -> Vec<T> {
    let mut queues: Vec<_> = queues.into_iter().map(Vec::into_iter).collect();
    let mut taken = Vec::new();
    loop {
        let n_before = taken.len();
        for queue in &mut queues {
            if taken.len() == limit {
                return taken;
            }
            taken.extend(queue.next());
        }
        if taken.len() == n_before {
            return taken;
        }
    }
}

/// Deadlines by their teamspaces, the one with the earliest first.
pub fn by_teamspace(due: Vec<Due>) -> Vec<Vec<Due>> {
    let mut queues: Vec<Vec<Due>> = Vec::new();
    let mut places: HashMap<TeamspaceId, usize> = HashMap::new();
    for one in due {
        let place = *places.entry(one.stream.teamspace.clone()).or_insert(queues.len());
        match queues.get_mut(place) {
            Some(queue) => queue.push(one),
            None => queues.push(vec![one]),
        }
    }
    queues
}

#[cfg(test)]
mod tests {
    use super::take_turns;

    #[test]
    fn the_longest_queue_waits_like_the_others() {
        let queues = || vec![vec!["a1", "a2", "a3", "a4"], vec![], vec!["b1"], vec!["c1", "c2"]];
        assert_eq!(take_turns(queues(), 4), ["a1", "b1", "c1", "a2"]);
        assert_eq!(take_turns(queues(), 99), ["a1", "b1", "c1", "a2", "c2", "a3", "a4"]);
        assert_eq!(take_turns(queues(), 0), [""; 0]);
    }
}
