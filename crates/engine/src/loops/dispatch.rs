//! The dispatch loop offers waiting conversations to people. The conversations of a person who has
//! gone offline go back to their place in the queue. The loop follows the ledger, and acts through
//! ordinary commands; of two concurrent decisions, the commit lets one through. The teamspaces take
//! turns.

mod flow;
mod looks;
mod roster;
mod service_times;
mod shift;

use std::convert::Infallible;
use std::sync::Arc;

use protocol::caller::Caller;
use protocol::conversation;
use protocol::entry_names::is_of_transfer;
use protocol::ids::{AgentId, TeamspaceId};
use protocol::ledger::{Entry, Stream, Subject};
use protocol::step::Command;
use protocol::time::Span;
use protocol::transfer;
use tokio::sync::watch;

use crate::Engine;
use crate::ledger::backlog::Done;
use crate::ledger::durable_follower::{self, Begins, DurableFollower, Loop};
use crate::ledger::feed::{Followed, is_full};
use crate::loops::Queues;
use crate::ports::store::{ConversationFilter, ListOf, StoreError, StoreReads};
use crate::read::query::LIST_ROWS_MAX;
use crate::road::submit::SubmitError;

pub use flow::Flows;
use looks::Looks;
pub use roster::Roster;
pub use service_times::{BOUNDS, Histogram};
pub use shift::Shift;

/// The pause is too short to be noticed.
const LOOP: Loop = Loop {
    name: "dispatch",
    begins: Begins::AtTheFirstEntry,
    pause: Span::from_millis(20),
    wants: is_departure,
};

/// How often the loop looks while a conversation waits: its requirements are relaxed with time.
const LOOK_EVERY: Span = Span::from_millis(1_000);

/// How many teamspaces are read at once.
const TEAMSPACES_READ: usize = 200;

pub(crate) async fn run(engine: Engine, stopped: watch::Receiver<bool>) {
    durable_follower::run(&engine, LOOP, stopped, || engine.queues().dispatch_as_it_happens())
        .await;
}

impl Queues<'_> {
    /// Processes all new entries, takes conversations back from people who are offline, and offers
    /// what waits. Returns how many offers it made. For programs without loops, and for tests.
    pub async fn dispatch_due(self) -> Result<usize, SubmitError> {
        let mut follower = self.engine.follow_durably(LOOP).await?;
        let mut looks = self.look_everywhere().await?;
        let mut n_offered = 0;
        loop {
            let page = follower.read_available().await?;
            self.take_notes(&mut follower, page, &mut looks).await?;
            let has_lost = self.lose_some(&mut follower, &mut looks).await?;
            n_offered += self.look_on(&mut looks).await?;
            if !has_lost && !looks.is_due() {
                return Ok(n_offered);
            }
        }
    }

    async fn dispatch_as_it_happens(self) -> Result<Infallible, SubmitError> {
        let clock = &self.engine.clock;
        self.engine.flows.begin_after(self.engine.ledger().newest().await?);
        let mut follower = self.engine.follow_durably(LOOP).await?;
        let mut looks = self.look_everywhere().await?;
        let mut looked_at = clock.now();
        loop {
            let page = match looks.is_due() {
                true => follower.read_available().await?,
                false => tokio::select! {
                    page = follower.read_on() => page?,
                    () = clock.sleep(LOOK_EVERY), if looks.is_somebody_waiting() => Vec::new(),
                },
            };
            self.take_notes(&mut follower, page, &mut looks).await?;
            self.lose_some(&mut follower, &mut looks).await?;
            let now = clock.now();
            if now.since(looked_at) >= LOOK_EVERY || now < looked_at {
                looked_at = now;
                looks.look_where_somebody_waits();
            }
            self.look_on(&mut looks).await?;
        }
    }

    /// Takes note of a page, and of those that follow at once.
    async fn take_notes(
        self,
        follower: &mut DurableFollower,
        mut page: Vec<Arc<Followed>>,
        looks: &mut Looks,
    ) -> Result<(), SubmitError> {
        loop {
            for followed in &page {
                self.take_note(followed, looks);
                self.measure(followed).await?;
            }
            if !is_full(&page) {
                return Ok(());
            }
            page = follower.read_available().await?;
        }
    }

    /// Somebody waits, or has become free, or is gone: the queues are looked through.
    fn take_note(self, followed: &Followed, looks: &mut Looks) {
        let entry = &followed.sequenced.entry;
        let teamspace = &entry.stream.teamspace;
        match &entry.stream.subject {
            Subject::Agent(id) => self.engine.roster.forget(teamspace, id),
            Subject::Conversation(_) if is_of_transfer(&entry.name) => {
                self.engine.roster.apply(entry);
                self.engine.flows.apply(entry);
            }
            Subject::Conversation(_)
            | Subject::Handoff(_)
            | Subject::Token(_)
            | Subject::Graph(_)
            | Subject::Subscription(_)
            | Subject::Session(_)
            | Subject::File(_)
            | Subject::Webhook(_)
            | Subject::Question(_)
            | Subject::Message(_)
            | Subject::Teamspace
            | Subject::Ledger => return,
        }
        looks.look_in(teamspace);
    }

    /// Counts the first answer and the end of a transfer.
    async fn measure(self, followed: &Followed) -> Result<(), StoreError> {
        let (seq, entry) = (followed.seq(), &followed.sequenced.entry);
        let flows = &self.engine.flows;
        let Some(transfer) = flows.measured(seq, entry) else { return Ok(()) };
        let row = self.engine.read().transfer(&entry.stream.teamspace, transfer).await?;
        if let Some(row) = row {
            flows.count(seq, entry, &row.record);
        }
        Ok(())
    }

    /// One turn of a teamspace whose people may be gone. Returns whether there was one.
    async fn lose_some(
        self,
        follower: &mut DurableFollower,
        looks: &mut Looks,
    ) -> Result<bool, SubmitError> {
        let turn = follower.turn().await?;
        let mut done = Done::default();
        for followed in &turn {
            let Stream { teamspace, subject } = &followed.sequenced.entry.stream;
            let mut n_lost = 0;
            if let Subject::Agent(id) = subject
                && self.is_gone(teamspace, id).await?
            {
                n_lost = self.lose(teamspace, id).await?;
                looks.look_in(teamspace);
            }
            if !done.goes_on_after(n_lost) {
                break;
            }
        }
        follower.done(done).await?;
        Ok(!turn.is_empty())
    }

    /// At the start nobody knows who waits.
    async fn look_everywhere(self) -> Result<Looks, SubmitError> {
        let (mut looks, mut after) = (Looks::default(), None);
        loop {
            let page = self.engine.store.teamspaces(after.as_ref(), TEAMSPACES_READ).await?;
            page.iter().for_each(|teamspace| looks.look_in(teamspace));
            match page.into_iter().next_back() {
                Some(last) => after = Some(last),
                None => return Ok(looks),
            }
        }
    }

    async fn is_gone(self, teamspace: &TeamspaceId, id: &AgentId) -> Result<bool, SubmitError> {
        let agent = self.engine.agent(teamspace, id.clone()).await?;
        Ok(agent.is_some_and(|agent| agent.presence() == protocol::agent::Presence::Offline))
    }

    /// Puts everything that a person holds or is asked to take back into its queue. Returns how
    /// many conversations these are; a person has few at once.
    async fn lose(self, teamspace: &TeamspaceId, agent: &AgentId) -> Result<usize, SubmitError> {
        let mut n_lost = 0;
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
                    n_lost += 1;
                }
                match page.next {
                    Some(next) => before = Some(next),
                    None => break,
                }
            }
        }
        Ok(n_lost)
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

/// Whether a person may not be reachable any more.
fn is_departure(entry: &Entry) -> bool {
    ["agent.lost", "agent.connection_lost", "agent.presence_changed"].contains(&entry.name.as_ref())
}
