//! The scripted agent at work, within the server: users' words become sessions, which are announced
//! in the same way as those of any other agent, and people decide its questions.

use std::collections::BTreeSet;
use std::sync::Arc;

use aaep::machine::Outcome;
use anyhow::{Context, Result, bail};
use engine::Engine;
use engine::aaep::announce::session_stream;
use engine::aaep::sessions::{DECISION_WAIT_MAX, Question};
use engine::ports::ids::RandomIds;
use engine::ports::store::ListOf;
use gateways::http::Words;
use protocol::agent::{Command, Kind, Profile};
use protocol::caller::{Caller, Principal};
use protocol::ids::{AgentId, SessionId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::session::event::Said;
use protocol::session::{Given, Response};
use protocol::step::{self, State};
use protocol::time::Span;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::closing::{Cut, closing};
use super::{AGENT_ID, AGENT_NAME, Next, Play, Reply, Stage, Wait};

/// The person of the directory that stands for every caller without a token.
pub const LISTENER_ID: &str = "scripted-listener";
const LISTENER_NAME: &str = "Listener without a token (demo)";

/// Sessions that are played at once. Most of them are waiting for an answer.
const PLAYS_MAX: usize = 256;

/// User inputs that are queued and not yet played.
pub const WORDS_MAX: usize = 64;

/// The newest sessions, which are searched for those that a crash left open.
const LEFT_OPEN_MAX: usize = 1_024;
const PAGE_ROWS: usize = 128;

/// The settings of the play.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Percentage of the pauses in the script.
    pub pace_percent: u32,
    pub timeout_seconds: Option<u32>,
}

/// What it needs.
#[derive(Debug)]
pub struct AtWork {
    pub engine: Engine,
    pub manner: Manner,
    pub words: mpsc::Receiver<Words>,
    pub stopping: watch::Receiver<bool>,
    /// Turns true once the agent is in the directory and has ended old sessions.
    pub ready: watch::Sender<bool>,
}

/// What all sessions share.
struct Player {
    engine: Engine,
    caller: Caller,
    manner: Manner,
    stopping: watch::Receiver<bool>,
}

pub fn agent_id() -> AgentId {
    AGENT_ID.parse().expect("`scripted` is a name")
}

/// The caller without a token.
pub fn listener() -> Caller {
    as_agent(LISTENER_ID)
}

fn as_agent(id: &str) -> Caller {
    Caller {
        teamspace: TeamspaceId::default_teamspace(),
        principal: Principal::Agent(id.parse().expect("ours are names")),
        roles: BTreeSet::new(),
        session: "scripted".to_owned(),
    }
}

impl AtWork {
    /// Plays until the server stops, and then ends what is being played.
    pub async fn run(self) {
        let Self { engine, manner, mut words, mut stopping, ready } = self;
        let caller = as_agent(AGENT_ID);
        let player = Player { engine, caller, manner, stopping: stopping.clone() };
        if let Err(error) = player.settle_in().await {
            tracing::error!(error = format!("{error:#}"), "the scripted agent cannot work");
        }
        ready.send_replace(true);
        let player = Arc::new(player);
        let mut plays = JoinSet::new();
        loop {
            tokio::select! {
                said = words.recv(), if plays.len() < PLAYS_MAX => match said {
                    Some(said) => drop(plays.spawn(Arc::clone(&player).play(said))),
                    None => break,
                },
                Some(_) = plays.join_next(), if !plays.is_empty() => {}
                () = stopped(&mut stopping) => break,
            }
        }
        while plays.join_next().await.is_some() {}
    }
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone, which is as good as stopped.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

impl Player {
    /// Registers in the directory, and ends the sessions that the last run left open.
    async fn settle_in(&self) -> Result<()> {
        self.register(AGENT_ID, AGENT_NAME, Kind::Worker).await?;
        self.register(LISTENER_ID, LISTENER_NAME, Kind::Human).await?;
        let (teamspace, mut before) = (&self.caller.teamspace, None);
        for _ in 0..LEFT_OPEN_MAX / PAGE_ROWS {
            let page =
                self.engine.read().list(teamspace, ListOf::Sessions, before, PAGE_ROWS).await?;
            for item in page.items {
                let State::Session(session) = &*item.state else { continue };
                if session.is_open() && session.producer.as_str() == AGENT_ID {
                    self.end(&session.id).await?;
                }
            }
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        Ok(())
    }

    async fn register(&self, id: &str, name: &str, kind: Kind) -> Result<()> {
        let subject = Subject::Agent(id.parse().context("ours are names")?);
        let stream = Stream { teamspace: self.caller.teamspace.clone(), subject };
        if let Some(State::Agent(agent)) = self.engine.read().current(&stream).await?.as_deref() {
            if agent.kind != kind {
                bail!("the agent `{id}` is there already and is no {kind:?}");
            }
            return Ok(());
        }
        let operator = Principal::Operator("local".parse().context("`local` is a name")?);
        let caller = Caller { principal: operator, ..self.caller.clone() };
        let profile = Profile { name: name.to_owned(), ..Profile::default() };
        let register = step::Command::Agent(Command::Register { kind, profile });
        self.engine.submit(&caller, stream, register, None).await?;
        Ok(())
    }

    async fn play(self: Arc<Self>, said: Words) {
        let session = said.session.clone();
        if let Err(error) = self.perform(said).await {
            tracing::warn!(%session, error = format!("{error:#}"), "a scripted session broke off");
        }
    }

    async fn perform(&self, Words { session, text }: Words) -> Result<()> {
        let stage = Stage { timeout_seconds: self.manner.timeout_seconds, ..Stage::default() };
        let mut play = Play::in_session(session.as_str(), &text, stage, &RandomIds);
        drop(text);
        let mut stopping = self.stopping.clone();
        loop {
            let pause_ms = play.pause_ms() * u64::from(self.manner.pace_percent) / 100;
            let pause = Span::from_millis(i64::try_from(pause_ms).unwrap_or(i64::MAX));
            tokio::select! {
                biased;
                () = stopped(&mut stopping) => return self.end(&session).await,
                () = self.engine.clock().sleep(pause), if pause_ms > 0 => {}
                () = std::future::ready(()), if pause_ms == 0 => {}
            }
            match play.next(&RandomIds, self.engine.clock().now()) {
                Next::Say(event) => self.announce(&session, &[event]).await?,
                Next::Wait(wait) => {
                    tokio::select! {
                        () = stopped(&mut stopping) => return self.end(&session).await,
                        decided = self.decided(&session, &wait, &mut play) => decided?,
                    }
                }
                Next::Done => return Ok(()),
            }
        }
    }

    /// Continues once a question is settled.
    async fn decided(&self, session: &SessionId, wait: &Wait, play: &mut Play) -> Result<()> {
        let stream = session_stream(&self.caller, session);
        let settled = loop {
            let token = &wait.reply_token;
            match self.engine.sessions().question_settled(&stream, token, DECISION_WAIT_MAX).await?
            {
                Some(Question::Open { .. }) => {}
                settled => break settled,
            }
        };
        let reply = match &settled {
            Some(Question::Answered { outcome: Outcome::Accepted, .. }) => Reply::Accept,
            Some(Question::Answered { outcome: Outcome::Rejected, .. }) => Reply::Reject,
            Some(Question::Answered { answer, .. }) => match &answer.given {
                Given::Response(Response::Text(text)) => Reply::Answer(text),
                Given::Response(Response::YesNo(_) | Response::Number(_)) | Given::Decision(_) => {
                    Reply::TimedOut
                }
            },
            Some(
                Question::Open { .. }
                | Question::TimedOut { .. }
                | Question::Withdrawn
                | Question::Lost { .. }
                | Question::Erased { .. },
            )
            | None => Reply::TimedOut,
        };
        play.reply(reply).context("the engine takes only answers to what was asked")
    }

    async fn announce(&self, session: &SessionId, events: &[Value]) -> Result<()> {
        let said = |event: &Value| serde_json::from_str::<Said>(&event.to_string());
        let said = events.iter().map(said).collect::<Result<_, _>>()?;
        self.engine.sessions().announce(&self.caller, session, said).await?;
        Ok(())
    }

    /// Ends a session, if it has begun.
    async fn end(&self, id: &SessionId) -> Result<()> {
        let stream = session_stream(&self.caller, id);
        let Some(session) = self.engine.sessions().session(&stream).await? else { return Ok(()) };
        if !session.is_open() {
            return Ok(());
        }
        let cut = Cut {
            session_id: session.id.as_str(),
            agent_id: session.producer.as_str(),
            n_events: session.n_events,
            ends: session.machine.loose_ends(),
        };
        let events = closing(&cut, &RandomIds, self.engine.clock().now());
        self.announce(id, &events).await
    }
}
