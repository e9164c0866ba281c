//! What the bench hands over: one package of about 2 KiB between two agents, with a new task each
//! time.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use engine::Engine;
use engine::ports::ids::{Ids, RandomIds, SeededIds};
use engine::road::submit::{Done, Key};
use protocol::agent::{self, Kind, Profile};
use protocol::caller::{Caller, Principal};
use protocol::handoff::command::Accept;
use protocol::handoff::completion::Completion;
use protocol::handoff::{Command, Offer};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::quota::Quota;
use protocol::time::Time;
use protocol::{canonical, step};
use serde_json::{Value, json};
use tasuki::config::Config;

use super::load::{Meter, Walker};

pub const SENDER: &str = "bench-sender";
pub const TARGET: &str = "bench-target";

pub const COMPLETION_NOTES: &str = "Keys are kept; all seventeen are refunded.";

const SUMMARY: &str = "Two customers were charged twice when the payment gateway timed out. The \
    client retries after ten seconds without an idempotency key, so the gateway sees a second \
    order. The retry was added in March, when the gateway lost one request in a thousand; since \
    then it has become reliable, and nobody measured again. The ledger shows 214 pairs of charges \
    within a minute of each other, of which 197 were refunded by hand. The remaining seventeen are \
    in the attached file, with the customers who wrote to us. The gateway's documentation promises \
    that a key is honoured for a day, which is longer than any of our retries. A first version of \
    the change is on the branch; it sends the key, but it makes a new one for every attempt, which \
    is of no use. The tests pass because the fake gateway ignores the key altogether, so the fake \
    has to learn about keys first. Nothing of this is deployed, and the feature flag is off.";

/// The settings of a server whose quotas are counted like any others, and never reached.
pub fn unlimited(data: PathBuf) -> Config {
    let quotas = Quota::ALL.map(|quota| (quota, u32::MAX)).into();
    Config { data, quotas, ..Config::default() }
}

/// The package as a sender writes it.
pub fn offer_json(task_id: &str) -> Value {
    json!({
        "to_agent": TARGET,
        "reason": "The payment client belongs to the payments team.",
        "task": {
            "task_id": task_id,
            "title": "Make retries of the payment client idempotent",
            "objective": "No customer is ever charged twice for one order",
            "success_criteria": [
                "Every attempt of one order carries the same key",
                "The fake gateway refuses a second charge without a key",
                "The seventeen open cases are refunded",
            ],
            "priority": "high",
            "external_refs": [{
                "type": "file",
                "value": "/srv/cases/open.csv",
                "description": "The seventeen open cases",
            }],
        },
        "context": {
            "summary": SUMMARY,
            "constraints": ["The public API of the client must not change"],
            "known_risks": ["Orders that are split into two shipments share a number"],
        },
        "work_state": {
            "status": "in_progress",
            "percent_complete": 40,
            "completed_steps": ["Reproduced with a slow gateway", "Wrote the failing test"],
            "next_step": "Read client.rs from line 80 and move the key out of the loop",
            "branch": "fix/idempotent-retries",
        },
    })
}

pub fn teamspace() -> TeamspaceId {
    TeamspaceId::default_teamspace()
}

pub fn caller_of(agent: &str) -> Caller {
    caller(Principal::Agent(agent.parse().expect("the names above are valid")))
}

fn caller(principal: Principal) -> Caller {
    let (roles, session) = (BTreeSet::new(), "bench".to_owned());
    Caller { teamspace: teamspace(), principal, roles, session }
}

/// Adds the two agents to the directory.
pub async fn register_agents(engine: &Engine) -> Result<()> {
    let operator = caller(Principal::Operator("bench".parse().expect("a valid name")));
    for name in [SENDER, TARGET] {
        let id: AgentId = name.parse().expect("the names above are valid");
        let stream = Stream { teamspace: teamspace(), subject: Subject::Agent(id) };
        let register = agent::Command::Register { kind: Kind::Worker, profile: Profile::default() };
        engine
            .submit(&operator, stream, step::Command::Agent(register), None)
            .await
            .context("cannot register the agents of the bench")?;
    }
    Ok(())
}

/// A source of ids that costs nothing, for a caller that shares the machine with what is measured.
pub fn cheap_ids() -> SeededIds {
    let mut seed = [0; 8];
    seed.copy_from_slice(&RandomIds.bytes()[..8]);
    SeededIds::new(u64::from_le_bytes(seed))
}

/// A task id that grows with time, as tickets do.
pub fn new_task_id(ids: &dyn Ids, now: Time) -> String {
    format!("BENCH-{}", ids.uuid(now))
}

/// A caller of the engine, by way of the library.
#[derive(Debug, Clone)]
pub struct EngineWalker {
    engine: Engine,
    sender: Caller,
    target: Caller,
    offer: Offer,
    rest: [Command; 4],
    ids: Arc<SeededIds>,
}

impl EngineWalker {
    pub fn new(engine: Engine) -> Result<Self> {
        let offer = serde_json::from_value(offer_json("BENCH-0")).context("the offer is valid")?;
        let rest = [
            Command::Accept(Accept::default()),
            Command::Activate { work_state_update: None },
            Command::Complete(Completion {
                notes: Some(COMPLETION_NOTES.to_owned()),
                ..Completion::default()
            }),
            Command::Close { closure_notes: None },
        ];
        let (sender, target) = (caller_of(SENDER), caller_of(TARGET));
        Ok(Self { engine, sender, target, offer, rest, ids: Arc::new(cheap_ids()) })
    }

    fn proposal(&self) -> Result<Command> {
        let mut offer = self.offer.clone();
        let task_id = new_task_id(&*self.ids, self.engine.clock().now())
            .parse()
            .context("a valid task id")?;
        if let Some(task) = &mut offer.task {
            task.task_id = Some(task_id);
        }
        Ok(Command::Initiate { offer: Some(Box::new(offer)) })
    }

    fn key(&self) -> Option<Key> {
        let text = self.engine.new_key_text();
        Some(Key { fingerprint: canonical::sha256(&[text.as_bytes()]), text })
    }

    async fn propose(&self, stream: &Stream, proposal: Command) -> Result<Done> {
        let command = step::Command::Handoff(proposal);
        Ok(self.engine.submit_new(&self.sender, stream.clone(), command, self.key()).await?)
    }

    async fn act(&self, stream: &Stream, command: Command) -> Result<Done> {
        let command = step::Command::Handoff(command);
        Ok(self.engine.submit(&self.target, stream.clone(), command, self.key()).await?)
    }
}

impl Walker for EngineWalker {
    async fn walk(&mut self, meter: &mut Meter) -> Result<()> {
        let subject = Subject::Handoff(self.engine.new_handoff_id());
        let stream = Stream { teamspace: teamspace(), subject };
        let proposal = self.proposal()?;
        meter.time(self.propose(&stream, proposal)).await?;
        for command in &self.rest {
            meter.time(self.act(&stream, command.clone())).await?;
        }
        Ok(())
    }
}
