//! How far deliveries to the holder have come.

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// How many messages are delivered at once. A message has at most 16 parts of 16 KiB, so this is at
/// most 4 MiB.
pub const MESSAGES_MAX: u64 = 16;

/// How far deliveries to the holder have come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryProgress {
    /// The last message of any agent.
    pub spoken: u64,
    /// The last message that was delivered to the holder in this epoch.
    pub through: u64,
    /// The piece that is being delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telling: Option<DeliveryPiece>,
}

/// A piece of the transcript on its way to the holder. It does not change until it is delivered, so
/// that every retry is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryPiece {
    /// The messages after this number, through the next one.
    pub after: u64,
    pub through: u64,
    /// The newest message to deliver, in this piece or in later ones.
    pub newest: u64,
    pub since: Time,
}

impl DeliveryProgress {
    /// There is something new to deliver to the holder.
    pub fn wants(&mut self, number: u64, turn: u64, at: Time) {
        match &mut self.telling {
            Some(telling) => telling.newest = number,
            None => {
                // Includes the customer's message itself, even if agents have spoken after it.
                let after = self.spoken.min(turn.saturating_sub(1)).max(self.through);
                self.telling = Some(DeliveryPiece::piece(after, number, at));
            }
        }
    }

    /// People give the conversation back to an agent that knew it up to a message: it is told
    /// everything since.
    pub fn hands_back(&mut self, known: u64, number: u64, at: Time) {
        self.telling = Some(DeliveryPiece::piece(known, number, at));
    }

    /// The delivery up to here succeeded.
    pub fn reached(&mut self, through: u64, at: Time) {
        let Some(telling) = self.telling.take() else { return };
        self.through = through;
        if telling.newest > through {
            self.telling = Some(DeliveryPiece::piece(through, telling.newest, at));
        }
    }

    /// The holder spoke. An answer to a message shows that the holder has it.
    pub fn spoke(&mut self, number: u64, in_reply_to: Option<u64>, turn: u64, at: Time) {
        self.spoken = number;
        let (Some(telling), Some(answered)) = (&self.telling, in_reply_to) else { return };
        let (through, newest) = (telling.through, telling.newest);
        if answered >= turn {
            self.reached(newest, at);
        } else if answered >= through {
            self.reached(through, at);
        }
    }

    /// The holder has changed.
    pub fn begin(&mut self) {
        *self = Self { spoken: self.spoken, ..Self::default() };
    }
}

impl DeliveryPiece {
    fn piece(after: u64, newest: u64, since: Time) -> Self {
        Self { after, through: newest.min(after.saturating_add(MESSAGES_MAX)), newest, since }
    }
}
