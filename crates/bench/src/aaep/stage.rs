//! A server with an agent that announces and people who listen.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::sync::watch;

use super::super::child::Server;
use super::super::http::Tokens;
use super::super::{blocking, stores, work};
use tasuki::client::{Call, Client};
use tasuki::node::Node;

/// The agent that announces.
pub const ANNOUNCER: &str = "bench-announcer";

#[derive(Debug)]
pub struct Stage {
    pub folder: PathBuf,
    pub server: Server,
    pub announcer: String,
    /// The tokens of the people.
    pub people: Vec<String>,
    /// The tokens of the callers that hand over at the same time.
    pub tokens: Tokens,
}

impl Stage {
    /// Made in a new folder within another.
    pub async fn open(within: &Path, name: &str, n_people: usize) -> Result<Self> {
        let folder = stores::empty(within, name)?;
        let (_keep_running, stopping) = watch::channel(false);
        let node = Node::start(&work::unlimited(folder.clone()), stopping)?;
        work::register_agents(&node.engine).await?;
        let client = Client::in_process(node.router.clone());
        let tokens = stores::issue_tokens(&client).await?;
        let announcer = token(&client, ANNOUNCER, "worker").await?;
        let mut people = Vec::with_capacity(n_people);
        for number in 0..n_people {
            people.push(token(&client, &format!("bench-person-{number}"), "human").await?);
        }
        drop(client);
        node.stop().await;
        let of_server = folder.clone();
        let server = blocking(move || Server::start(&of_server)).await?;
        Ok(Self { folder, server, announcer, people, tokens })
    }

    /// The size of its database on disk, with the write-ahead log.
    pub fn database_bytes(&self) -> Result<u64> {
        let file = self.folder.join(store::sqlite::FILE_NAME);
        let mut log = file.clone().into_os_string();
        log.push("-wal");
        let log_bytes = std::fs::metadata(log).map_or(0, |log| log.len());
        Ok(std::fs::metadata(file).context("the server has a database")?.len() + log_bytes)
    }

    pub async fn close(self) -> Result<()> {
        blocking(move || self.server.stop()).await
    }
}

async fn token(client: &Client, agent: &str, kind: &str) -> Result<String> {
    let call = Call::post("/v1/tokens", json!({ "agent": agent, "kind": kind }));
    let issued = client.call(call).await?.success()?;
    Ok(issued["token"].as_str().context("a token was issued")?.to_owned())
}
