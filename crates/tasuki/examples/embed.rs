//! The engine inside a program of your own: a SQLite ledger in a temporary folder, two agents, and
//! one task on its way from Alice to Bob.
#![expect(clippy::print_stdout, reason = "the story it prints is what this example is for")]

use std::sync::Arc;

use engine::Engine;
use engine::ports::clock::SystemClock;
use engine::ports::ids::RandomIds;
use protocol::agent::{Command as AgentCommand, Kind, Profile};
use protocol::caller::{Caller, Principal};
use protocol::handoff::command::{Accept, Command as Action};
use protocol::handoff::completion::Completion;
use protocol::ids::TeamspaceId;
use protocol::ledger::{Stream, Subject};
use protocol::step::Command;
use serde_json::json;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(store::Sqlite::open(folder.path())?);
    let engine = Engine::new(store, Arc::new(SystemClock), Arc::new(RandomIds));
    let operator = caller(Principal::Operator("root".parse()?));
    for name in ["alice", "bob"] {
        let register = AgentCommand::Register { kind: Kind::Worker, profile: Profile::default() };
        let agent = stream(Subject::Agent(name.parse()?));
        engine.submit(&operator, agent, Command::Agent(register), None).await?;
    }
    let alice = caller(Principal::Agent("alice".parse()?));
    let bob = caller(Principal::Agent("bob".parse()?));
    let offer = Box::new(serde_json::from_value(json!({
        "to_agent": "bob",
        "task": { "task_id": "DOC-7", "title": "Proofread", "success_criteria": ["No typos"] },
        "context": { "summary": "The manual goes to print on Friday." },
        "work_state": { "next_step": "Start with chapter 3" },
    }))?);
    let handoff = stream(Subject::Handoff(engine.new_handoff_id()));
    for (who, action) in [
        (&alice, Action::Draft { offer }),
        (&alice, Action::Initiate { offer: None }),
        (&bob, Action::Accept(Accept::default())),
        (&bob, Action::Activate { work_state_update: None }),
        (&bob, Action::Complete(Completion::default())),
        (&alice, Action::Close { closure_notes: None }),
    ] {
        engine.submit(who, handoff.clone(), Command::Handoff(action), None).await?;
    }
    for told in engine.ledger().follow(0).available().await? {
        let entry = &told.sequenced.entry;
        println!("{:>2}  {:<13}  {}", told.seq(), entry.actor, entry.name);
    }
    Ok(())
}

fn caller(principal: Principal) -> Caller {
    let (teamspace, session) = (TeamspaceId::default_teamspace(), "embedded".to_owned());
    Caller { teamspace, principal, roles: Default::default(), session }
}

fn stream(subject: Subject) -> Stream {
    Stream { teamspace: TeamspaceId::default_teamspace(), subject }
}
