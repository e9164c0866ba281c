//! Chatting as the customer of a conversation; or, with a token of its own, as its holder.

use anyhow::Result;
use serde_json::{Value, json};

use super::follow::{Follow, path_of};
use super::wire::{Wire, pause};
use super::words::Reader;
use super::{Facing, Typed, unknown, with_text};
use crate::cli::transfer_view::{self, text};
use crate::cli::typist::Typist;
use crate::client::Call;
use crate::{exit_code, output};

/// Polls between two reports of the place in the queue, if it changed.
const LOOKS_PER_PLACE: u32 = 10;

const HELP: &str = "\
What you type is said. Besides:
  /person [reason]        ask for a person
  /cancel                 do without one after all
  /rate 1..5 [comment]    say how it was
  /choose AGENT           choose who answers
  /close                  end the conversation
  /quit                   leave; the conversation goes on
  //text                  say something that begins with a slash";

pub async fn run(wire: Wire, mut typist: Typist<Facing>, id: &str) -> Result<u8> {
    let mut follow = Follow::start(&wire, id, Reader::default()).await?;
    let whose = if follow.is_customers() { "the customer" } else { "one of its agents" };
    output::remark(&format!("you are {whose}; /person asks for a person, /help lists the rest"));
    let mut told = SaidAlready::default();
    loop {
        typist.screen.set(facing(&follow));
        told.about(&wire, &follow).await?;
        if follow.is_closed() {
            output::remark("the conversation is closed");
            return Ok(exit_code::OK);
        }
        let line = tokio::select! {
            line = typist.next() => Some(line),
            () = pause() => None,
        };
        let typed = line.as_ref().map(|line| line.as_ref().map(|line| Typed::read(&line.text)));
        let began = line.as_ref().and_then(|line| line.as_ref().map(|line| &line.began));
        match typed {
            None | Some(Some(Typed::Nothing)) => {}
            Some(None | Some(Typed::Do("quit", _))) => {
                follow.look(&wire).await?;
                return Ok(exit_code::OK);
            }
            Some(Some(Typed::Say(text))) => follow.say(&wire, text).await?,
            Some(Some(Typed::Do("cancel" | "rate", _))) if is_of_another(began, &follow) => {
                output::remark("that was typed about an earlier transfer; nothing was done");
            }
            Some(Some(Typed::Do(verb, rest))) => act(&wire, &follow, verb, rest).await?,
        }
        follow.look(&wire).await?;
    }
}

fn facing(follow: &Follow) -> Facing {
    match follow.seen["transfer_id"].as_str() {
        Some(transfer) => Facing::With(transfer.to_owned()),
        None => Facing::NoCustomer,
    }
}

/// Whether a line was begun during an earlier transfer.
fn is_of_another(began: Option<&Facing>, follow: &Follow) -> bool {
    matches!(began, Some(began @ Facing::With(_)) if *began != facing(follow))
}

async fn act(wire: &Wire, follow: &Follow, verb: &str, rest: &str) -> Result<()> {
    if let Some(instead) = in_vain(wire, follow, verb, rest).await? {
        output::remark(instead);
        return Ok(());
    }
    let transfer =
        |action: &str| transfer_view::path_of(&text(&follow.seen, "transfer_id"), action);
    let call = match verb {
        "person" => {
            let body = fenced(follow, with_text("reason", rest));
            Call::post(path_of(&follow.id, "/transfers"), body)
        }
        "cancel" => Call::post(transfer("/cancel"), fenced(follow, json!({}))),
        "rate" => {
            let (score, comment) = rest.split_once(' ').unwrap_or((rest, ""));
            let score = score.parse::<u8>().ok().filter(|score| (1..=5).contains(score));
            let Some(score) = score else {
                output::remark("expected a number from 1 to 5: /rate 5 quick and kind");
                return Ok(());
            };
            let mut body = with_text("comment", comment.trim());
            body["score"] = score.into();
            Call::post(transfer("/rate"), body)
        }
        "choose" => Call::put(path_of(&follow.id, "/agent"), json!({ "agent_id": rest })),
        "close" => Call::post(path_of(&follow.id, "/close"), json!({})),
        "help" => {
            output::remark(HELP);
            return Ok(());
        }
        other => {
            unknown(other);
            return Ok(());
        }
    };
    if wire.try_to(call).await?.is_some() && verb == "rate" {
        output::remark("thank you");
    }
    Ok(())
}

/// The remark for an action that is not possible now.
async fn in_vain(
    wire: &Wire,
    follow: &Follow,
    verb: &str,
    rest: &str,
) -> Result<Option<&'static str>> {
    let status = follow.seen["transfer_status"].as_str().unwrap_or_default();
    let is_asked = ["requested", "queued", "ringing"].contains(&status);
    let is_here = ["connected", "on_hold"].contains(&status);
    Ok(match verb {
        "person" if is_asked => Some("a person is being asked already; /cancel takes that back"),
        "person" if is_here => Some("a person is here already; just type"),
        "cancel" if is_here => Some("a person is here already; /close ends the conversation"),
        "cancel" if !is_asked => {
            Some("no person is being asked, so there is nothing to cancel; /person asks for one")
        }
        "rate" if status != "completed" => {
            Some("nothing can be rated yet; you are asked when a person has settled your chat")
        }
        "rate" if !asks_rating(wire, follow).await? => Some("you have rated this already"),
        "choose" if rest.is_empty() => Some("say who shall answer, such as /choose bob"),
        _ => None,
    })
}

/// Whether the customer can still rate the transfer.
async fn asks_rating(wire: &Wire, follow: &Follow) -> Result<bool> {
    let call = Call::get(transfer_view::path_of(&text(&follow.seen, "transfer_id"), ""));
    Ok(wire.ask(call).await?["asks_rating"] == true)
}

/// Adds the epoch that an agent has seen. Customers have none.
fn fenced(follow: &Follow, mut body: Value) -> Value {
    if !follow.is_customers() {
        body["epoch"] = follow.seen["epoch"].clone();
    }
    body
}

/// What was already said about the current transfer, so that it is not repeated.
#[derive(Debug, Default)]
struct SaidAlready {
    status: String,
    place: Option<String>,
    n_looks: u32,
}

impl SaidAlready {
    async fn about(&mut self, wire: &Wire, follow: &Follow) -> Result<()> {
        let Some(id) = follow.seen["transfer_id"].as_str() else { return Ok(()) };
        let status = text(&follow.seen, "transfer_status");
        let before = std::mem::replace(&mut self.status, status.clone());
        let is_new = before != status;
        self.n_looks = if is_new { 0 } else { self.n_looks + 1 };
        let is_waiting = status == "queued" && self.n_looks.is_multiple_of(LOOKS_PER_PLACE);
        if is_waiting {
            let shown = wire.ask(Call::get(transfer_view::path_of(id, ""))).await?;
            let place = transfer_view::place(&shown);
            if let Some(place) = place.filter(|place| Some(place) != self.place.as_ref()) {
                output::remark(&format!("you are waiting: {place}"));
                self.place = Some(place);
            }
        }
        match status.as_str() {
            "ringing" if is_new => output::remark("a person is being asked"),
            "on_hold" if is_new => output::remark("you are on hold"),
            "connected" if before == "on_hold" => output::remark("you are not on hold any more"),
            "completed" if is_new && follow.is_customers() && asks_rating(wire, follow).await? => {
                output::remark("how was it? /rate 1 is very bad, /rate 5 very good");
            }
            _ => {}
        }
        Ok(())
    }
}
