//! The slots of an agent: as many as conversations that it may hold at once.

use crate::ids::AgentId;

const SLOT: &str = "slot/";

/// The prefix of the keys of all slots of an agent.
pub fn slot_prefix(agent: &AgentId) -> String {
    format!("{SLOT}{agent}/")
}

/// The hold that a conversation occupies as the `k`th of an agent, counted from 1.
pub fn slot_key(agent: &AgentId, k: u16) -> String {
    format!("{}{k}", slot_prefix(agent))
}

/// Whether a hold is a slot of an agent.
pub fn is_slot(key: &str) -> bool {
    key.starts_with(SLOT)
}

/// The lowest free slot, given the keys of the occupied ones; `None` if the agent has no capacity
/// left.
///
/// A caller that takes the lowest slot, with a compare at commit, never exceeds the capacity, even
/// after it was lowered. All slots below it were counted as occupied. No caller takes a higher slot
/// while this one is free, so the count of those stays right too.
pub fn free_slot(agent: &AgentId, capacity: u16, occupied: &[String]) -> Option<u16> {
    if occupied.len() >= usize::from(capacity) {
        return None;
    }
    (1..=capacity).find(|k| !occupied.contains(&slot_key(agent, *k)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_slot_is_taken_unless_all_are() {
        let ann: AgentId = "ann".parse().unwrap();
        for (capacity, occupied, expected) in [
            (3, vec![], Some(1)),
            (3, vec![1], Some(2)),
            (3, vec![2, 3], Some(1)),
            (3, vec![1, 2, 3], None),
            (0, vec![], None),
            // After the capacity was lowered, conversations above it still count.
            (2, vec![4], Some(1)),
            (2, vec![4, 5], None),
            (2, vec![1, 5], None),
        ] {
            let keys: Vec<_> = occupied.iter().map(|k| slot_key(&ann, *k)).collect();
            assert_eq!(free_slot(&ann, capacity, &keys), expected, "{capacity} {occupied:?}");
        }
    }
}
