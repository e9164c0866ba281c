//! Chatting as a person: waiting for a customer, answering one, and waiting again. One at a time.

mod acts;
mod asked;
mod ringing;

use anyhow::Result;
use engine::ports::clock::{Clock, SystemClock};
use protocol::time::Span;
use serde_json::{Value, json};

use self::ringing::Ringing;
use super::colleague::Colleague;
use super::follow::Follow;
use super::rings::{News, Rings};
use super::wire::{Wire, pause, unless_refused};
use super::words::{self, Reader};
use super::{Facing, Typed};
use crate::cli::queue::{self};
use crate::cli::transfer_view::{self, name_of, text};
use crate::cli::typist::{Screen, Typist};
use crate::client::{Call, percent_encode};
use crate::{exit_code, output};

/// How often a waiting person polls the queue.
const QUEUE_EVERY: Span = Span::from_millis(5_000);

/// A presence report is valid for 15 minutes, unless a stream with a token shows presence.
const PRESENT_EVERY: Span = Span::from_minutes(5);

pub async fn run(wire: Wire, mut typist: Typist<Facing>, me: String, queue: String) -> Result<u8> {
    let mut rings = Rings::open(&wire.client, &me).await?;
    let (desk, screen) = (Desk::Waiting, typist.screen.clone());
    let (rings_now, next, has_queue, is_offline) = (Vec::new(), None, true, false);
    let mut person =
        Person { wire, me, queue, screen, desk, rings: rings_now, next, has_queue, is_offline };
    let mut present_at = SystemClock.now();
    let mut looked_at = None;
    person.be("available").await?;
    output::remark(&format!("you are {}, and available; /help", output::clean(&person.me)));
    person.go_on().await?;
    loop {
        let now = SystemClock.now();
        let has_connection = person.wire.client.identity.token.is_some();
        if !has_connection && !person.is_offline && now.since(present_at) >= PRESENT_EVERY {
            person.be("available").await?;
            present_at = now;
        }
        if looked_at.is_none_or(|at| now.since(at) >= QUEUE_EVERY) {
            person.look_at_presence().await?;
            person.look_at_queue().await?;
            looked_at = Some(now);
        }
        tokio::select! {
            line = typist.next() => {
                let typed = line.as_ref().map(|line| Typed::read(&line.text));
                let began = line.as_ref().map_or(&Facing::NoCustomer, |line| &line.began);
                if person.typed(typed, began).await? == Then::Leave {
                    person.leave().await?;
                    return Ok(exit_code::OK);
                }
            }
            news = rings.next() => match news? {
                News::Rings(ring) => person.rung(ring).await?,
                News::Colleague(colleague) => person.heard_of(&colleague).await?,
            },
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
    /// The rings that were not answered yet, the first of them first. Those that began while a
    /// customer is here are announced later.
    rings: Vec<Ringing>,
    /// The customer that was announced as next.
    next: Option<String>,
    /// False once the queue turned out not to exist.
    has_queue: bool,
    /// Whether this person is offline, as after leaving another chat.
    is_offline: bool,
}

enum Desk {
    Waiting,
    Talking { transfer: String, follow: Box<Follow> },
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

    /// Says so if this person is offline, as after leaving another chat: nothing rings here then.
    async fn look_at_presence(&mut self) -> Result<()> {
        let call = Call::get(format!("/v1/agents/{}", percent_encode(&self.me)));
        let Some(shown) = unless_refused(self.wire.ask(call).await)? else { return Ok(()) };
        let was_offline = std::mem::replace(&mut self.is_offline, shown["presence"] == "offline");
        match (was_offline, self.is_offline) {
            (false, true) => {
                output::remark("you are offline now; /available makes you available again");
            }
            (true, false) => output::remark("you are not offline any more"),
            (false, false) | (true, true) => {}
        }
        Ok(())
    }

    pub(super) async fn come_back(&mut self) -> Result<()> {
        self.be("available").await?;
        self.is_offline = false;
        output::remark("you are available");
        Ok(())
    }

    /// Gives up the current customer, who is answered by another agent from now on.
    async fn leave(&self) -> Result<()> {
        let gives_back = match &self.desk {
            Desk::Talking { transfer, follow } if follow.seen["holder"] == *self.me => {
                let shown = self.wire.ask(Call::get(transfer_view::path_of(transfer, ""))).await;
                let queue = text(&unless_refused(shown)?.unwrap_or_default(), "queue");
                let (name, queue) = (words::customer(&follow.seen), output::clean(&queue));
                Some(format!("you leave; {name} goes back to the queue {queue}"))
            }
            Desk::Talking { .. } | Desk::Waiting => None,
        };
        self.be("offline").await?;
        gives_back.iter().for_each(|remark| output::remark(remark));
        Ok(())
    }

    /// The name of an agent.
    async fn called(&self, agent: &str) -> Result<String> {
        let call = Call::get(format!("/v1/agents/{}", percent_encode(agent)));
        let shown = unless_refused(self.wire.ask(call).await)?.unwrap_or_default();
        let name = shown["identity"]["agentName"].as_str();
        Ok(output::clean(name.unwrap_or(agent)))
    }

    /// Resumes with a customer that this person already has.
    async fn go_on(&mut self) -> Result<()> {
        let holder = percent_encode(&self.me);
        let path = format!("/v1/conversations?holder={holder}&status=open&limit=1");
        let listed = self.wire.ask(Call::get(path)).await?;
        if let Some(transfer) = listed["items"][0]["transfer_id"].as_str() {
            let shown = self.wire.ask(Call::get(transfer_view::path_of(transfer, ""))).await?;
            return self.talk(&shown).await;
        }
        self.find_rings(&[]).await
    }

    /// Announces the next customer, if people pick from the queue themselves. In other queues it
    /// rings.
    async fn look_at_queue(&mut self) -> Result<()> {
        let (Desk::Waiting, true, true) = (&self.desk, self.rings.is_empty(), self.has_queue)
        else {
            return Ok(());
        };
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

    /// A colleague that this person asked in comes, does not come, or leaves.
    async fn heard_of(&self, colleague: &Colleague) -> Result<()> {
        let Desk::Talking { transfer, follow, .. } = &self.desk else { return Ok(()) };
        if *transfer != colleague.transfer {
            return Ok(());
        }
        let name = match &colleague.agent {
            Some(agent) => self.called(agent).await?,
            None => "the colleague".to_owned(),
        };
        output::line(&format!("* {}", colleague.told(&name, &words::customer(&follow.seen))));
        Ok(())
    }

    fn advises(&self, shown: &Value) -> bool {
        shown["leg"]["status"] == "consulting" && shown["leg"]["agent"] == *self.me
    }

    /// Polls for changes.
    async fn look(&mut self) -> Result<()> {
        match &mut self.desk {
            Desk::Waiting => self.look_at_rings().await,
            Desk::Talking { transfer, follow, .. } => {
                let may_see = unless_refused(follow.look(&self.wire).await)?.is_some();
                let (transfer, seen) = (transfer.clone(), follow.seen.clone());
                let advised = follow.reader.advises.clone();
                if !may_see || !self.is_here(&transfer, &seen).await? {
                    self.desk = Desk::Waiting;
                    // Those that still ring are announced below.
                    let known = std::mem::take(&mut self.rings);
                    self.show();
                    self.look_at_presence().await?;
                    let here = if self.is_offline { "" } else { "; you are available" };
                    output::remark(&match advised {
                        Some(name) => format!("you do not advise {name} any more{here}"),
                        None => {
                            format!("{} is not with you any more{here}", words::customer(&seen))
                        }
                    });
                    self.find_rings(&known).await?;
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
        let shown = self.wire.ask(Call::get(transfer_view::path_of(transfer, ""))).await;
        Ok(unless_refused(shown)?.is_some_and(|shown| self.advises(&shown)))
    }

    async fn talk(&mut self, shown: &Value) -> Result<()> {
        let transfer = text(shown, "transfer_id");
        let answers = shown["agent"]["agentName"].as_str().map(output::clean);
        let advises = answers.filter(|_| self.advises(shown));
        let reader = Reader { agent: Some(self.me.clone()), advises: advises.clone() };
        let follow = Follow::start(&self.wire, &text(shown, "conversation_id"), reader).await?;
        let with = words::customer(&follow.seen);
        self.rings.retain(|ringing| ringing.transfer != transfer);
        self.desk = Desk::Talking { transfer, follow: Box::new(follow) };
        // A customer who returns to the queue is announced as next again.
        self.next = None;
        self.show();
        output::remark(&match advises {
            Some(name) => format!(
                "you advise {name}; {name} sees what you type, {with} does not; /complete ends it"
            ),
            None => format!("you are with {with}; what you type is said, /help lists the rest"),
        });
        Ok(())
    }

    /// The customer in front of this person now.
    fn facing(&self) -> Facing {
        match (&self.desk, self.rings.first(), &self.next) {
            (Desk::Talking { transfer, .. }, _, _) => Facing::With(transfer.clone()),
            (Desk::Waiting, Some(first), _) => Facing::Rings(first.transfer.clone()),
            (Desk::Waiting, None, Some(next)) => Facing::Next(next.clone()),
            (Desk::Waiting, None, None) => Facing::NoCustomer,
        }
    }

    fn show(&self) {
        self.screen.set(self.facing());
    }
}
