//! The dispatch loop: what waits in a queue is offered to people, and what somebody had who is gone
//! goes back into its place. It follows the ledger like everybody else, and what it does is a
//! command like any other; of two that decide at once, the commit lets one through.

mod flow;
mod roster;
mod shift;

use std::collections::BTreeSet;

use protocol::caller::Caller;
use protocol::conversation::{self, Conversation};
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Entry, Stream, Subject};
use protocol::queue::{Candidate, Mode, Settings, Wanted, choose};
use protocol::step::{Command, State};
use protocol::time::{Span, Time};
use protocol::transfer::{self, Transfer};
use tokio::sync::watch;

use crate::Engine;
use crate::feed::{Followed, PAGE_ENTRIES_MAX};
use crate::port::{ConversationFilter, ListOf};
use crate::query::LIST_ROWS_MAX;
use crate::submit::SubmitError;

pub use flow::Flows;
pub use roster::Roster;
pub use shift::Shift;

/// The name under which the store keeps how far the loop has come.
const FOLLOWER: &str = "dispatch";

/// Entries that concern nobody are passed again after a crash, which is harmless; up to this many
/// of them are not worth a write.
const PLACE_EVERY: u64 = 8 * PAGE_ENTRIES_MAX as u64;

/// Between two looks while the loop keeps up: nobody notices a wait that is shorter.
const PAUSE: Span = Span::from_millis(20);

/// While somebody waits it looks this often: what is asked of people is relaxed with time.
const LOOK_EVERY: Span = Span::from_millis(1_000);

/// A store that failed may have recovered by then.
const RETRY_AFTER: Span = Span::from_millis(1_000);

/// Queues are looked through in pages of this size.
const QUEUES_READ: usize = 200;

/// Conversations of a queue that are looked at in one round. Those behind are looked at once those
/// before them have found somebody.
const WAITING_MAX: usize = 256;

pub(crate) async fn run(engine: Engine, mut stopped: watch::Receiver<bool>) {
    tokio::select! {
        biased;
        () = engine.until_not_behind() => {}
        // An offer is a write.
        () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => return,
    }
    let dispatching = async {
        loop {
            let Err(error) = engine.dispatch_as_it_happens().await;
            tracing::error!(%error, "dispatching fell behind");
            engine.clock.sleep(RETRY_AFTER).await;
        }
    };
    tokio::select! {
        () = dispatching => {}
        () = async { let _ = stopped.wait_for(|stopped| *stopped).await; } => {}
    }
}

/// What an entry means for those who wait.
enum Meaning {
    Nothing,
    /// Somebody waits who did not, or somebody is free who was not.
    LookAgain,
    /// A person cannot be reached any more.
    Gone(AgentId),
}

impl Engine {
    /// Takes note of all that has happened, gives back what people had who are gone, and offers
    /// what waits. Returns how many offers it made. For programs without loops, and for tests.
    pub async fn dispatch_due(&self) -> Result<usize, SubmitError> {
        let written = self.store.place(FOLLOWER).await?;
        let mut follower = self.follow(written);
        loop {
            let page = follower.available().await?;
            if page.is_empty() {
                self.store.write_place(FOLLOWER, follower.cursor()).await?;
                return self.offer_all().await;
            }
            for followed in page {
                self.take_note(&followed).await?;
            }
        }
    }

    async fn dispatch_as_it_happens(&self) -> Result<std::convert::Infallible, SubmitError> {
        let mut written = self.store.place(FOLLOWER).await?;
        let mut follower = self.follow(written);
        let mut is_somebody_waiting = true;
        loop {
            let page = tokio::select! {
                page = follower.next() => page?,
                () = self.clock.sleep(LOOK_EVERY), if is_somebody_waiting => Vec::new(),
            };
            let is_behind = page.len() == PAGE_ENTRIES_MAX;
            let mut looks_again = page.is_empty();
            let mut has_acted = false;
            for followed in page {
                match self.take_note(&followed).await? {
                    Meaning::Nothing => {}
                    Meaning::LookAgain => looks_again = true,
                    Meaning::Gone(_) => (looks_again, has_acted) = (true, true),
                }
            }
            if has_acted || follower.cursor() - written >= PLACE_EVERY {
                written = follower.cursor();
                self.store.write_place(FOLLOWER, written).await?;
            }
            if is_behind {
                continue;
            }
            if looks_again {
                self.offer_all().await?;
                is_somebody_waiting = !self.store.waiting_queues(None, 1).await?.is_empty();
            }
            self.clock.sleep(PAUSE).await;
        }
    }

    async fn take_note(&self, followed: &Followed) -> Result<Meaning, SubmitError> {
        let entry = &followed.sequenced.entry;
        let teamspace = &entry.stream.teamspace;
        let meaning = match &entry.stream.subject {
            Subject::Agent(id) => {
                self.roster.lock().await.forget(teamspace, id);
                match is_departure(entry) && self.is_gone(teamspace, id).await? {
                    true => Meaning::Gone(id.clone()),
                    false => Meaning::LookAgain,
                }
            }
            Subject::Conversation(_) if entry.name.starts_with("transfer.") => {
                self.roster.lock().await.heed(entry);
                self.flows.heed(entry);
                Meaning::LookAgain
            }
            Subject::Conversation(_)
            | Subject::Handoff(_)
            | Subject::Token(_)
            | Subject::Graph(_)
            | Subject::Subscription(_)
            | Subject::Session(_)
            | Subject::Message(_)
            | Subject::Teamspace
            | Subject::Ledger => Meaning::Nothing,
        };
        if let Meaning::Gone(agent) = &meaning {
            self.lose(teamspace, agent).await?;
        }
        Ok(meaning)
    }

    async fn is_gone(&self, teamspace: &TeamspaceId, id: &AgentId) -> Result<bool, SubmitError> {
        let agent = self.agent(teamspace, id.clone()).await?;
        Ok(agent.is_some_and(|agent| agent.presence() == protocol::agent::Presence::Offline))
    }

    /// Gives back everything that a person has.
    async fn lose(&self, teamspace: &TeamspaceId, agent: &AgentId) -> Result<(), SubmitError> {
        let of = |holder: Option<AgentId>, asked| {
            ListOf::Conversations(ConversationFilter {
                holder,
                asked,
                status: Some(conversation::Status::Open),
            })
        };
        // What is asked of them first: whoever answers meanwhile is found among what they hold.
        for of in [of(None, Some(agent.clone())), of(Some(agent.clone()), None)] {
            let mut before = None;
            loop {
                let page = self.list(teamspace, of.clone(), before, LIST_ROWS_MAX).await?;
                for item in page.items {
                    let lose = transfer::Command::Lose { agent: agent.clone() };
                    self.submit_transfer(item.stream, lose).await?;
                }
                match page.next {
                    Some(next) => before = Some(next),
                    None => break,
                }
            }
        }
        Ok(())
    }

    /// Offers what waits to whoever can take it, in every queue that offers.
    async fn offer_all(&self) -> Result<usize, SubmitError> {
        let (mut n_offered, mut after) = (0, None);
        loop {
            let queues = self.store.waiting_queues(after.as_ref(), QUEUES_READ).await?;
            for (teamspace, queue) in &queues {
                n_offered += self.offer_in(teamspace, queue).await?;
            }
            match queues.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => return Ok(n_offered),
            }
        }
    }

    async fn offer_in(
        &self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
    ) -> Result<usize, SubmitError> {
        let Some(known) = self.agent(teamspace, queue.clone()).await? else { return Ok(0) };
        let settings = known.queue_settings();
        if settings.mode == Mode::Pick {
            return Ok(0);
        }
        let mut people = self.people(teamspace).await?;
        let mut n_offered = 0;
        for row in self.store.waiting(teamspace, queue, WAITING_MAX).await? {
            if people.iter().all(|person| person.load >= person.capacity) {
                break;
            }
            let state = self.current(&row.stream).await?;
            let Some(State::Conversation(conversation)) = state.as_deref() else { continue };
            let Some(transfer) = conversation.open_transfer() else { continue };
            let now = self.clock.now();
            let Some(chosen) = whom(conversation, transfer, &settings, &people, now) else {
                continue;
            };
            let ring = transfer::Command::Ring { transfer: transfer.id, agent: chosen.clone() };
            let has_rung = self.submit_transfer(row.stream, ring).await?;
            let person = people.iter_mut().find(|person| person.agent == chosen);
            let person = person.expect("whoever is chosen is one of them");
            person.load += 1;
            if has_rung {
                person.last_assigned_at = now;
                self.roster.lock().await.assigned(teamspace, &chosen, now);
                n_offered += 1;
            }
        }
        Ok(n_offered)
    }

    /// Whether it happened. If the world has moved on, it has not, and the next look shows why.
    async fn submit_transfer(
        &self,
        stream: Stream,
        command: transfer::Command,
    ) -> Result<bool, SubmitError> {
        let caller = Caller::system(stream.teamspace.clone());
        let command = Command::Conversation(conversation::Command::Transfer(command));
        match self.submit(&caller, stream, command, None).await {
            Ok(_) => Ok(true),
            Err(SubmitError::Rejected(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn is_departure(entry: &Entry) -> bool {
    ["agent.lost", "agent.connection_lost", "agent.presence_changed"].contains(&entry.name.as_ref())
}

/// Who is offered it: not whoever has said no, nor whoever has it; and whoever has not answered
/// only if there is nobody else.
fn whom(
    conversation: &Conversation,
    transfer: &Transfer,
    settings: &Settings,
    people: &[Candidate],
    now: Time,
) -> Option<AgentId> {
    let terms = &transfer.terms;
    // What the queue asks is asked by the one in which it waits now.
    let own = if transfer.leg.is_some() { &Wanted::default() } else { &terms.wanted };
    let language = conversation.setup.customer.language.as_deref();
    let wanted = settings.wanted_for(own, language);
    let wanted = settings.patience.relaxed(&wanted, now.since(terms.requested_at));
    let (declined, missed) = match &transfer.leg {
        Some(leg) => (&leg.declined, &leg.missed),
        None => (&transfer.declined, &transfer.missed),
    };
    let mut not_again: BTreeSet<AgentId> = declined.iter().cloned().collect();
    not_again.extend(transfer.people().cloned());
    let mut not_yet = not_again.clone();
    not_yet.extend(missed.iter().cloned());
    let chosen = choose(people, &wanted, &not_yet).or_else(|| choose(people, &wanted, &not_again));
    chosen.map(|person| person.agent.clone())
}
