//! The rings that a person has not answered yet, in the order in which they began.

use anyhow::Result;
use engine::ports::clock::{Clock, SystemClock};
use protocol::time::Time;
use serde_json::Value;

use super::asked::RingingRequest;
use super::{Desk, Person};
use crate::cli::chat::rings::Ring;
use crate::cli::chat::wire::unless_refused;
use crate::cli::transfer_view;
use crate::client::{Call, percent_encode};
use crate::output;

/// How many conversations are searched for rings. A person is asked into few.
const OPEN_CONVERSATIONS_MAX: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ringing {
    pub transfer: String,
    pub asked: RingingRequest,
    /// Until when, if that is known.
    until: Option<Time>,
}

impl Ringing {
    /// A ring, if the transfer still rings for this person.
    fn of(ring: Ring, shown: &Value, me: &str) -> Option<Self> {
        let asked = RingingRequest::of(shown, me)?;
        let until = ring.until.or_else(|| asked.until(shown));
        Some(Self { transfer: ring.transfer, asked, until })
    }
}

impl Person {
    /// Announces a ring. While a customer is here, it is announced when they have gone.
    pub(super) async fn rung(&mut self, ring: Ring) -> Result<()> {
        let is_talking = matches!(self.desk, Desk::Talking { .. });
        let is_known = self.rings.iter().any(|known| known.transfer == ring.transfer);
        if is_known && !is_talking {
            return Ok(());
        }
        let shown = self.wire.ask(Call::get(transfer_view::path_of(&ring.transfer, ""))).await;
        let Some(shown) = unless_refused(shown)? else { return Ok(()) };
        let Some(ringing) = Ringing::of(ring, &shown, &self.me) else { return Ok(()) };
        if is_talking {
            let who = output::clean(ringing.asked.name());
            output::remark(&format!(
                "{who} rings; /complete, /transfer or /end comes first, or /decline"
            ));
            self.rings.retain(|known| known.transfer != ringing.transfer);
            self.rings.push(ringing);
        } else {
            self.announce(ringing, &shown);
        }
        Ok(())
    }

    /// Announces all rings for this person, or resumes with a colleague that they advise. The
    /// server does not tell when a colleague's request ends; the `known` rings do.
    pub(super) async fn find_rings(&mut self, known: &[Ringing]) -> Result<()> {
        let me = percent_encode(&self.me);
        let limit = OPEN_CONVERSATIONS_MAX;
        let path = format!("/v1/conversations?asked={me}&status=open&limit={limit}");
        let listed = self.wire.ask(Call::get(path)).await?;
        let mut found = Vec::new();
        for conversation in listed["items"].as_array().into_iter().flatten() {
            let Some(transfer) = conversation["transfer_id"].as_str() else { continue };
            let shown = self.wire.ask(Call::get(transfer_view::path_of(transfer, ""))).await;
            let Some(shown) = unless_refused(shown)? else { continue };
            if self.advises(&shown) {
                return self.talk(&shown).await;
            }
            let until = known.iter().find(|it| it.transfer == transfer).and_then(|it| it.until);
            let ring = Ring { transfer: transfer.to_owned(), until };
            if let Some(ringing) = Ringing::of(ring, &shown, &self.me) {
                found.push((ringing, shown));
            }
        }
        // The first to end began first. A ring whose end is unknown began before this chat.
        found.sort_by_key(|(ringing, _)| ringing.until);
        for (ringing, shown) in found {
            self.announce(ringing, &shown);
        }
        Ok(())
    }

    fn announce(&mut self, ringing: Ringing, shown: &Value) {
        let first = self.rings.first().map(|first| &first.asked);
        let lines = ringing.asked.lines(shown);
        let remark = ringing.asked.remark(ringing.until, first, SystemClock.now());
        self.rings.push(ringing);
        self.show();
        lines.iter().for_each(|line| output::line(line));
        output::remark(&remark);
    }

    /// Polls the rings, and says which of them are over.
    pub(super) async fn look_at_rings(&mut self) {
        let mut over = Vec::new();
        for ringing in &self.rings {
            let path = transfer_view::path_of(&ringing.transfer, "");
            let shown = self.wire.client.call(Call::get(path)).await.ok();
            if shown.is_some_and(|it| RingingRequest::of(&it.body, &self.me).is_none()) {
                over.push(ringing.transfer.clone());
            }
        }
        if !over.is_empty() {
            self.drop_rings(&over, RingingRequest::over);
        }
    }

    /// Removes rings, each with a remark, and names the one that is now first.
    pub(super) fn drop_rings(&mut self, over: &[String], told: fn(&RingingRequest) -> String) {
        let rings = std::mem::take(&mut self.rings);
        let first = rings.first().map(|it| it.transfer.clone());
        let (over, rings): (Vec<_>, Vec<_>) =
            rings.into_iter().partition(|it| over.contains(&it.transfer));
        self.rings = rings;
        self.show();
        over.iter().for_each(|ringing| output::remark(&told(&ringing.asked)));
        if let Some(next) = self.rings.first()
            && first.as_ref() != Some(&next.transfer)
        {
            output::remark(&next.asked.still());
        }
    }
}
