//! Chatting as a person: waiting for a customer, answering one, and waiting again. One at a time.

use anyhow::Result;
use engine::clock::{Clock, SystemClock};
use protocol::time::{Span, Time};
use serde_json::{Value, json};

use super::follow::Follow;
use super::rings::Rings;
use super::wire::{Wire, pause, unless_refused};
use super::{Facing, Typed, unknown, with_text};
use crate::cli::queue::{self, name_of};
use crate::cli::transfer::{self, text};
use crate::cli::transfer_story::known;
use crate::cli::typist::{Screen, Typist};
use crate::client::{Call, percent_encode};
use crate::{exit_code, output};

/// How often somebody who waits looks at the queue.
const QUEUE_EVERY: Span = Span::from_millis(5_000);

/// How many conversations are looked through for one that rings. A person is asked into few.
const OPEN_CONVERSATIONS_MAX: usize = 200;

/// A word about presence counts for 15 minutes, unless a stream with a token shows who is there.
const PRESENT_EVERY: Span = Span::from_minutes(5);

const HELP: &str = "\
What you type is said to the customer; while you advise a colleague, to the colleague. Besides:
  /accept                  answer whoever rings, or pick up whoever is next
  /decline [reason]        let somebody else be asked
  /hold, /resume           put the customer on hold, and be back
  /note TEXT               write something for colleagues
  /transfer NAME [reason]  ask another person, or a queue, to take over
  /consult NAME [reason]   ask another person to advise you
  /cancel                  take that back
  /complete [summary]      it is settled; the bot goes on
  /end [reason]            end the conversation
  /queue                   show who waits
  /quit                    leave; a customer you have goes back to the queue
  //text                   say something that begins with a slash";

pub async fn run(wire: Wire, mut typist: Typist<Facing>, me: String, queue: String) -> Result<u8> {
    let mut rings = Rings::open(&wire.client, &me).await?;
    let (desk, screen) = (Desk::Waiting, typist.screen.clone());
    let mut person =
        Person { wire, me, queue, screen, desk, rang: None, next: None, has_queue: true };
    let mut present_at = SystemClock.now();
    let mut looked_at = None;
    person.be("available").await?;
    output::remark(&format!("you are {}, and available; /help", output::clean(&person.me)));
    person.go_on().await?;
    loop {
        let now = SystemClock.now();
        let has_connection = person.wire.client.identity.token.is_some();
        if !has_connection && now.since(present_at) >= PRESENT_EVERY {
            person.be("available").await?;
            present_at = now;
        }
        if looked_at.is_none_or(|at| now.since(at) >= QUEUE_EVERY) {
            person.look_at_queue().await?;
            looked_at = Some(now);
        }
        tokio::select! {
            line = typist.next() => {
                let typed = line.as_ref().map(|line| Typed::read(&line.text));
                let began = line.as_ref().map_or(&Facing::Nobody, |line| &line.began);
                if person.typed(typed, began).await? == Then::Leave {
                    person.be("offline").await?;
                    return Ok(exit_code::OK);
                }
            }
            rung = rings.next() => person.rung(rung?).await?,
            () = pause() => {}
        }
        person.look().await?;
    }
}

struct Person {
    wire: Wire,
    me: String,
    queue: String,
    screen: Screen<Facing>,
    desk: Desk,
    /// Rang while another customer was here.
    rang: Option<String>,
    /// Who was said to be next.
    next: Option<String>,
    /// False once the queue turned out not to be there.
    has_queue: bool,
}

enum Desk {
    Waiting,
    Ringing { transfer: String, name: String },
    Talking { transfer: String, follow: Box<Follow>, leaves: bool },
}

#[derive(PartialEq, Eq)]
enum Then {
    Stay,
    Leave,
}

impl Person {
    async fn be(&self, presence: &str) -> Result<()> {
        let path = format!("/v1/agents/{}/presence", percent_encode(&self.me));
        self.wire.ask(Call::put(path, json!({ "presence": presence }))).await?;
        Ok(())
    }

    /// A customer whom this person has already.
    async fn go_on(&mut self) -> Result<()> {
        let holder = percent_encode(&self.me);
        let path = format!("/v1/conversations?holder={holder}&status=open&limit=1");
        let listed = self.wire.ask(Call::get(path)).await?;
        if let Some(transfer) = listed["items"][0]["transfer_id"].as_str() {
            let shown = self.wire.ask(Call::get(transfer::path_of(transfer, ""))).await?;
            return self.talk(&shown).await;
        }
        self.find_ring().await
    }

    /// A ring that began before this person came.
    async fn find_ring(&mut self) -> Result<()> {
        let me = percent_encode(&self.me);
        let limit = OPEN_CONVERSATIONS_MAX;
        let path = format!("/v1/conversations?asked={me}&status=open&limit={limit}");
        let listed = self.wire.ask(Call::get(path)).await?;
        for conversation in listed["items"].as_array().into_iter().flatten() {
            if let Some(transfer) = conversation["transfer_id"].as_str() {
                self.rung(transfer.to_owned()).await?;
            }
            if !matches!(self.desk, Desk::Waiting) {
                break;
            }
        }
        Ok(())
    }

    /// Who is next, where people pick for themselves. Otherwise it rings.
    async fn look_at_queue(&mut self) -> Result<()> {
        let (Desk::Waiting, true) = (&self.desk, self.has_queue) else { return Ok(()) };
        let Some(queue) = self.wire.try_to(Call::get(queue::path_of(&self.queue))).await? else {
            output::remark("what rings is shown all the same");
            self.has_queue = false;
            return Ok(());
        };
        let first = &queue["waiting"][0];
        let next = first["transfer_id"].as_str().map(str::to_owned);
        let is_pick = queue["settings"]["mode"] == "pick";
        let is_new = next.is_some() && next != self.next;
        self.next = next;
        if is_pick && is_new {
            let (name, n_waiting) = (output::clean(&name_of(first)), &queue["n_waiting"]);
            self.show();
            output::remark(&format!("next is {name}, of {n_waiting} who wait; /accept answers"));
        }
        Ok(())
    }

    async fn rung(&mut self, transfer: String) -> Result<()> {
        if let Desk::Talking { .. } = self.desk {
            output::remark("another customer rings; /complete, /transfer or /end comes first");
            self.rang = Some(transfer);
            return Ok(());
        }
        if let Desk::Ringing { transfer: rings, .. } = &self.desk
            && *rings == transfer
        {
            return Ok(());
        }
        let shown = self.wire.ask(Call::get(transfer::path_of(&transfer, ""))).await;
        let shown = unless_refused(shown)?;
        if let Some(shown) = shown.filter(|shown| self.is_rung(shown)) {
            let until = text(&shown, "until").parse::<Time>().ok();
            let until =
                until.map_or("soon".to_owned(), |at| output::relative(at, SystemClock.now()));
            let name = output::clean(&name_of(&shown));
            self.desk = Desk::Ringing { transfer, name: name.clone() };
            self.show();
            output::line(&format!("* {name} rings"));
            for line in known(&shown) {
                output::line(&format!("  {line}"));
            }
            output::remark(&format!("/accept or /decline; the next one is asked {until}"));
        }
        Ok(())
    }

    fn is_rung(&self, shown: &Value) -> bool {
        let is_rung = shown["status"] == "ringing" && shown["agent"]["agentId"] == *self.me;
        is_rung || (shown["leg"]["status"] == "ringing" && shown["leg"]["agent"] == *self.me)
    }

    fn advises(&self, shown: &Value) -> bool {
        shown["leg"]["status"] == "consulting" && shown["leg"]["agent"] == *self.me
    }

    /// What changed since.
    async fn look(&mut self) -> Result<()> {
        match &mut self.desk {
            Desk::Waiting => {}
            Desk::Ringing { transfer, name } => {
                let (path, name) = (transfer::path_of(transfer, ""), name.clone());
                let shown = self.wire.client.call(Call::get(path)).await.ok();
                let is_rung = shown.is_none_or(|shown| self.is_rung(&shown.body));
                if !is_rung {
                    self.desk = Desk::Waiting;
                    self.show();
                    output::remark(&format!("{name} does not ring any more"));
                }
            }
            Desk::Talking { transfer, follow, .. } => {
                let may_see = unless_refused(follow.look(&self.wire).await)?.is_some();
                let (transfer, seen) = (transfer.clone(), follow.seen.clone());
                if !may_see || !self.is_here(&transfer, &seen).await? {
                    self.desk = Desk::Waiting;
                    self.show();
                    let name = super::words::customer(&seen);
                    output::remark(&format!("{name} is not with you any more; you are available"));
                    if let Some(rang) = self.rang.take() {
                        self.rung(rang).await?;
                    }
                }
            }
        }
        Ok(())
    }

    async fn is_here(&self, transfer: &str, seen: &Value) -> Result<bool> {
        let is_same = seen["transfer_id"] == transfer;
        let is_on =
            ["connected", "on_hold"].iter().any(|status| seen["transfer_status"] == *status);
        if !is_same || !is_on || seen["holder"] == *self.me {
            return Ok(is_same && is_on);
        }
        let shown = self.wire.ask(Call::get(transfer::path_of(transfer, ""))).await;
        Ok(unless_refused(shown)?.is_some_and(|shown| self.advises(&shown)))
    }

    async fn talk(&mut self, shown: &Value) -> Result<()> {
        let transfer = text(shown, "transfer_id");
        let follow = Follow::start(&self.wire, &text(shown, "conversation_id")).await?;
        let with = super::words::customer(&follow.seen);
        self.desk = Desk::Talking { transfer, follow: Box::new(follow), leaves: false };
        self.show();
        output::remark(&format!(
            "you are with {with}; what you type is said, /help lists the rest"
        ));
        Ok(())
    }

    /// Who is in front of this person now.
    fn facing(&self) -> Facing {
        match (&self.desk, &self.next) {
            (Desk::Talking { transfer, .. }, _) => Facing::With(transfer.clone()),
            (Desk::Ringing { transfer, .. }, _) => Facing::Rings(transfer.clone()),
            (Desk::Waiting, Some(next)) => Facing::Next(next.clone()),
            (Desk::Waiting, None) => Facing::Nobody,
        }
    }

    fn show(&self) {
        self.screen.set(self.facing());
    }

    /// What was typed for somebody is for nobody else: neither said to, nor done with, whoever came
    /// while it was typed.
    async fn typed(&mut self, typed: Option<Typed<'_>>, began: &Facing) -> Result<Then> {
        let is_for_another = began.is_somebody_else_than(&self.facing());
        match typed {
            None => return Ok(Then::Leave),
            Some(Typed::Nothing) => {}
            Some(Typed::Do("quit", _)) => {
                let Desk::Talking { leaves, .. } = &mut self.desk else { return Ok(Then::Leave) };
                if std::mem::replace(leaves, true) {
                    return Ok(Then::Leave);
                }
                output::remark("a customer is with you: /complete first, or /quit once more");
            }
            Some(Typed::Do("help", _)) => output::remark(HELP),
            Some(Typed::Do("queue", _)) => {
                let call = Call::get(queue::path_of(&self.queue));
                if let Some(queue) = self.wire.try_to(call).await? {
                    queue::show(&queue);
                }
            }
            Some(Typed::Say(_) | Typed::Do(..)) if is_for_another => {
                output::remark("that was typed before this customer came; nothing was done");
            }
            Some(Typed::Do("accept", _)) => self.accept(began).await?,
            Some(Typed::Do("decline", reason)) => {
                let Desk::Ringing { transfer, .. } = &self.desk else {
                    output::remark("no customer rings");
                    return Ok(Then::Stay);
                };
                let transfer = transfer.clone();
                if self.act(&transfer, "decline", with_text("reason", reason)).await?.is_some() {
                    self.desk = Desk::Waiting;
                    self.show();
                }
            }
            Some(Typed::Say(text)) => self.say(text).await?,
            Some(Typed::Do(verb, rest)) => self.steer(verb, rest).await?,
        }
        Ok(Then::Stay)
    }

    /// Whoever rings, or whoever was said to be next; else the first of the queue.
    async fn accept(&mut self, began: &Facing) -> Result<()> {
        let accepted = match &self.desk {
            Desk::Talking { .. } => {
                output::remark("one at a time: /complete, /transfer or /end comes first");
                None
            }
            Desk::Ringing { transfer, .. } => {
                let transfer = transfer.clone();
                self.act(&transfer, "accept", json!({})).await?
            }
            Desk::Waiting => {
                let first = match began {
                    Facing::Next(next) => Some(next.clone()),
                    Facing::Nobody | Facing::Rings(_) | Facing::With(_) => self.first().await?,
                };
                match first {
                    Some(first) => self.act(&first, "pickup", json!({ "accept": true })).await?,
                    None => {
                        output::remark("no customer waits");
                        None
                    }
                }
            }
        };
        match accepted {
            Some(shown) => self.talk(&shown).await,
            None => Ok(()),
        }
    }

    /// Who waits longest.
    async fn first(&self) -> Result<Option<String>> {
        let queue = self.wire.try_to(Call::get(queue::path_of(&self.queue))).await?;
        let first = |queue: Value| queue["waiting"][0]["transfer_id"].as_str().map(str::to_owned);
        Ok(queue.and_then(first))
    }

    async fn say(&mut self, text: &str) -> Result<()> {
        let Desk::Talking { transfer, follow, .. } = &mut self.desk else {
            output::remark("no customer is with you yet; /help lists what can be done");
            return Ok(());
        };
        if follow.seen["holder"] == *self.me {
            return follow.say(&self.wire, text).await;
        }
        let transfer = transfer.clone();
        self.act(&transfer, "whisper", json!({ "text": text })).await.map(|_| ())
    }

    /// What is done with the customer who is here.
    async fn steer(&mut self, verb: &str, rest: &str) -> Result<()> {
        let (name, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let to_other = |kind: &str| {
            let mut body = with_text("reason", reason.trim());
            body["to"] = name.into();
            body["type"] = kind.into();
            body
        };
        let (action, body) = match verb {
            "hold" | "resume" | "cancel" => (verb, json!({})),
            "note" => ("note", json!({ "text": rest })),
            "complete" => ("complete", with_text("summary", rest)),
            "end" => ("end", with_text("reason", rest)),
            "transfer" => ("transfer", to_other("human_to_human")),
            "consult" => ("transfer", to_other("supervisor_consult")),
            other => {
                unknown(other);
                return Ok(());
            }
        };
        let Desk::Talking { transfer, .. } = &self.desk else {
            output::remark("no customer is with you yet; /help lists what can be done");
            return Ok(());
        };
        let transfer = transfer.clone();
        if let Some(shown) = self.act(&transfer, action, body).await? {
            output::remark(&transfer::stands(&shown));
        }
        Ok(())
    }

    /// Does something with a transfer in the epoch that was seen last.
    async fn act(&self, transfer: &str, action: &str, mut body: Value) -> Result<Option<Value>> {
        body["epoch"] = match &self.desk {
            Desk::Talking { follow, .. } => follow.seen["epoch"].clone(),
            Desk::Waiting | Desk::Ringing { .. } => {
                let path = transfer::path_of(transfer, "");
                match self.wire.try_to(Call::get(path)).await? {
                    Some(shown) => shown["epoch"].clone(),
                    None => return Ok(None),
                }
            }
        };
        let path = transfer::path_of(transfer, &format!("/{action}"));
        self.wire.try_to(Call::post(path, body)).await
    }
}
