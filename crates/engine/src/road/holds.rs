//! Reading the holds that a command looks at, and the entries of its stream that they name.

use std::collections::BTreeSet;

use protocol::codec;
use protocol::ledger::Stream;
use protocol::step::{self, HoldState, Holds};

use crate::Engine;
use crate::ports::store::{StoreError, StoreReads};

/// How much of the ledger is read to compare it with a command that is sent again. The command was
/// recorded in one entry, or in few.
const COMPARED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What is assumed about the holds a command looks at. Most are new, so the first try assumes that
/// all are free and saves the reads; the store compares at commit.
pub(crate) enum AssumedHolds {
    Free,
    /// They are read for each try, except one in `told` that the store has just reported.
    Read {
        told: Option<(String, HoldState)>,
    },
}

impl Engine {
    /// Reads the holds with these keys. `known` are those that need not be read.
    pub(crate) async fn read_holds(
        &self,
        stream: &Stream,
        keys: Vec<String>,
        known: impl Fn(&str) -> Option<HoldState>,
    ) -> Result<Holds, StoreError> {
        let mut holds = Holds::default();
        let mut positions = BTreeSet::new();
        for key in keys {
            let hold = match known(&key) {
                Some(hold) => hold,
                None => self.hold(&stream.teamspace, &key).await?,
            };
            if hold != HoldState::default() {
                positions.extend(step::named_entry(stream, &hold));
                holds.taken.insert(key, hold);
            }
        }
        let mut n_bytes = 0;
        for position in positions {
            let page = self.store.history(stream, position + 1, 1).await?;
            let Some(entry) = page.into_iter().next().map(|one| one.entry) else { continue };
            let text = entry.body.text().unwrap_or_default();
            n_bytes += text.len();
            if n_bytes > COMPARED_BYTES_MAX {
                return Err(StoreError::Overloaded);
            }
            if let Ok(event) = codec::decode(&entry.name, entry.version, text) {
                step::add_named(&mut holds, entry.position, event);
            }
        }
        Ok(holds)
    }
}
