//! Who of a queue takes conversations now.

use protocol::agent::Agent;
use protocol::ids::TeamspaceId;
use protocol::transfer::decide::is_in_queue;

use crate::Engine;
use crate::port::StoreError;

/// The people of a queue who are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift {
    pub n_available: usize,
    /// Conversations that they can have at once, all together.
    pub slots: u32,
}

impl Engine {
    pub async fn shift(&self, teamspace: &TeamspaceId, queue: &Agent) -> Result<Shift, StoreError> {
        let people = self.available(teamspace).await?;
        let there = people.iter().filter(|person| is_in_queue(person, queue));
        let mut shift = Shift { n_available: 0, slots: 0 };
        for person in there {
            shift.n_available += 1;
            let capacity = person.capacity().map_or(u32::MAX, u32::from);
            shift.slots = shift.slots.saturating_add(capacity);
        }
        Ok(shift)
    }
}
