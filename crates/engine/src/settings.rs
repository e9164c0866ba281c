//! What each teamspace says about all its work, in memory: every proposal asks for it, and it
//! hardly ever changes. The store says when it does, before whoever changed it is answered, so that
//! what is asked for later is decided by it.

use std::collections::HashMap;
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use protocol::ids::TeamspaceId;
use protocol::ledger::{Stream, Subject};
use protocol::step::State;
use protocol::teamspace::Settings;

use crate::Engine;
use crate::port::{Sequenced, StoreError};

/// A few dozen bytes each; past this many the memory starts afresh.
const KNOWN_TEAMSPACES_MAX: usize = 10_000;

#[derive(Debug, Default)]
pub struct KnownSettings {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    settings: HashMap<TeamspaceId, Settings>,
    /// Grows with every change, so that what was read before it is not kept.
    generation: u64,
}

impl Engine {
    /// What holds in a teamspace now. One that nobody configured has the defaults.
    pub async fn settings(&self, teamspace: &TeamspaceId) -> Result<Settings, StoreError> {
        let generation = {
            let known = self.settings.read();
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
                | State::Conversation(_),
            )
            | None => Settings::default(),
        };
        self.settings.learn(teamspace, settings, generation);
        Ok(settings)
    }
}

impl KnownSettings {
    /// Told of what was committed: what it changes is read again by whoever asks next.
    pub fn heed(&self, entries: &[Sequenced]) {
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

    fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().expect("nothing panics in here")
    }

    fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().expect("nothing panics in here")
    }
}
