//! A bank with a server that has all its sockets, an agent that works there, and people who listen.

use std::path::{Path, PathBuf};

use serde_json::json;
use tasuki::client::{Call, Client};
use tempfile::TempDir;

use super::peer::{Peer, Road};
use crate::aaep::listener::{request, terms};
use crate::server::{Server, ok};

#[derive(Debug)]
pub struct Branch {
    pub server: Server,
    pub teller: Who,
    pub dana: Who,
    operator: String,
    pub socket: PathBuf,
    folder: TempDir,
}

/// A caller, by a token where one is needed, or by name for the owner of the server.
#[derive(Debug, Clone)]
pub struct Who {
    pub name: &'static str,
    pub teamspace: &'static str,
    pub token: String,
}

impl Who {
    pub fn new(name: &'static str, token: &str) -> Self {
        Self { name, teamspace: "default", token: token.to_owned() }
    }
}

impl Branch {
    pub async fn open() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join("run/aaep/tasuki.sock");
        let server = start(&folder, &socket);
        let operator = server.token("root", &["--kind", "operator"]);
        let client = server.with_token(&operator);
        for (name, kind) in [("teller", "worker"), ("dana", "human")] {
            ok(&client, Call::put(format!("/v1/agents/{name}"), json!({ "kind": kind }))).await;
        }
        let who = |name: &'static str| Who::new(name, &server.token(name, &[]));
        let (teller, dana) = (who("teller"), who("dana"));
        Self { server, teller, dana, operator, socket, folder }
    }

    /// Another person who listens.
    pub fn person(&self, name: &'static str, teamspace: &'static str) -> Who {
        let token = self.server.token(name, &["--kind", "human", "--teamspace", teamspace]);
        Who { name, teamspace, token }
    }

    pub fn operator(&self) -> Client {
        self.server.with_token(&self.operator)
    }

    /// Restarts the server on the same folder.
    pub fn start_again(&mut self) {
        self.server = start(&self.folder, &self.socket);
    }

    pub async fn producer(&self, road: Road) -> Peer {
        Peer::open(self, road, &self.teller).await
    }

    /// A listener that may answer, with a subscription.
    pub async fn listener(&self, road: Road) -> (Peer, String) {
        let mut dana = Peer::open(self, road, &self.dana).await;
        dana.send(request(&terms(json!({})))).await;
        let accepted = dana.next().await;
        assert_eq!(accepted["type"], "subscription.accepted", "{accepted}");
        let id = accepted["subscription_id"].as_str().expect("an id").to_owned();
        (dana, id)
    }
}

fn start(folder: &TempDir, socket: &Path) -> Server {
    Server::start_on(&folder.path().join("data"), |command| {
        command.arg("--aaep-socket").arg(socket);
    })
}
