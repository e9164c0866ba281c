//! The attacks. Each is something that a teamspace is allowed to do, done as fast as it can with
//! twenty tokens of each kind that can do it.

mod bodies;
mod calls;
mod lasting;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;

use super::super::load::sleep;
use super::stage::{TOKENS, Team};
use super::wire::{Answer, Side, Wire, request};

pub use self::bodies::Bodies;

/// After a failed connection. Without it, an attacker that is shut out would only use up the
/// processor that it shares with the server.
const SHUT_OUT_REST: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    Graphs,
    SlowUrls,
    Uploads,
    Streams,
    Sockets,
    Sessions,
    Writes,
    Reads,
    Directory,
    WrongTokens,
    DryRuns,
    Faults,
    SlowHeads,
}

/// What a token stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Operator,
    Worker,
    Human,
    System,
    Customer,
}

impl Attack {
    pub const ALL: [Attack; 13] = [
        Attack::Graphs,
        Attack::SlowUrls,
        Attack::Uploads,
        Attack::Streams,
        Attack::Sockets,
        Attack::Sessions,
        Attack::Writes,
        Attack::Reads,
        Attack::Directory,
        Attack::WrongTokens,
        Attack::DryRuns,
        Attack::Faults,
        Attack::SlowHeads,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Attack::Graphs => "graphs",
            Attack::SlowUrls => "slow-urls",
            Attack::Uploads => "uploads",
            Attack::Streams => "streams",
            Attack::Sockets => "sockets",
            Attack::Sessions => "sessions",
            Attack::Writes => "writes",
            Attack::Reads => "reads",
            Attack::Directory => "directory",
            Attack::WrongTokens => "wrong-tokens",
            Attack::DryRuns => "dry-runs",
            Attack::Faults => "faults",
            Attack::SlowHeads => "slow-heads",
        }
    }

    /// The kinds of token that take part.
    fn kinds(self) -> &'static [Kind] {
        use Kind::{Customer, Human, Operator, System, Worker};
        match self {
            Attack::Graphs => &[Operator, Worker, Customer],
            Attack::SlowUrls | Attack::WrongTokens | Attack::DryRuns | Attack::SlowHeads => {
                &[Worker]
            }
            Attack::Uploads => &[Worker, Human, Customer],
            Attack::Streams | Attack::Reads => &[Operator, Worker, Human, System],
            Attack::Sockets => &[Worker, Human, Customer],
            Attack::Sessions => &[Worker, Human, System],
            Attack::Writes => &[Operator, Worker, Human, Customer],
            Attack::Directory => &[Operator],
            Attack::Faults => &[Operator, Worker, Customer],
        }
    }
}

/// How often the attackers got what they asked for.
#[derive(Debug, Default)]
pub struct Counts {
    pub admitted: AtomicU64,
    pub refused: AtomicU64,
    /// No answer: the connection was closed.
    pub cut_off: AtomicU64,
}

/// Where and with what to attack.
#[derive(Debug, Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub team: Arc<Team>,
    /// An endpoint that never answers.
    pub silent: String,
    pub bodies: Arc<Bodies>,
    pub counts: Arc<Counts>,
}

/// Attacks until it is dropped.
pub async fn run(attacks: &[Attack], target: Target) {
    let mut running = JoinSet::new();
    for &attack in attacks {
        for &kind in attack.kinds() {
            for number in 0..TOKENS {
                running.spawn(Attacker::new(&target, attack, kind, number).run());
            }
        }
    }
    while running.join_next().await.is_some() {}
}

/// One token in one attack.
struct Attacker {
    target: Target,
    attack: Attack,
    kind: Kind,
    number: usize,
    wire: Wire,
    /// Steps so far.
    n_steps: u64,
    /// Connections that are kept open.
    kept: std::collections::VecDeque<tokio::net::TcpStream>,
}

impl Attacker {
    fn new(target: &Target, attack: Attack, kind: Kind, number: usize) -> Self {
        let wire = Wire::new(target.address, Side::Beside);
        let kept = std::collections::VecDeque::new();
        Self { target: target.clone(), attack, kind, number, wire, n_steps: 0, kept }
    }

    async fn run(mut self) {
        loop {
            let step = match self.attack {
                Attack::Graphs => self.graphs().await,
                Attack::SlowUrls => self.slow_urls().await,
                Attack::Uploads => self.uploads().await,
                Attack::Streams => self.streams().await,
                Attack::Sockets => self.sockets().await,
                Attack::Sessions => self.sessions().await,
                Attack::Writes => self.writes().await,
                Attack::Reads => self.reads().await,
                Attack::Directory => self.directory().await,
                Attack::WrongTokens => self.wrong_tokens().await,
                Attack::DryRuns => self.dry_runs().await,
                Attack::Faults => self.faults().await,
                Attack::SlowHeads => self.slow_heads().await,
            };
            self.n_steps += 1;
            if step.is_err() {
                self.target.counts.cut_off.fetch_add(1, Ordering::Relaxed);
                sleep(SHUT_OUT_REST).await;
            }
        }
    }

    fn token(&self) -> &str {
        let team = &self.target.team;
        match self.kind {
            Kind::Operator => &team.operators[self.number],
            Kind::Worker => &team.workers[self.number],
            Kind::Human => &team.humans[self.number],
            Kind::System => &team.systems[self.number],
            Kind::Customer => &team.customers[self.number].token,
        }
    }

    /// Another worker.
    fn other(&self) -> usize {
        (self.number + 1) % TOKENS
    }

    /// A text that no other step of any attacker has.
    fn unique(&self) -> String {
        let (attack, kind) = (self.attack.name(), self.kind);
        format!("{attack}-{kind:?}-{}-{}", self.number, self.n_steps).to_lowercase()
    }

    async fn get(&mut self, path: &str) -> Result<Answer> {
        let request = request("GET", path, self.token(), None);
        self.ask(&request).await
    }

    async fn post(&mut self, path: &str, body: &str) -> Result<Answer> {
        let request = request("POST", path, self.token(), Some(body));
        self.ask(&request).await
    }

    async fn put(&mut self, path: &str, body: &str) -> Result<Answer> {
        let request = request("PUT", path, self.token(), Some(body));
        self.ask(&request).await
    }

    async fn ask(&mut self, request: &[u8]) -> Result<Answer> {
        let answer = self.wire.ask(request).await?;
        self.count(answer.is_success(), 1);
        Ok(answer)
    }

    fn count(&self, is_admitted: bool, n: u64) {
        let counts = &self.target.counts;
        let count = if is_admitted { &counts.admitted } else { &counts.refused };
        count.fetch_add(n, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_token_attacks_and_every_attack_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = Attack::ALL.map(Attack::name).into();
        assert_eq!(names.len(), Attack::ALL.len());
        for kind in [Kind::Operator, Kind::Worker, Kind::Human, Kind::System, Kind::Customer] {
            assert!(Attack::ALL.iter().any(|attack| attack.kinds().contains(&kind)), "{kind:?}");
        }
    }
}
