//! The promises about messages, checked from the entries alone: each is sent once, reaches each of
//! its recipients once, moves only forwards, and counts for its sender in its thread; a purged
//! message is nowhere.

use std::collections::{BTreeMap, BTreeSet};

use engine::ports::store::{InboxStatus, List, ListOf, MessageFilter, OldestMessages};
use protocol::codec;
use protocol::ids::{AgentId, TeamspaceId, ThreadId};
use protocol::ledger::{Entry, Stream, Subject};
use protocol::message::state::server;
use protocol::message::thread::{self, MESSAGES_MAX};
use protocol::message::{Delivery, Event as MessageEvent, Message};
use protocol::step::Event;

use super::script::{AGENTS, TEAMSPACES};
use super::side::Side;
use crate::support::id;

/// Every message, as its entries tell.
#[derive(Default)]
pub struct Post {
    messages: BTreeMap<Stream, Letter>,
    /// How many messages each sender has sent in each thread, including purged ones.
    counts: BTreeMap<Counted, u32>,
    /// Those that have changed since the last check.
    changed: BTreeSet<Counted>,
}

/// A sender's messages in a thread.
type Counted = (TeamspaceId, AgentId, ThreadId);

#[derive(Debug)]
struct Letter {
    from: AgentId,
    recipients: BTreeMap<AgentId, Delivery>,
    is_purged: bool,
}

impl Post {
    pub fn look_at(&mut self, entry: &Entry) -> Result<(), String> {
        let Subject::Message(_) = entry.stream.subject else { return Ok(()) };
        let body = entry.body.text().ok_or("an entry was erased before it was seen")?;
        let event = codec::decode(&entry.name, entry.version, body).map_err(|it| it.to_string())?;
        let subject = &entry.stream.subject;
        match (event, self.messages.get_mut(&entry.stream)) {
            (Event::Message(MessageEvent::Sent(sent)), None) => {
                let teamspace = entry.stream.teamspace.clone();
                let counted = (teamspace, sent.from.clone(), sent.thread_id.clone());
                *self.counts.entry(counted.clone()).or_default() += 1;
                self.changed.insert(counted);
                let to: BTreeSet<_> = sent.to.iter().cloned().collect();
                if to.len() != sent.to.len() || to.is_empty() {
                    return Err(format!("{subject} was sent to {:?}", sent.to));
                }
                let recipients = to.into_iter().map(|name| (name, Delivery::Pending)).collect();
                let letter = Letter { from: sent.from, recipients, is_purged: false };
                self.messages.insert(entry.stream.clone(), letter);
                Ok(())
            }
            (Event::Erased(_), Some(letter)) if !letter.is_purged => {
                letter.is_purged = true;
                Ok(())
            }
            (Event::Message(event), Some(letter)) if !letter.is_purged => {
                letter.move_on(&event).ok_or_else(|| format!("{subject} cannot be {}", entry.name))
            }
            (_, _) => Err(format!("{subject} cannot be {}", entry.name)),
        }
    }

    /// The state must match the entries.
    pub fn look_at_state(&self, stream: &Stream, message: &Message) -> Result<(), String> {
        let letter = &self.messages[stream];
        if message.recipients != letter.recipients || message.purged != letter.is_purged {
            return Err(format!("{} is {message:?}, and was {letter:?}", stream.subject));
        }
        let has_text = !message.sent.payload.is_empty();
        match message.purged && (has_text || !message.effects().is_empty()) {
            true => Err(format!("{} was purged and is {message:?}", stream.subject)),
            false => Ok(()),
        }
    }

    /// The count of each sender in a thread is the number of its messages, and agents do not exceed
    /// the limit.
    pub async fn look_at_counts(&mut self, sides: &[Side]) -> Result<(), String> {
        for counted in std::mem::take(&mut self.changed) {
            let n = self.counts[&counted];
            let (teamspace, sender, thread) = counted;
            let key = thread::key(&sender, &thread);
            if n > MESSAGES_MAX && sender != server() {
                return Err(format!("{key} counts {n}"));
            }
            for side in sides {
                let hold = side.store.hold(&teamspace, &key).await;
                let value = hold.map_err(|error| error.to_string())?.value.unwrap_or_default();
                let value: serde_json::Value = serde_json::from_str(&value).unwrap_or_default();
                if value["n"] != n {
                    return Err(format!("{key} should count {n}, and is {value}"));
                }
            }
        }
        Ok(())
    }

    /// Lists and inboxes, compared with the entries, newest first.
    pub async fn look_at_lists(&self, side: &Side) -> Result<(), String> {
        for name in TEAMSPACES {
            let teamspace: TeamspaceId = name.parse().expect("a teamspace");
            self.look_at_list(side, &teamspace, ListOf::Messages(Default::default()), |_| true)
                .await?;
            // Another agent each time; in the end every agent had its turn.
            let agent = id(AGENTS[self.messages.len() % AGENTS.len()].0);
            let filter = MessageFilter { parties: vec![agent.clone()], ..MessageFilter::default() };
            let takes_part = |it: &Letter| it.from == agent || it.recipients.contains_key(&agent);
            self.look_at_list(side, &teamspace, ListOf::Messages(filter), takes_part).await?;
            for status in [InboxStatus::Open, InboxStatus::Only(Delivery::Read)] {
                let of = ListOf::Inbox { agent: agent.clone(), status };
                let lies = |it: &Letter| match (it.recipients.get(&agent), status) {
                    (Some(found), InboxStatus::Open) => found.is_in_inbox(),
                    (Some(found), InboxStatus::Only(wanted)) => *found == wanted,
                    (None, _) => false,
                };
                self.look_at_list(side, &teamspace, of, lies).await?;
            }
        }
        let oldest = OldestMessages { teamspace: None, after: 0, limit: usize::MAX };
        let found = side.store.oldest_messages(oldest).await;
        let n_found = found.map_err(|error| error.to_string())?.len();
        let n_kept = self.messages.values().filter(|letter| !letter.is_purged).count();
        match n_found == n_kept {
            true => Ok(()),
            false => Err(format!("{n_found} messages are kept, and {n_kept} were not purged")),
        }
    }

    async fn look_at_list(
        &self,
        side: &Side,
        teamspace: &TeamspaceId,
        of: ListOf,
        is_wanted: impl Fn(&Letter) -> bool,
    ) -> Result<(), String> {
        let list =
            List { teamspace: teamspace.clone(), of: of.clone(), before: None, limit: usize::MAX };
        let found = side.store.list(list).await.map_err(|error| error.to_string())?;
        let found: BTreeSet<_> = found.into_iter().map(|row| row.stream).collect();
        let wanted = self.messages.iter().filter(|(stream, letter)| {
            stream.teamspace == *teamspace && !letter.is_purged && is_wanted(letter)
        });
        let wanted: BTreeSet<_> = wanted.map(|(stream, _)| stream.clone()).collect();
        match found == wanted {
            true => Ok(()),
            false => Err(format!("{of:?} has {found:?}, and the entries say {wanted:?}")),
        }
    }
}

impl Letter {
    /// `None` if the event is not possible here, or has happened already.
    fn move_on(&mut self, event: &MessageEvent) -> Option<()> {
        let (to, next) = match event {
            MessageEvent::Sent(_) => return None,
            MessageEvent::Delivered(delivered) => (&delivered.to, Delivery::Delivered),
            MessageEvent::Read(read) => (&read.to, Delivery::Read),
            MessageEvent::Expired(expired) => (&expired.to, Delivery::Expired),
            MessageEvent::Failed(failed) => (&failed.to, Delivery::Failed),
            MessageEvent::Woken(woken) => {
                let is_pending = |name| self.recipients.get(name) == Some(&Delivery::Pending);
                return woken.to.iter().all(is_pending).then_some(());
            }
        };
        for name in to {
            let status = self.recipients.get_mut(name)?;
            let is_forwards = match (*status, next) {
                (Delivery::Pending, Delivery::Delivered | Delivery::Expired | Delivery::Failed)
                | (Delivery::Delivered, Delivery::Read | Delivery::Expired)
                | (Delivery::Failed, Delivery::Read) => true,
                (_, _) => false,
            };
            *status = is_forwards.then_some(next)?;
        }
        Some(())
    }
}
