//! How a command reaches a server, and as which agent: the flags that all of these commands share.

use std::path::PathBuf;

use adapters::checkpoint_file;
use anyhow::{Context, Result, bail};
use clap::{Arg, Args};
use protocol::ids::TeamspaceId;

use super::configure;
use super::ending::{NoLedger, usage};
use super::pages::all;
use crate::client::{Client, Identity, Refused};
use crate::config::Config;
use crate::node::{Node, control_socket};

/// In help, these follow the command's own flags.
pub const HEADING: &str = "Connection";

/// After the flags of the command, before `--help`.
const JSON_ORDER: usize = 900;

/// This teamspace exists before its first use, but is listed only after it.
const DEFAULT_TEAMSPACE: &str = "default";

/// How to reach a server, shared by all commands that talk to one.
#[derive(Debug, Args)]
pub struct Reach {
    /// The data folder, of a server that runs or not [default: ./tasuki-data]
    #[arg(long, env = "TASUKI_DATA", global = true, value_name = "FOLDER", help_heading = HEADING)]
    pub data: Option<PathBuf>,
    /// Talk to this server instead, such as https://tasuki.example:7420
    #[arg(long, env = "TASUKI_SERVER", global = true, value_name = "URL", help_heading = HEADING)]
    pub server: Option<String>,
    /// Trust this certificate for https (PEM)
    #[arg(long, env = "TASUKI_CA_CERT", global = true, value_name = "FILE",
          help_heading = HEADING)]
    ca_cert: Option<PathBuf>,
    /// Bearer token: says who you are, and in which teamspace
    #[arg(long, env = "TASUKI_TOKEN", global = true, hide_env_values = true,
          help_heading = HEADING)]
    token: Option<String>,
    /// Act as this agent, without a token. Needs access to the data folder; refused together with
    /// the token of another agent
    #[arg(long = "as", env = "TASUKI_AS", global = true, value_name = "AGENT",
          help_heading = HEADING)]
    act_as: Option<String>,
    /// Act in this teamspace, with access to the data folder and without a token [default:
    /// default]
    #[arg(long, env = "TASUKI_TEAMSPACE", global = true, value_name = "ID",
          help_heading = HEADING)]
    teamspace: Option<String>,
    /// Print JSON instead of text
    #[arg(long, global = true, display_order = JSON_ORDER)]
    pub json: bool,
}

/// Whether a command may begin a ledger.
#[derive(Debug, Clone, Copy, Args)]
pub struct Begin {
    /// Begin a ledger in the data folder if there is none
    #[arg(long)]
    init: bool,
}

/// A client, and the node behind it when there is no server to talk to.
pub struct Reached {
    pub client: Client,
    pub node: Option<Node>,
}

impl Reach {
    /// The data folder: as given, or as configured.
    pub fn data(&self) -> Result<PathBuf> {
        match &self.data {
            Some(data) => Ok(data.clone()),
            None => Ok(configure(None)?.data),
        }
    }

    fn identity(&self) -> Identity {
        Identity {
            token: self.token.clone(),
            act_as: self.act_as.clone(),
            teamspace: self.teamspace.clone(),
        }
    }

    /// Finds the server. Without a running one, and without an address, this process becomes the
    /// server.
    pub async fn connect(&self) -> Result<Reached> {
        let reached = self.connect_anywhere().await?;
        if let Err(error) = self.check_teamspace(&reached.client).await {
            reached.finish().await;
            return Err(error);
        }
        Ok(reached)
    }

    /// Rejects an unknown teamspace: a misspelt one looks like one in which nothing has happened
    /// yet. For a caller with a token, or over the network, the server enforces the token's own
    /// teamspace.
    async fn check_teamspace(&self, client: &Client) -> Result<()> {
        let Some(teamspace) = self.teamspace.as_deref().filter(|_| self.token.is_none()) else {
            return Ok(());
        };
        let is_bad = teamspace.parse::<TeamspaceId>().is_err();
        if self.server.is_some() || is_bad || teamspace == DEFAULT_TEAMSPACE {
            return Ok(());
        }
        let owner = client.clone().with_identity(Identity::default());
        let teamspaces = all(&owner, "/v1/teamspaces").await?;
        let mut known = teamspaces["items"].as_array().into_iter().flatten();
        if known.any(|one| one["teamspace"] == teamspace) {
            return Ok(());
        }
        Err(Refused::found("not_found", "tasuki-teamspace", "no such teamspace").into())
    }

    /// The identity is sent with each request, on one line.
    fn check_identity(&self) -> Result<()> {
        let given =
            [("--token", &self.token), ("--as", &self.act_as), ("--teamspace", &self.teamspace)];
        for (flag, text) in given {
            if text.as_deref().is_some_and(|text| text.contains(char::is_control)) {
                bail!("{flag}: expected text on one line");
            }
        }
        Ok(())
    }

    async fn connect_anywhere(&self) -> Result<Reached> {
        usage(self.check_identity())?;
        let identity = self.identity();
        if let Some(url) = &self.server {
            let client = usage(Client::network(url, self.ca_cert.as_deref()))?;
            return Ok(Reached { client: client.with_identity(identity), node: None });
        }
        let data = self.data()?;
        let socket = control_socket(&data);
        if tokio::net::UnixStream::connect(&socket).await.is_ok() {
            let client = Client::socket(socket).with_identity(identity);
            return Ok(Reached { client, node: None });
        }
        let is_there = |name: &str| {
            let path = data.join(name);
            path.try_exists().with_context(|| format!("cannot look at {}", path.display()))
        };
        if !is_there(store::sqlite::FILE_NAME)? && !is_there(checkpoint_file::NEWEST_FILE)? {
            return Err(NoLedger(data).into());
        }
        become_server(data, identity)
    }

    /// The same for a command that may create a ledger or a teamspace.
    pub async fn connect_or_begin(&self, begin: Begin) -> Result<Reached> {
        match self.connect_anywhere().await {
            Err(error) if begin.init && error.is::<NoLedger>() => {
                become_server(self.data()?, self.identity())
            }
            reached => reached,
        }
    }
}

/// For a command that needs no server, below one with connection flags: replaces those flags, so
/// that its help does not list them.
pub fn offline() -> Vec<Arg> {
    let flags = Reach::augment_args(clap::Command::new("offline"));
    let flags = flags.get_arguments().filter(|flag| flag.get_help_heading().is_some());
    flags.map(|flag| flag.clone().global(false).hide(true)).collect()
}

fn become_server(data: PathBuf, identity: Identity) -> Result<Reached> {
    let config = Config { data, ..configure(None)? };
    let (_keep_running, stopping) = tokio::sync::watch::channel(false);
    let node = Node::start(&config, stopping)?;
    let client = Client::in_process(node.router.clone()).with_identity(identity);
    Ok(Reached { client, node: Some(node) })
}

impl Reached {
    /// Lets a node within this process finish its writes before the process ends.
    pub async fn finish(self) {
        if let Some(node) = self.node {
            node.stop().await;
        }
    }
}
