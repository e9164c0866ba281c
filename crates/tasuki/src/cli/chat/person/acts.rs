//! What a person types, and what it does.

use anyhow::Result;
use serde_json::{Value, json};

use super::asked::{RingingRequest, is_same_name};
use super::{Desk, Person, Then};
use crate::cli::chat::{Facing, Typed, unknown, with_text, words};
use crate::cli::queue::{self};
use crate::cli::transfer_view::{self, name_of};
use crate::cli::transfer_words::did;
use crate::client::Call;
use crate::output;

const HELP: &str = "\
What you type is said to the customer; while you advise a colleague, to the colleague. Besides:
  /accept [NAME]           answer the first ring, or pick up the next customer; or NAME
  /decline [reason]        let another person be asked
  /hold, /resume           put the customer on hold, and be back
  /note TEXT               write something for colleagues
  /transfer NAME [reason]  ask another person, or a queue, to take over
  /consult NAME [reason]   ask another person to advise you
  /cancel                  take that back
  /complete [summary]      it is settled; the bot goes on; as an adviser, leave
  /end [reason]            end the conversation
  /queue                   show who waits, and who is rung
  /available               be available again, if you are offline
  /quit                    leave; a customer you have goes back to the queue
  //text                   say something that begins with a slash";

impl Person {
    /// A line that was typed for one customer has no effect on another who came while it was typed.
    pub(super) async fn typed(&mut self, typed: Option<Typed<'_>>, began: &Facing) -> Result<Then> {
        let is_for_another = began.is_somebody_else_than(&self.facing());
        match typed {
            None => return Ok(Then::Leave),
            Some(Typed::Nothing) => {}
            Some(Typed::Do("quit", _)) => return Ok(Then::Leave),
            Some(Typed::Do("help", _)) => output::remark(HELP),
            Some(Typed::Do("queue", _)) => self.show_queue().await?,
            Some(Typed::Do("available", _)) => self.come_back().await?,
            // A name says for whom the line is.
            Some(Typed::Do("accept", name)) if !name.is_empty() => self.accept(began, name).await?,
            Some(Typed::Say(_) | Typed::Do(..)) if is_for_another => {
                output::remark("that was typed before this customer came; nothing was done");
            }
            Some(Typed::Do("accept", name)) => self.accept(began, name).await?,
            Some(Typed::Do("decline", reason)) => self.decline(reason).await?,
            Some(Typed::Say(text)) => self.say(text).await?,
            Some(Typed::Do(verb, rest)) => self.steer(verb, rest).await?,
        }
        Ok(Then::Stay)
    }

    async fn show_queue(&self) -> Result<()> {
        let call = Call::get(queue::path_of(&self.queue));
        if let Some(shown) = self.wire.try_to(call).await? {
            let rings = queue::rings(&self.wire.client, &self.queue).await;
            // A failed lookup is repeated the next time.
            queue::show(&shown, &rings.unwrap_or_default());
        }
        Ok(())
    }

    /// Accepts the first ring, or the announced next customer, or else the first of the queue; with
    /// a name, the first of these who has it.
    async fn accept(&mut self, began: &Facing, name: &str) -> Result<()> {
        if let Desk::Talking { .. } = self.desk {
            output::remark("one at a time: /complete, /transfer or /end comes first");
            return Ok(());
        }
        let mut rings = self.rings.iter();
        let ring = rings.find(|ringing| name.is_empty() || ringing.asked.is_from(name));
        let accepted = match ring.map(|ringing| ringing.transfer.clone()) {
            Some(ring) => self.act(&ring, "accept", json!({})).await?,
            None => match self.waiting(began, name).await? {
                Some(waiting) => self.act(&waiting, "pickup", json!({ "accept": true })).await?,
                None => {
                    output::remark(&match name {
                        "" => format!(
                            "no customer rings or waits in {}; you are told when one does",
                            output::clean(&self.queue)
                        ),
                        name => format!(
                            "no customer {} rings or waits; /queue shows who does",
                            output::clean(name)
                        ),
                    });
                    None
                }
            },
        };
        match accepted {
            Some(shown) => self.talk(&shown).await,
            None => Ok(()),
        }
    }

    async fn decline(&mut self, reason: &str) -> Result<()> {
        // Also while a customer is here: another person is then asked at once.
        let Some(first) = self.rings.first() else {
            output::remark("no customer rings, so there is nothing to decline");
            return Ok(());
        };
        let transfer = first.transfer.clone();
        if self.act(&transfer, "decline", with_text("reason", reason)).await?.is_some() {
            self.drop_rings(&[transfer], RingingRequest::declined);
        }
        Ok(())
    }

    /// The announced next customer, or else the one who has waited longest; with a name, the first
    /// in the queue who has it.
    async fn waiting(&self, began: &Facing, name: &str) -> Result<Option<String>> {
        if let (Facing::Next(next), "") = (began, name) {
            return Ok(Some(next.clone()));
        }
        let queue = self.wire.try_to(Call::get(queue::path_of(&self.queue))).await?;
        let queue = queue.unwrap_or_default();
        let mut waiting = queue["waiting"].as_array().into_iter().flatten();
        let one = waiting.find(|one| name.is_empty() || is_same_name(&name_of(one), name));
        Ok(one.and_then(|one| one["transfer_id"].as_str()).map(str::to_owned))
    }

    async fn say(&mut self, text: &str) -> Result<()> {
        let Desk::Talking { transfer, follow, .. } = &mut self.desk else {
            self.nobody_hears();
            return Ok(());
        };
        if follow.seen["holder"] == *self.me {
            return follow.say(&self.wire, text).await;
        }
        let transfer = transfer.clone();
        self.act(&transfer, "whisper", json!({ "text": text })).await.map(|_| ())
    }

    /// The advice for an action that needs a customer when there is none.
    fn nobody_hears(&self) {
        match self.rings.first() {
            Some(ringing) => output::remark(&ringing.asked.not_yet()),
            None => output::remark(
                "no customer is with you yet, so nothing was done; you are told when one rings, \
                 and /queue shows who waits",
            ),
        }
    }

    /// Acts on the current customer. What the transcript shows is not said twice.
    async fn steer(&mut self, verb: &str, rest: &str) -> Result<()> {
        let (to, reason) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let to_other = |kind: &str| {
            let mut body = with_text("reason", reason.trim());
            body["to"] = to.into();
            body["type"] = kind.into();
            body
        };
        let (action, body) = match verb {
            "note" | "transfer" | "consult" if rest.is_empty() => {
                let rest = if verb == "note" { "charged twice" } else { "ivan" };
                output::remark(&format!("say more, such as /{verb} {rest}; nothing was done"));
                return Ok(());
            }
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
        let Desk::Talking { transfer, follow, .. } = &self.desk else {
            self.nobody_hears();
            return Ok(());
        };
        let (transfer, customer) = (transfer.clone(), words::customer(&follow.seen));
        let is_answering = follow.seen["holder"] == *self.me;
        if verb == "cancel" && is_answering {
            return self.take_back(&transfer, &customer).await;
        }
        let Some(shown) = self.act(&transfer, action, body.clone()).await? else { return Ok(()) };
        if ["hold", "resume", "transfer"].contains(&action) {
            let mut asked = body;
            if !to.is_empty() {
                asked["to"] = self.called(to).await?.into();
            }
            output::remark(&did(action, &asked, &shown));
        }
        Ok(())
    }

    /// Withdraws the invitation of a colleague.
    async fn take_back(&self, transfer: &str, customer: &str) -> Result<()> {
        let shown = self.wire.try_to(Call::get(transfer_view::path_of(transfer, ""))).await?;
        let Some(shown) = shown else { return Ok(()) };
        let Some(to) = shown["leg"]["to"].as_str() else {
            output::remark(&format!(
                "you asked no colleague in, so there is nothing to cancel; /complete hands \
                 {customer} back, /end ends the chat"
            ));
            return Ok(());
        };
        if self.act(transfer, "cancel", json!({})).await?.is_some() {
            let name = self.called(to).await?;
            output::remark(&format!("you do not ask {name} any more; {customer} stays with you"));
        }
        Ok(())
    }

    /// Acts on a transfer in the epoch that was seen last.
    async fn act(&self, transfer: &str, action: &str, mut body: Value) -> Result<Option<Value>> {
        body["epoch"] = match &self.desk {
            Desk::Talking { follow, .. } => follow.seen["epoch"].clone(),
            Desk::Waiting => {
                let path = transfer_view::path_of(transfer, "");
                match self.wire.try_to(Call::get(path)).await? {
                    Some(shown) => shown["epoch"].clone(),
                    None => return Ok(None),
                }
            }
        };
        let path = transfer_view::path_of(transfer, &format!("/{action}"));
        self.wire.try_to(Call::post(path, body)).await
    }
}
