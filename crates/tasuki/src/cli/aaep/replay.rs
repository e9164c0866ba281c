//! `tasuki aaep replay`: plays a recording by its times, to the terminal as a listener would hear
//! it, or into a server as the agent that announced it.

use std::path::PathBuf;
use std::sync::Arc;

use aaep::handshake::{Handshake, Message, read_message};
use aaep::shape::{Cursor, Prepared, Shaper};
use anyhow::{Context, Result, bail};
use clap::Args;
use engine::ports::clock::{Clock, SystemClock};
use protocol::time::{Span, Time};
use serde_json::Value;

use super::announcer::Announcer;
use super::documents::{check_readable, read_whole};
use super::listen::server;
use super::produce;
use super::question::Question;
use super::speech::Text;
use super::terms::TermsArgs;
use crate::cli::ending::usage;
use crate::cli::reach::Reach;
use crate::{exit_code, output};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ReplayArgs {
    #[command(flatten)]
    reach: Reach,
    #[command(flatten)]
    terms: TermsArgs,
    /// A recording; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How much faster than it was, such as 2.0, or max for at once
    #[arg(long, value_name = "FACTOR", default_value = "1.0", value_parser = speed)]
    speed: Speed,
    /// Only this session
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Print it in this terminal, as a listener with these settings gets it (the default)
    #[arg(long, conflicts_with = "to_server")]
    to_terminal: bool,
    /// Announce it at a server, as the agent of --as or of the token
    #[arg(long)]
    to_server: bool,
    /// With --to-server: as a new session, so that it can be played again
    #[arg(long, requires = "to_server")]
    new_ids: bool,
}

const HELP: &str = "At a server, questions are asked again, and the replay waits for the answers. \
                    If they are other ones, it ends where the recording no longer fits.";

/// The speed of the playback.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    Times(f64),
    Max,
}

/// One line of a recording.
pub struct Recorded {
    pub at: Time,
    pub said: ReplayedEvent,
}

pub enum ReplayedEvent {
    Event { prepared: Arc<Prepared>, event: Value },
    Reply(Box<Handshake>),
}

pub async fn run(args: ReplayArgs) -> Result<u8> {
    let file = std::slice::from_ref(&args.file);
    if let Err(error) = check_readable(file) {
        output::remark(&format!("error: {}", output::clean(&format!("{error:#}"))));
        return Ok(exit_code::USAGE);
    }
    let recording = usage(read(&args))?;
    if args.to_server {
        let client = server(&args.reach).await?;
        return produce::run(client, recording, args.speed, args.new_ids).await;
    }
    tell(&args, &recording).await;
    Ok(exit_code::OK)
}

fn read(args: &ReplayArgs) -> Result<Vec<Recorded>> {
    let file = args.file.display();
    let mut recording: Vec<Recorded> = Vec::new();
    for (line, text) in read_whole(&args.file)? {
        let message = read_message(&text).map_err(|flaws| {
            let flaw = flaws.first().map(ToString::to_string).unwrap_or_default();
            anyhow::anyhow!("{file}:{line}: {flaw}")
        })?;
        match message {
            Message::Event(event) => {
                let is_wanted =
                    args.session.as_ref().is_none_or(|id| *id == event.envelope.session_id);
                if !is_wanted {
                    continue;
                }
                let at = Time::from_millis(event.envelope.timestamp_micros / 1_000);
                let prepared = Arc::new(Prepared::new(text.as_str().into(), &event));
                let event = serde_json::from_str(&text).expect("the event was read from it");
                recording.push(Recorded { at, said: ReplayedEvent::Event { prepared, event } });
            }
            Message::Handshake(message) => {
                let at = recording.last().map_or(Time::from_millis(0), |last| last.at);
                recording.push(Recorded { at, said: ReplayedEvent::Reply(message) });
            }
            Message::Manifest => {}
        }
    }
    let is_event = |it: &Recorded| matches!(it.said, ReplayedEvent::Event { .. });
    if !recording.iter().any(is_event) {
        bail!("{file}: no event to play");
    }
    Ok(recording)
}

/// As a listener would hear it. The clock is that of the recording; only the pauses are real.
async fn tell(args: &ReplayArgs, recording: &[Recorded]) {
    let mut playing = Playing {
        shaper: Shaper::new(&args.terms.capabilities(), Cursor::default()),
        now: recording.first().map_or(Time::from_millis(0), |first| first.at),
        speed: args.speed,
        announcer: Announcer::new(args.terms.speech(), args.terms.verbosity),
        json: args.reach.json,
        n_asked: 0,
    };
    for (sequence, Recorded { at, said }) in (1..).zip(recording) {
        playing.wait_until(*at).await;
        match said {
            ReplayedEvent::Event { prepared, .. } => {
                while !playing.shaper.wants_more() && playing.step().await {}
                let cursor = Cursor { sequence, index: 0 };
                playing.shaper.push(prepared, cursor, playing.now);
                playing.say_all();
            }
            ReplayedEvent::Reply(reply) => playing.reply(reply),
        }
    }
    while playing.step().await {}
}

struct Playing {
    shaper: Shaper,
    now: Time,
    speed: Speed,
    announcer: Announcer,
    json: bool,
    n_asked: usize,
}

impl Playing {
    /// Plays up to a moment, with everything that is due before it.
    async fn wait_until(&mut self, at: Time) {
        while let Some(next) = self.shaper.next_at(self.now).filter(|next| *next < at) {
            self.pass(next).await;
            self.say_all();
        }
        self.pass(at).await;
    }

    /// Plays up to the next due line; false if there is none.
    async fn step(&mut self) -> bool {
        let Some(next) = self.shaper.next_at(self.now) else { return false };
        self.pass(next).await;
        self.say_all();
        true
    }

    async fn pass(&mut self, at: Time) {
        self.speed.wait(at.since(self.now)).await;
        self.now = self.now.max(at);
        if !self.json {
            self.announcer.look(self.now).iter().for_each(|line| output::line(line));
        }
    }

    fn say_all(&mut self) {
        while let Some(delivery) = self.shaper.poll(self.now) {
            let event: Value = serde_json::from_str(delivery.body.text()).unwrap_or(Value::Null);
            if self.json {
                output::json(&event);
                continue;
            }
            let (number, speech) = (self.n_asked + 1, self.announcer.speech);
            let lines = match Question::of(&event, number, self.now, speech) {
                Some(question) => {
                    self.n_asked = number;
                    self.announcer.ask(&question, false, self.now)
                }
                None => self.announcer.hear(&event, self.now),
            };
            lines.iter().for_each(|line| output::line(line));
        }
    }

    fn reply(&self, reply: &Handshake) {
        let answer = match reply {
            Handshake::ConfirmationReply(reply) => {
                self.announcer.speech.decision_word(reply.decision)
            }
            Handshake::ClarificationReply(reply) => {
                serde_json::to_string(&reply.response).unwrap_or_default()
            }
            Handshake::Request(_)
            | Handshake::Accepted(_)
            | Handshake::Rejected(_)
            | Handshake::Renegotiate(_)
            | Handshake::Close(_) => return,
        };
        match self.json {
            true => output::json(reply),
            false => {
                let answer = output::clean(&answer);
                output::line(&self.announcer.speech.say(Text::Answered, &[("answer", &answer)]));
            }
        }
    }
}

impl Speed {
    pub async fn wait(self, span: Span) {
        let Speed::Times(factor) = self else { return };
        let millis = (span.as_millis() as f64 / factor) as i64;
        if millis > 0 {
            SystemClock.sleep(Span::from_millis(millis)).await;
        }
    }
}

fn speed(text: &str) -> Result<Speed> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let factor: f64 = text.parse().context("expected a number such as 2.0, or max")?;
    if !(factor > 0.0 && factor.is_finite()) {
        bail!("expected a number above 0, or max");
    }
    Ok(Speed::Times(factor))
}
