//! A listener in a terminal: events are told line by line, questions are asked and answered, and
//! the terms can be changed along the way.

use std::collections::HashSet;

use aaep::capabilities::Capabilities;
use aaep::event::Decision;
use aaep::handshake::{ClarificationReply, Close, ConfirmationReply, Handshake, Renegotiate};
use aaep::stamp::stamp;
use anyhow::Result;
use engine::ports::clock::{Clock, SystemClock};
use protocol::time::{Span, Time};
use serde_json::Value;
use tokio::sync::mpsc;

use super::announcer::Announcer;
use super::answering::OpenQuestion;
use super::closing::Answered;
use super::question::{Question, TypedAnswer};
use super::recorder::Recorder;
use super::speech::{Speech, Text};
use super::subscriber::{Subscriber, SubscriberEvent, is_final};
use super::{terms, words};
use crate::cli::typist::keys::EditedLine;
use crate::cli::typist::{Questions, Typist};
use crate::client::Refused;
use crate::{exit_code, output};

/// How often open questions are checked for a timeout.
const LOOK_EVERY: Span = Span::from_millis(500);

/// How often an answer that may not have arrived is sent again.
const SEND_AGAIN_EVERY: Span = Span::from_millis(2_000);

/// How long a try may take.
const SEND_AGAIN_MAX: Span = Span::from_millis(1_000);

/// What can be typed.
const HELP: [Text; 10] = [
    Text::HelpAnswer,
    Text::HelpNumbered,
    Text::HelpQuestions,
    Text::HelpVerbosity,
    Text::HelpPace,
    Text::HelpRate,
    Text::HelpLoad,
    Text::HelpBoundary,
    Text::HelpLanguage,
    Text::HelpQuit,
];

/// How events are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoken {
    Words,
    Json,
    /// Only questions.
    Nothing,
}

pub struct Listener {
    pub subscriber: Subscriber,
    /// What is said once the stream is open.
    pub greeting: Vec<String>,
    pub typist: Typist<Questions>,
    pub telling: Spoken,
    pub announcer: Announcer,
    pub answers: bool,
    pub recorder: Option<Recorder>,
    /// Whether to leave when the sessions that were heard are over.
    pub until_end: bool,
    pub asked: OpenQuestion,
    pub answered: Answered,
    pub unsent: Vec<Unsent>,
    pub open: HashSet<String>,
}

/// An answer of which it is not known whether it arrived. Sending it again changes nothing: the
/// first one counts.
#[derive(Debug)]
pub struct Unsent {
    number: usize,
    shown: String,
    reply: Handshake,
    again_at: Time,
}

/// Whether to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListenerStep {
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
            // The server may be gone, or may have closed it already.
            let _ = self.subscriber.send(&close).await;
        }
        ended.map(|_| exit_code::OK)
    }

    async fn follow(&mut self, heard: &mut mpsc::Receiver<SubscriberEvent>) -> Result<End> {
        let (mut can_type, mut is_at_end, mut is_quiet) = (true, false, true);
        loop {
            self.send_again().await?;
            let interrupted = self.typist.interrupted(1);
            let next = tokio::select! {
                biased;
                () = interrupted => ListenerStep::Leave,
                heard = heard.recv() => match heard {
                    Some(SubscriberEvent::Closed(why)) => {
                        self.say(Text::Over, &[("why", &why)]);
                        return Ok(End::Over);
                    }
                    Some(SubscriberEvent::Failed(error)) => return Err(error),
                    Some(heard) => {
                        is_quiet = false;
                        self.hear(heard)?
                    }
                    None => return Ok(End::Over),
                },
                line = self.typist.next(), if can_type => match line {
                    Some(line) => self.typed(line).await?,
                    None => {
                        can_type = false;
                        self.only_listen().await?
                    }
                },
                () = SystemClock.sleep(LOOK_EVERY) => {
                    self.look(std::mem::replace(&mut is_quiet, true))?;
                    if is_at_end { ListenerStep::Leave } else { ListenerStep::On }
                }
            };
            match next {
                ListenerStep::On => {}
                ListenerStep::AtEnd => is_at_end = true,
                ListenerStep::Leave => return Ok(End::Left),
            }
        }
    }

    fn hear(&mut self, heard: SubscriberEvent) -> Result<ListenerStep> {
        let (text, event, is_in_order) = match heard {
            SubscriberEvent::Event { text, event, is_in_order } => (text, event, is_in_order),
            SubscriberEvent::Open => {
                self.greeting.iter().for_each(|line| output::remark(line));
                return Ok(ListenerStep::On);
            }
            SubscriberEvent::Away => {
                self.say(Text::Away, &[]);
                return Ok(ListenerStep::On);
            }
            SubscriberEvent::Back => {
                self.say(Text::Back, &[]);
                return Ok(ListenerStep::On);
            }
            SubscriberEvent::Closed(_) | SubscriberEvent::Failed(_) => {
                return Ok(ListenerStep::Leave);
            }
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.event(&text, &event, is_in_order)?;
        }
        self.tell(&event);
        let session = event["session_id"].as_str().unwrap_or_default().to_owned();
        if words::is_terminal(&event) {
            self.open.remove(&session);
            let is_over = self.until_end && self.open.is_empty();
            return Ok(if is_over { ListenerStep::AtEnd } else { ListenerStep::On });
        }
        self.open.insert(session);
        Ok(ListenerStep::On)
    }

    fn tell(&mut self, event: &Value) {
        let (now, speech) = (SystemClock.now(), self.announcer.speech);
        let question = Question::of(event, self.asked.next_number(), now, speech);
        match (self.telling, question) {
            (Spoken::Json, None) => output::json(event),
            (Spoken::Words, None) => tell_all(&self.announcer.hear(event, now)),
            (_, Some(question)) => self.hear_question(question, event),
            (Spoken::Nothing, None) => {}
        }
        for (number, why) in self.answered.closed_by(event, self.asked.open()) {
            self.close(number, why);
        }
        if let Some((number, why)) = self.answered.not_counted(event) {
            let why = self.announcer.speech.word(why);
            self.unsent.retain(|unsent| unsent.number != number);
            self.say(Text::NotCounted, &[("number", &number.to_string()), ("why", &why)]);
        }
    }

    fn hear_question(&mut self, question: Question, event: &Value) {
        let is_settled = question.settled().is_some();
        let lines = match self.telling {
            Spoken::Json => vec![output::json_text(event)],
            Spoken::Nothing if is_settled => Vec::new(),
            Spoken::Words | Spoken::Nothing => {
                self.announcer.ask(&question, self.answers, SystemClock.now())
            }
        };
        if !is_settled {
            self.asked.add(question);
        }
        self.show(&lines);
    }

    fn say(&self, text: Text, filled: &[(&str, &str)]) {
        output::remark(&self.announcer.speech.say(text, filled));
    }

    /// From the last of these lines on, a typed line may answer the questions that are open now.
    fn show(&self, lines: &[String]) {
        output::lines(lines, || self.typist.screen.set(self.asked.numbers()));
    }

    fn close(&mut self, number: usize, why: Text) {
        self.asked.close(number);
        self.typist.screen.set(self.asked.numbers());
        let why = self.announcer.speech.word(why);
        self.say(Text::Closed, &[("number", &number.to_string()), ("why", &why)]);
    }

    /// Checks what is due by now: questions that timed out, and states to tell.
    fn look(&mut self, is_quiet: bool) -> Result<()> {
        let now = SystemClock.now();
        let is_over = |it: &&Question| now >= it.due;
        let over: Vec<_> = self.asked.open().iter().filter(is_over).map(|it| it.number).collect();
        over.into_iter().for_each(|number| self.close(number, Text::WhyTime));
        tell_all(&self.announcer.look(now));
        match &mut self.recorder {
            Some(recorder) if is_quiet => recorder.settle(),
            Some(_) | None => Ok(()),
        }
    }

    async fn typed(&mut self, line: EditedLine<Questions>) -> Result<ListenerStep> {
        let Some(command) = line.text.trim().strip_prefix('/') else {
            if !line.text.trim().is_empty() {
                self.answer(&line).await?;
            }
            return Ok(ListenerStep::On);
        };
        let (verb, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
        match verb {
            "quit" => return Ok(ListenerStep::Leave),
            "help" => self.help(),
            "questions" if self.asked.open().is_empty() => self.say(Text::NothingWaits, &[]),
            "questions" => self.put_again(),
            _ => match terms::asked(verb, rest.trim()) {
                Some(Ok(asked)) => return self.renegotiate(asked, Text::TermsChanged).await,
                Some(Err(example)) => self.say(Text::BadValue, &[("example", example)]),
                None => self.say(Text::NoSuchCommand, &[("name", &output::clean(verb))]),
            },
        }
        Ok(ListenerStep::On)
    }

    /// Shows the open questions again, as they stand now.
    fn put_again(&mut self) {
        let open = self.asked.open().to_vec();
        for question in &open {
            let lines = self.announcer.ask(question, self.answers, SystemClock.now());
            self.show(&lines);
        }
    }

    fn help(&self) {
        let speech = self.announcer.speech;
        let (accept, reject) = (speech.word(Text::Accept), speech.word(Text::Reject));
        let filled = [("accept", &*accept), ("reject", &*reject)];
        HELP.iter().for_each(|text| output::remark(&speech.say(*text, &filled)));
    }

    /// Answers the question that a line was begun for, if it is still open.
    async fn answer(&mut self, line: &EditedLine<Questions>) -> Result<()> {
        if !self.answers {
            self.say(Text::AnswersOff, &[]);
            return Ok(());
        }
        let (question, answer) = match self.asked.choose(line) {
            Ok(chosen) => chosen,
            Err(why) => {
                why.said(&self.asked).iter().for_each(|line| output::remark(line));
                return Ok(());
            }
        };
        let question = question.clone();
        let number = question.number;
        let is_accept = answer == TypedAnswer::Decision(Decision::Accept);
        let shown = question.shown(&answer);
        let reply = self.reply(&question, answer);
        match self.subscriber.send(&reply).await {
            Ok(()) => self.sent(number, &shown),
            Err(error) if is_final(&error) => return Err(error),
            Err(_) => {
                self.say(Text::AnswerWaits, &[("number", &number.to_string())]);
                let (reply, again_at) = (reply.clone(), SystemClock.now().plus(SEND_AGAIN_EVERY));
                self.unsent.push(Unsent { number, shown, reply, again_at });
            }
        }
        self.asked.close(number);
        self.typist.screen.set(self.asked.numbers());
        self.answered.send(question.clone());
        if is_accept {
            self.answered.accept(question);
        }
        match &mut self.recorder {
            Some(recorder) => recorder.message(&reply.write()),
            None => Ok(()),
        }
    }

    fn sent(&self, number: usize, shown: &str) {
        let filled = [("number", &*number.to_string()), ("answer", shown)];
        self.say(Text::AnswerSent, &filled);
    }

    /// Sends the oldest answer again that may not have arrived.
    async fn send_again(&mut self) -> Result<()> {
        let Some(unsent) = self.unsent.first_mut() else { return Ok(()) };
        let now = SystemClock.now();
        if now < unsent.again_at {
            return Ok(());
        }
        unsent.again_at = now.plus(SEND_AGAIN_EVERY);
        let sent = tokio::select! {
            sent = self.subscriber.send(&unsent.reply) => Some(sent),
            // Keys and events wait meanwhile.
            () = SystemClock.sleep(SEND_AGAIN_MAX) => None,
        };
        match sent {
            Some(Ok(())) => {
                let Unsent { number, shown, .. } = self.unsent.remove(0);
                self.sent(number, &shown);
            }
            Some(Err(error)) if is_final(&error) => return Err(error),
            Some(Err(_)) | None => self.unsent.rotate_left(1),
        }
        Ok(())
    }

    fn reply(&self, question: &Question, answer: TypedAnswer) -> Handshake {
        let reply_token = question.event["reply_token"].as_str().unwrap_or_default().to_owned();
        let subscription_id = self.subscriber.id.clone();
        let timestamp = stamp(SystemClock.now());
        match answer {
            TypedAnswer::Decision(decision) => Handshake::ConfirmationReply(ConfirmationReply {
                reply_token,
                decision,
                subscription_id,
                timestamp,
                decided_by: None,
                decision_rationale: None,
                modified_action: None,
                correlation_id: None,
            }),
            TypedAnswer::Response(response) => Handshake::ClarificationReply(ClarificationReply {
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

    async fn renegotiate(&mut self, asked: Capabilities, done: Text) -> Result<ListenerStep> {
        let verbosity = asked.preferred_verbosity;
        let languages = asked.languages.clone();
        let message = Handshake::Renegotiate(Renegotiate {
            subscription_id: self.subscriber.id.clone(),
            capabilities: asked,
            ..Renegotiate::default()
        });
        match self.subscriber.renegotiate(&message).await {
            Ok(_) => {
                self.announcer.verbosity = verbosity.unwrap_or(self.announcer.verbosity);
                if let Some(languages) = languages {
                    let speech = Speech::new(languages.first().map(String::as_str));
                    self.announcer.speech = speech;
                    self.asked.speak(speech);
                    self.say(done, &[]);
                    if self.telling != Spoken::Json {
                        self.put_again();
                    }
                    return Ok(ListenerStep::On);
                }
                self.say(done, &[]);
            }
            Err(error) => match error.downcast_ref::<Refused>() {
                Some(refused) => {
                    self.say(Text::TermsRefused, &[("why", &output::clean(&refused.detail))]);
                }
                None => self.say(Text::TermsUnanswered, &[]),
            },
        }
        Ok(ListenerStep::On)
    }

    /// Nothing more can be typed: agents must not wait for our answer.
    async fn only_listen(&mut self) -> Result<ListenerStep> {
        if !std::mem::replace(&mut self.answers, false) {
            return Ok(ListenerStep::On);
        }
        let asked = Capabilities {
            supports_confirmation_reply: Some(false),
            supports_clarification_reply: Some(false),
            ..Capabilities::default()
        };
        self.renegotiate(asked, Text::OnlyListening).await
    }
}

fn tell_all(lines: &[String]) {
    if !lines.is_empty() {
        output::lines(lines, || {});
    }
}

/// How it ended.
enum End {
    /// By us.
    Left,
    /// By the server.
    Over,
}
