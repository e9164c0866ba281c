//! One side of a simulation: an engine with a clock, a source of ids and a store that survives a
//! crash. Sides of one seed differ only in the store.

use std::sync::Arc;

use engine::Engine;
use engine::ports::clock::{Clock, ManualClock};
use engine::ports::ids::SeededIds;
use engine::ports::store::Store;
use engine::road::submit::{Done, SubmitError};
use protocol::agent::{Command as AgentCommand, Kind, Profile};
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use protocol::time::Span;
use store::sqlite::Durability;
use store::{Memory, Sqlite};
use tempfile::TempDir;

use super::careless::Careless;
use super::script::{AGENTS, Asked, TEAMSPACES};
use crate::support::{id, operator, start};

pub struct Side {
    pub store: Arc<dyn Store>,
    pub engine: Engine,
    pub clock: Arc<ManualClock>,
    ids: Arc<SeededIds>,
    shelf: Shelf,
}

/// What remains of a store when its process is gone.
enum Shelf {
    /// The tables outlive their engine.
    Memory(Memory),
    Folder(TempDir),
    Careless(Careless),
}

impl Side {
    pub fn memory(seed: u64) -> Self {
        Self::new(seed, Shelf::Memory(Memory::default()))
    }

    pub fn sqlite(seed: u64) -> Self {
        Self::new(seed, Shelf::Folder(TempDir::new().expect("a temporary folder")))
    }

    pub fn careless(seed: u64, store: Careless) -> Self {
        Self::new(seed, Shelf::Careless(store))
    }

    fn new(seed: u64, shelf: Shelf) -> Self {
        let clock = Arc::new(ManualClock::starting_at(start()));
        let ids = Arc::new(SeededIds::new(seed));
        let store = shelf.open();
        let engine = Engine::new(store.clone(), clock.clone(), ids.clone());
        Self { store, engine, clock, ids, shelf }
    }

    /// The process dies; another one starts on what it left.
    pub fn crash(self) -> Self {
        let Self { store, engine, clock, ids, shelf } = self;
        drop((store, engine));
        if let Shelf::Careless(store) = &shelf {
            store.crash();
        }
        let store = shelf.open();
        let engine = Engine::new(store.clone(), clock.clone(), ids.clone());
        Self { store, engine, clock, ids, shelf }
    }

    pub async fn submit(&self, asked: &Asked) -> Result<Done, SubmitError> {
        let Asked { caller, stream, command, key } = asked;
        self.engine.submit(caller, stream.clone(), command.clone(), key.clone()).await
    }

    /// Fires all due deadlines; returns how many there were.
    pub async fn fire(&self) -> usize {
        self.engine.fire_due_deadlines().await.expect("the store can be read")
    }

    pub fn move_clock(&self, span: Span) {
        self.clock.set(self.clock.now().plus(span));
    }

    pub async fn register_everybody(&self) {
        for teamspace in TEAMSPACES {
            for (name, kind) in AGENTS {
                let mut caller = operator();
                caller.teamspace = teamspace.parse().expect("a teamspace");
                let subject = Subject::Agent(id(name));
                let stream = Stream { teamspace: caller.teamspace.clone(), subject };
                let profile =
                    Profile { user_selectable: kind == Kind::Worker, ..Profile::default() };
                let mut commands = vec![AgentCommand::Register { kind, profile }];
                if name == "cy" {
                    let url = Some("https://agents.example/turns".to_owned());
                    commands.push(AgentCommand::SetEndpoint { url, history: None });
                }
                for command in commands {
                    let command = Command::Agent(command);
                    let done = self.engine.submit(&caller, stream.clone(), command, None).await;
                    done.expect("an operator may register an agent");
                }
            }
        }
    }
}

impl Shelf {
    fn open(&self) -> Arc<dyn Store> {
        match self {
            Shelf::Memory(memory) => Arc::new(memory.clone()),
            Shelf::Careless(careless) => Arc::new(careless.clone()),
            // Only process crashes are simulated, and a sync for each step would take long.
            Shelf::Folder(folder) => Arc::new(
                Sqlite::open_with(folder.path(), Durability::ProcessCrashOnly)
                    .expect("the database is not open elsewhere"),
            ),
        }
    }
}
