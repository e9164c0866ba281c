//! Somebody who listens in a terminal: what is announced is told line by line, what is asked is put
//! and answered, the terms are changed as it goes.

use std::collections::HashSet;

use anyhow::Result;
use engine::clock::{Clock, SystemClock};
use protocol::aaep::capabilities::Capabilities;
use protocol::aaep::event::{Decision, Verbosity};
use protocol::aaep::handshake::{
    ClarificationReply, Close, ConfirmationReply, Handshake, Renegotiate,
};
use protocol::aaep::stamp::stamp;
use protocol::time::Span;
use serde_json::Value;
use tokio::sync::mpsc;

use super::closing::Accepted;
use super::question::{Answer, Question};
use super::recorder::Recorder;
use super::subscriber::{Heard, Subscriber};
use super::{terms, words};
use crate::cli::chat::wire::Typist;
use crate::client::Refused;
use crate::{exit_code, output};

/// How often it is looked whether the time of a question is over.
const LOOK_EVERY: Span = Span::from_millis(500);

/// Questions that wait at once. Past this the oldest is no longer offered here.
const QUESTIONS_MAX: usize = 32;

const HELP: &str = "\
accept or reject        answer the question that waits; #2 accept answers question 2
/questions              put again what waits
/terse /normal /detailed
/pace WORDS             words a minute
/rate EVENTS            events a second
/load low|medium|high
/boundary none|word|sentence|paragraph|completion ...
/language TAG ...
/quit                   stop listening";

/// What becomes of what is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Telling {
    Words,
    Json,
    /// Only questions.
    Nothing,
}

pub struct Listener {
    pub subscriber: Subscriber,
    pub typist: Typist,
    pub telling: Telling,
    pub verbosity: Verbosity,
    pub answers: bool,
    pub recorder: Option<Recorder>,
    /// Whether to go when the sessions that were heard are over.
    pub until_end: bool,
    pub questions: Vec<Question>,
    pub accepted: Accepted,
    pub n_asked: usize,
    pub open: HashSet<String>,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    On,
    /// All sessions that were heard are over.
    AtEnd,
    Leave,
}

impl Listener {
    pub async fn run(mut self) -> Result<u8> {
        let mut heard = self.subscriber.listen();
        let ended = self.follow(&mut heard).await;
        if let Some(recorder) = &mut self.recorder {
            recorder.settle()?;
            output::remark(&format!("{} events recorded", recorder.n_events));
        }
        let close = Handshake::Close(Close {
            subscription_id: self.subscriber.id.clone(),
            ..Close::default()
        });
        if let Ok(End::Left) = ended {
            // The server may be gone, or has ended it already.
            let _ = self.subscriber.send(&close).await;
        }
        ended.map(|_| exit_code::OK)
    }

    async fn follow(&mut self, heard: &mut mpsc::Receiver<Heard>) -> Result<End> {
        let (mut can_type, mut is_at_end, mut is_quiet) = (true, false, true);
        loop {
            let interrupted = self.typist.interrupted(1);
            let next = tokio::select! {
                biased;
                () = interrupted => Next::Leave,
                heard = heard.recv() => match heard {
                    Some(Heard::Closed(why)) => {
                        output::remark(&format!("the subscription is over: {why}"));
                        return Ok(End::Over);
                    }
                    Some(Heard::Failed(error)) => return Err(error),
                    Some(heard) => {
                        is_quiet = false;
                        self.hear(heard)?
                    }
                    None => return Ok(End::Over),
                },
                line = self.typist.next(), if can_type => match line {
                    Some(line) => self.typed(line.trim()).await?,
                    None => {
                        can_type = false;
                        self.only_listen().await?
                    }
                },
                () = SystemClock.sleep(LOOK_EVERY) => {
                    self.look(std::mem::replace(&mut is_quiet, true))?;
                    if is_at_end { Next::Leave } else { Next::On }
                }
            };
            match next {
                Next::On => {}
                Next::AtEnd => is_at_end = true,
                Next::Leave => return Ok(End::Left),
            }
        }
    }

    fn hear(&mut self, heard: Heard) -> Result<Next> {
        let (text, event, cursor) = match heard {
            Heard::Event { text, event, cursor } => (text, event, cursor),
            Heard::Away => {
                output::remark("the server does not answer; trying again");
                return Ok(Next::On);
            }
            Heard::Back => {
                output::remark("the server is back");
                return Ok(Next::On);
            }
            Heard::Closed(_) | Heard::Failed(_) => return Ok(Next::Leave),
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.event(&text, &event, cursor)?;
        }
        self.tell(&event);
        let session = event["session_id"].as_str().unwrap_or_default().to_owned();
        if words::is_terminal(&event) {
            self.open.remove(&session);
            let is_over = self.until_end && self.open.is_empty();
            return Ok(if is_over { Next::AtEnd } else { Next::On });
        }
        self.open.insert(session);
        Ok(Next::On)
    }

    fn tell(&mut self, event: &Value) {
        let now = SystemClock.now();
        let question = Question::of(event, self.n_asked + 1, now);
        match (self.telling, &question) {
            (Telling::Json, _) => output::json(event),
            (Telling::Words, None) => {
                if let Some(line) = words::announce(event, self.verbosity) {
                    output::line(&line);
                }
            }
            (Telling::Words | Telling::Nothing, _) => {}
        }
        if let Some(question) = question.as_ref().filter(|it| it.settled().is_some()) {
            if self.telling == Telling::Words {
                question.told().iter().for_each(|line| output::line(line));
            }
        } else if let Some(question) = question {
            self.n_asked += 1;
            if self.telling != Telling::Json {
                self.put(&question);
            }
            if self.questions.len() >= QUESTIONS_MAX {
                self.questions.remove(0);
            }
            self.questions.push(question);
        }
        for (number, why) in self.accepted.closed_by(event, &self.questions) {
            output::remark(&format!("question {number} is closed: {why}"));
            self.questions.retain(|question| question.number != number);
        }
    }

    fn put(&self, question: &Question) {
        let lines = if self.answers { question.asked() } else { question.told() };
        lines.iter().for_each(|line| output::line(line));
    }

    /// What becomes of waiting.
    fn look(&mut self, is_quiet: bool) -> Result<()> {
        let now = SystemClock.now();
        self.questions.retain(|question| {
            let is_open = now < question.due;
            if !is_open {
                let number = question.number;
                output::remark(&format!("question {number} is closed: its time is over"));
            }
            is_open
        });
        match &mut self.recorder {
            Some(recorder) if is_quiet => recorder.settle(),
            Some(_) | None => Ok(()),
        }
    }

    async fn typed(&mut self, line: &str) -> Result<Next> {
        let Some(command) = line.strip_prefix('/') else {
            if !line.is_empty() {
                self.answer(line).await?;
            }
            return Ok(Next::On);
        };
        let (verb, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        match verb {
            "quit" => return Ok(Next::Leave),
            "help" => output::remark(HELP),
            "questions" if self.questions.is_empty() => output::remark("no question waits"),
            "questions" => self.questions.iter().for_each(|question| self.put(question)),
            _ => match terms::asked(verb, rest.trim()) {
                Some(Ok(asked)) => return self.renegotiate(asked, "the terms are changed").await,
                Some(Err(expected)) => output::remark(expected),
                None => {
                    let verb = output::clean(verb);
                    output::remark(&format!("no such command: /{verb}; /help lists them"));
                }
            },
        }
        Ok(Next::On)
    }

    /// Answers a question that waits. What was typed before a question came is no answer to it.
    async fn answer(&mut self, line: &str) -> Result<()> {
        if !self.answers {
            output::remark("answers are off: listen with --answer ask");
            return Ok(());
        }
        let named = line.strip_prefix('#').and_then(|rest| {
            let (number, answer) = rest.split_once(char::is_whitespace)?;
            Some((number.parse::<usize>().ok()?, answer))
        });
        let (at, typed) = match (named, self.questions.len()) {
            (_, 0) => {
                output::remark("no question waits");
                return Ok(());
            }
            (Some((number, typed)), _) => {
                (self.questions.iter().position(|it| it.number == number), typed)
            }
            (None, 1) => (Some(0), line),
            (None, _) => {
                output::remark("several questions wait: say which one, such as #2 accept");
                return Ok(());
            }
        };
        let Some(question) = at.map(|at| &self.questions[at]) else {
            output::remark("no such question waits");
            return Ok(());
        };
        let answer = match question.answer(typed) {
            Ok(answer) => answer,
            Err(expected) => {
                output::remark(&expected);
                return Ok(());
            }
        };
        let question = question.clone();
        let number = question.number;
        let is_accept = answer == Answer::Decision(Decision::Accept);
        let reply = self.reply(&question, answer);
        let shown = output::clean(typed.trim());
        match self.subscriber.send(&reply).await {
            Ok(()) => output::remark(&format!("your answer to question {number} is sent: {shown}")),
            Err(error) if error.downcast_ref::<Refused>().is_some() => return Err(error),
            Err(_) => {
                output::remark("the server does not answer; the question still waits");
                return Ok(());
            }
        }
        self.questions.retain(|it| it.number != number);
        if is_accept {
            self.accepted.add(question);
        }
        match &mut self.recorder {
            Some(recorder) => recorder.message(&reply.write()),
            None => Ok(()),
        }
    }

    fn reply(&self, question: &Question, answer: Answer) -> Handshake {
        let reply_token = question.event["reply_token"].as_str().unwrap_or_default().to_owned();
        let subscription_id = self.subscriber.id.clone();
        let timestamp = stamp(SystemClock.now());
        match answer {
            Answer::Decision(decision) => Handshake::ConfirmationReply(ConfirmationReply {
                reply_token,
                decision,
                subscription_id,
                timestamp,
                decided_by: None,
                decision_rationale: None,
                modified_action: None,
                correlation_id: None,
            }),
            Answer::Response(response) => Handshake::ClarificationReply(ClarificationReply {
                reply_token,
                response,
                subscription_id,
                timestamp,
                decided_by: None,
                confidence: None,
                correlation_id: None,
            }),
        }
    }

    async fn renegotiate(&mut self, asked: Capabilities, done: &str) -> Result<Next> {
        let verbosity = asked.preferred_verbosity;
        let message = Handshake::Renegotiate(Renegotiate {
            subscription_id: self.subscriber.id.clone(),
            capabilities: asked,
            ..Renegotiate::default()
        });
        match self.subscriber.renegotiate(&message).await {
            Ok(_) => {
                self.verbosity = verbosity.unwrap_or(self.verbosity);
                output::remark(done);
            }
            Err(error) => match error.downcast_ref::<Refused>() {
                Some(refused) => {
                    let detail = output::clean(&refused.detail);
                    output::remark(&format!("the terms are not changed: {detail}"));
                }
                None => output::remark("the server does not answer; the terms are not changed"),
            },
        }
        Ok(Next::On)
    }

    /// Nothing more can be typed: others must not wait for our answer.
    async fn only_listen(&mut self) -> Result<Next> {
        if !std::mem::replace(&mut self.answers, false) {
            return Ok(Next::On);
        }
        let asked = Capabilities {
            supports_confirmation_reply: Some(false),
            supports_clarification_reply: Some(false),
            ..Capabilities::default()
        };
        let done = "nothing more can be typed: listening only, and answering no questions";
        self.renegotiate(asked, done).await
    }
}

/// How it ended.
enum End {
    /// By us.
    Left,
    /// By the server.
    Over,
}
