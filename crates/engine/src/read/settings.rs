//! A cache of the settings of each teamspace: every proposal needs them, and they rarely change.
//! The store reports a change before it answers the caller that made it, so later requests are
//! decided by the new settings.

use std::collections::HashMap;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use protocol::ids::TeamspaceId;
use protocol::ledger::{Stream, Subject};
use protocol::step::State;
use protocol::teamspace::Settings;

use crate::ports::store::{Sequenced, StoreError};
use crate::read::Read;

/// A few dozen bytes each. Past this many the cache is cleared.
const KNOWN_TEAMSPACES_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct KnownSettings {
    known: RwLock<SettingsTable>,
}

#[derive(Debug, Default)]
struct SettingsTable {
    settings: HashMap<TeamspaceId, Settings>,
    /// Grows with every change, so that a value read before the change is not cached after it.
    generation: u64,
}

impl Read<'_> {
    /// The current settings of a teamspace. One that was never configured has the defaults.
    pub async fn settings(self, teamspace: &TeamspaceId) -> Result<Settings, StoreError> {
        let generation = {
            let known = self.engine.settings.read();
            if let Some(settings) = known.settings.get(teamspace) {
                return Ok(*settings);
            }
            known.generation
        };
        let item = Box::pin(self.item(&Stream::of_teamspace(teamspace.clone()))).await?;
        let settings = match item.as_ref().map(|item| item.state.as_ref()) {
            Some(State::Teamspace(teamspace)) => teamspace.configuration.settings,
            Some(
                State::Handoff(_)
                | State::Agent(_)
                | State::Token(_)
                | State::Ledger(_)
                | State::Message(_)
                | State::Graph(_)
                | State::Subscription(_)
                | State::Session(_)
                | State::File(_)
                | State::Webhook(_)
                | State::Question(_)
                | State::Conversation(_),
            )
            | None => Settings::default(),
        };
        self.engine.settings.learn(teamspace, settings, generation);
        Ok(settings)
    }
}

impl KnownSettings {
    /// Drops the settings that committed entries change. The next lookup reads them again.
    pub fn update(&self, entries: &[Sequenced]) {
        for Sequenced { entry, .. } in entries {
            if entry.stream.subject == Subject::Teamspace {
                let mut known = self.write();
                known.settings.remove(&entry.stream.teamspace);
                known.generation += 1;
            }
        }
    }

    fn learn(&self, teamspace: &TeamspaceId, settings: Settings, generation: u64) {
        let mut known = self.write();
        if known.generation != generation {
            return;
        }
        if known.settings.len() >= KNOWN_TEAMSPACES_MAX {
            known.settings.clear();
        }
        known.settings.insert(teamspace.clone(), settings);
    }

    fn read(&self) -> RwLockReadGuard<'_, SettingsTable> {
        self.known.read().expect("nothing panics in here")
    }

    fn write(&self) -> RwLockWriteGuard<'_, SettingsTable> {
        self.known.write().expect("nothing panics in here")
    }
}
