//! The dispatch loop offers waiting conversations to people. The conversations of a person who has
//! gone offline go back to their place in the queue. The loop follows the ledger, and acts through
//! ordinary commands; of two concurrent decisions, the commit lets one through.

mod flow;
mod roster;
mod shift;

use std::collections::BTreeSet;
use std::convert::Infallible;

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
use crate::ledger::durable_follower::{self, Begins, Loop};
use crate::ledger::feed::Followed;
use crate::loops::Queues;
use crate::ports::store::{ConversationFilter, ListOf, StoreReads};
use crate::read::query::LIST_ROWS_MAX;
use crate::road::submit::SubmitError;

pub use flow::Flows;
pub use roster::Roster;
pub use shift::Shift;

/// The pause is too short to be noticed.
const LOOP: Loop =
    Loop { name: "dispatch", begins: Begins::AtTheFirstEntry, pause: Span::from_millis(20) };

/// How often the loop looks while a conversation waits: its requirements are relaxed with time.
const LOOK_EVERY: Span = Span::from_millis(1_000);

/// Queues are looked through in pages of this size.
const QUEUES_READ: usize = 200;

/// Conversations of a queue that are considered in one round. Later ones are considered once those
/// before them are assigned.
const WAITING_MAX: usize = 256;

pub(crate) async fn run(engine: Engine, stopped: watch::Receiver<bool>) {
    durable_follower::run(&engine, LOOP, stopped, || engine.queues().dispatch_as_it_happens())
        .await;
}

/// What an entry means for waiting conversations.
enum Meaning {
    Nothing,
    /// A new conversation waits, or a person has become free.
    LookAgain,
    /// A person is no longer reachable.
    Gone(AgentId),
}

impl Queues<'_> {
    /// Processes all new entries, takes conversations back from people who are offline, and offers
    /// what waits. Returns how many offers it made. For programs without loops, and for tests.
    pub async fn dispatch_due(self) -> Result<usize, SubmitError> {
        let mut follower = self.engine.follow_durably(LOOP).await?;
        loop {
            let page = follower.available().await?;
            if page.is_empty() {
                follower.processed(true).await?;
                return self.offer_all().await;
            }
            for followed in page {
                self.take_note(&followed).await?;
            }
        }
    }

    async fn dispatch_as_it_happens(self) -> Result<Infallible, SubmitError> {
        let mut follower = self.engine.follow_durably(LOOP).await?;
        let (mut is_somebody_waiting, mut looks_again) = (true, false);
        loop {
            let page = tokio::select! {
                page = follower.next() => page?,
                () = self.engine.clock.sleep(LOOK_EVERY), if is_somebody_waiting => Vec::new(),
            };
            looks_again |= page.is_empty();
            let mut has_acted = false;
            for followed in page {
                match self.take_note(&followed).await? {
                    Meaning::Nothing => {}
                    Meaning::LookAgain => looks_again = true,
                    Meaning::Gone(_) => (looks_again, has_acted) = (true, true),
                }
            }
            follower.processed(has_acted).await?;
            if looks_again && !follower.is_behind() {
                looks_again = false;
                self.offer_all().await?;
                is_somebody_waiting = !self.engine.store.waiting_queues(None, 1).await?.is_empty();
            }
        }
    }

    async fn take_note(self, followed: &Followed) -> Result<Meaning, SubmitError> {
        let entry = &followed.sequenced.entry;
        let teamspace = &entry.stream.teamspace;
        let meaning = match &entry.stream.subject {
            Subject::Agent(id) => {
                self.engine.roster.lock().await.forget(teamspace, id);
                match is_departure(entry) && self.is_gone(teamspace, id).await? {
                    true => Meaning::Gone(id.clone()),
                    false => Meaning::LookAgain,
                }
            }
            Subject::Conversation(_) if entry.name.starts_with("transfer.") => {
                self.engine.roster.lock().await.apply(entry);
                self.engine.flows.apply(entry);
                Meaning::LookAgain
            }
            Subject::Conversation(_)
            | Subject::Handoff(_)
            | Subject::Token(_)
            | Subject::Graph(_)
            | Subject::Subscription(_)
            | Subject::Session(_)
            | Subject::Webhook(_)
            | Subject::Message(_)
            | Subject::Teamspace
            | Subject::Ledger => Meaning::Nothing,
        };
        if let Meaning::Gone(agent) = &meaning {
            self.lose(teamspace, agent).await?;
        }
        Ok(meaning)
    }

    async fn is_gone(self, teamspace: &TeamspaceId, id: &AgentId) -> Result<bool, SubmitError> {
        let agent = self.engine.agent(teamspace, id.clone()).await?;
        Ok(agent.is_some_and(|agent| agent.presence() == protocol::agent::Presence::Offline))
    }

    /// Puts everything that a person holds or is asked to take back into its queue.
    async fn lose(self, teamspace: &TeamspaceId, agent: &AgentId) -> Result<(), SubmitError> {
        let of = |holder: Option<AgentId>, asked| {
            ListOf::Conversations(ConversationFilter {
                holder,
                asked,
                status: Some(conversation::Status::Open),
            })
        };
        // Offers first: one that is accepted meanwhile is then found among what the person holds.
        for of in [of(None, Some(agent.clone())), of(Some(agent.clone()), None)] {
            let mut before = None;
            loop {
                let page =
                    self.engine.read().list(teamspace, of.clone(), before, LIST_ROWS_MAX).await?;
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

    /// Offers waiting conversations to people who can take them, in every queue that makes offers.
    async fn offer_all(self) -> Result<usize, SubmitError> {
        let (mut n_offered, mut after) = (0, None);
        loop {
            let queues = self.engine.store.waiting_queues(after.as_ref(), QUEUES_READ).await?;
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
        self,
        teamspace: &TeamspaceId,
        queue: &AgentId,
    ) -> Result<usize, SubmitError> {
        let Some(known) = self.engine.agent(teamspace, queue.clone()).await? else { return Ok(0) };
        let settings = known.queue_settings();
        if settings.mode == Mode::Pick {
            return Ok(0);
        }
        let mut people = self.people(teamspace).await?;
        let mut n_offered = 0;
        for row in self.engine.store.waiting(teamspace, queue, WAITING_MAX).await? {
            if people.iter().all(|person| person.load >= person.capacity) {
                break;
            }
            let state = self.engine.read().current(&row.stream).await?;
            let Some(State::Conversation(conversation)) = state.as_deref() else { continue };
            let Some(transfer) = conversation.open_transfer() else { continue };
            let now = self.engine.clock.now();
            let Some(chosen) = whom(conversation, transfer, &settings, &people, now) else {
                continue;
            };
            let ring = transfer::Command::Ring { transfer: transfer.id, agent: chosen.clone() };
            let has_rung = self.submit_transfer(row.stream, ring).await?;
            let person = people.iter_mut().find(|person| person.agent == chosen);
            let person = person.expect("the chosen person is one of them");
            person.load += 1;
            if has_rung {
                person.last_assigned_at = now;
                self.engine.roster.lock().await.assigned(teamspace, &chosen, now);
                n_offered += 1;
            }
        }
        Ok(n_offered)
    }

    /// Whether the command was accepted. If the state has changed meanwhile, it was not, and the
    /// next round sees the new state.
    async fn submit_transfer(
        self,
        stream: Stream,
        command: transfer::Command,
    ) -> Result<bool, SubmitError> {
        let caller = Caller::system(stream.teamspace.clone());
        let command = Command::Conversation(conversation::Command::Transfer(command));
        match self.engine.submit(&caller, stream, command, None).await {
            Ok(_) => Ok(true),
            Err(SubmitError::Rejected(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn is_departure(entry: &Entry) -> bool {
    ["agent.lost", "agent.connection_lost", "agent.presence_changed"].contains(&entry.name.as_ref())
}

/// The person to offer a transfer to: never one who declined it or takes part in it, and one who
/// missed an earlier offer only if there is no other.
fn whom(
    conversation: &Conversation,
    transfer: &Transfer,
    settings: &Settings,
    people: &[Candidate],
    now: Time,
) -> Option<AgentId> {
    let terms = &transfer.terms;
    // The queue's requirements are those of the queue in which it waits now.
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
