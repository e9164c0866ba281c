//! The teamspaces: a victim, honest neighbours and hostile ones, each with twenty tokens of every
//! kind. They are made once and copied, so that every measurement begins with the same store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::super::child::{self, Server};
use super::super::stores::{self, Growing};
use super::super::work;
use super::Priority;
use tasuki::client::{Call, Client, Identity};
use tasuki::node::Node;

/// Tokens of every kind.
pub const TOKENS: usize = 20;

/// The file that the gate of the victim looks at.
const ARTIFACT: &str = "small";

/// The tokens of a teamspace.
#[derive(Debug, Default)]
pub struct Team {
    pub operators: Vec<String>,
    pub workers: Vec<String>,
    pub humans: Vec<String>,
    /// Routers and supervisors.
    pub systems: Vec<String>,
    pub customers: Vec<Customer>,
}

/// The conversation of a worker with a customer; the worker has the same number.
#[derive(Debug)]
pub struct Customer {
    pub conversation: String,
    pub token: String,
}

/// Whether the server that is measured has its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shares {
    Kept,
    /// The canary: no use is limited, and no teamspace gives way.
    Off,
}

/// The store that every measurement begins with.
#[derive(Debug)]
pub struct Template {
    within: PathBuf,
    program: PathBuf,
    pub priority: Priority,
    folder: PathBuf,
    roots: PathBuf,
    pub victim: Arc<Team>,
    pub honest: Arc<Team>,
    pub hostile: Arc<Team>,
}

/// A server on a copy of the store.
#[derive(Debug)]
pub struct Stage {
    pub server: Server,
    pub folder: PathBuf,
}

impl Template {
    /// `program` is the server.
    pub async fn make(within: &Path, program: PathBuf, priority: Priority) -> Result<Self> {
        let folder = stores::empty(within, "template")?;
        let roots = stores::empty(within, "artifacts")?;
        fs::write(roots.join(ARTIFACT), "hello").context("cannot make an artifact")?;
        let (_keep_running, stopping) = watch::channel(false);
        let node = Node::start(&work::unlimited(folder.clone()), stopping)?;
        let client = Client::in_process(node.router.clone());
        let victim = Arc::new(team(&client, "victim").await?);
        let honest = Arc::new(team(&client, "honest").await?);
        let hostile = Arc::new(team(&client, "hostile").await?);
        drop(client);
        node.stop().await;
        let within = within.to_owned();
        Ok(Self { within, program, priority, folder, roots, victim, honest, hostile })
    }

    /// The path of the victim's artifact.
    pub fn artifact(&self) -> String {
        self.roots.join(ARTIFACT).display().to_string()
    }

    /// Blocks until a server runs on a new copy.
    pub fn open(&self, shares: Shares) -> Result<Stage> {
        let folder = self.within.join("measured");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        stores::copy_folder(&self.folder, &folder, Growing::Real)?;
        let mut settings = match shares {
            Shares::Kept => Vec::new(),
            Shares::Off => child::unlimited().into_iter().chain([no_shares()]).collect(),
        };
        // The endpoints of all are on this machine.
        let allowed = "true".to_owned();
        settings.extend([
            ("TASUKI_ARTIFACTS_ROOTS".to_owned(), self.roots.display().to_string()),
            ("TASUKI_ARTIFACTS_ALLOW_PRIVATE_ADDRESSES".to_owned(), allowed.clone()),
            ("TASUKI_MESSAGES_WAKE_PRIVATE_ADDRESSES".to_owned(), allowed),
        ]);
        let server = Server::start_with(&self.program, &folder, &settings)?;
        Ok(Stage { server, folder })
    }
}

impl Stage {
    /// Everything in the data folder.
    pub fn disk_bytes(&self) -> Result<u64> {
        bytes_in(&self.folder)
    }
}

fn bytes_in(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for found in fs::read_dir(folder)? {
        let found = found?;
        let kind = found.file_type()?;
        bytes += match kind.is_dir() {
            true => bytes_in(&found.path())?,
            // A file may be gone since it was listed.
            false => found.metadata().map_or(0, |file| file.len()),
        };
    }
    Ok(bytes)
}

fn no_shares() -> (String, String) {
    ("TASUKI_LIMITS_FAIR_SHARES".to_owned(), "false".to_owned())
}

async fn team(client: &Client, teamspace: &str) -> Result<Team> {
    let identity = Identity { teamspace: Some(teamspace.to_owned()), ..Identity::default() };
    let owner = client.clone().with_identity(identity);
    let mut team = Team::default();
    for number in 0..TOKENS {
        for (kind, tokens) in [
            ("operator", &mut team.operators),
            ("worker", &mut team.workers),
            ("human", &mut team.humans),
            ("system", &mut team.systems),
        ] {
            let body = json!({ "agent": format!("{kind}-{number}"), "kind": kind });
            let issued = owner.call(Call::post("/v1/tokens", body)).await?.success()?;
            tokens.push(text(&issued, "token")?);
        }
        let token = team.workers.last().cloned();
        let worker = client.clone().with_identity(Identity { token, ..Identity::default() });
        let body = json!({ "agent": format!("worker-{number}") });
        let opened = worker.call(Call::post("/v1/conversations", body)).await?.success()?;
        let conversation = text(&opened, "conversation_id")?;
        team.customers.push(Customer { conversation, token: text(&opened, "customer_token")? });
    }
    Ok(team)
}

fn text(answer: &Value, field: &str) -> Result<String> {
    Ok(answer[field].as_str().with_context(|| format!("no {field}"))?.to_owned())
}
