//! Whether a caller may read something. The rules are in [`protocol::visibility`]; this module
//! looks up the facts that they need, and lists what a caller may read.

use std::sync::Arc;

use protocol::agent::{Agent, Kind};
use protocol::caller::{Caller, Role};
use protocol::codec;
use protocol::conversation::Conversation;
use protocol::conversation::reader::Reader;
use protocol::handoff::readers::Readers;
use protocol::handoff::waits::{OpenFilter, WaitingFor};
use protocol::handoff::{Handoff, Package, derive};
use protocol::ids::{AgentId, HandoffId, TaskId, TeamspaceId};
use protocol::ledger::{Entry, Stream, Subject};
use protocol::rejection::{Conflict, Rejection};
use protocol::step::{Event, State};
use protocol::transfer::Transfer;
use protocol::visibility::{self, EntrySight, Sight, details};

use crate::ports::store::{HandoffFilter, List, ListOf, StoreError};
use crate::read::Access;
use crate::read::query::{Item, LIST_ROWS_MAX, Page};

/// Rows that are looked through for one page. Past this the page ends early and its cursor
/// continues, so the cost of a request does not grow with the rows that the caller may not read.
pub const ROWS_LOOKED_THROUGH_MAX: usize = 1_000;

/// The event that an entry records; `None` once it is erased.
pub fn recorded(entry: &Entry) -> Option<Event> {
    codec::decode(&entry.name, entry.version, entry.body.text()?).ok()
}

impl Access<'_> {
    pub async fn may_read(
        self,
        caller: &Caller,
        stream: &Stream,
        state: &State,
    ) -> Result<bool, StoreError> {
        // A caller who may read what is private may read it whatever it is.
        if visibility::of(caller, state, Readers::Private) == Sight::Yes {
            return Ok(true);
        }
        let readers = self.readers_of(stream, state).await?;
        let sight = visibility::of(caller, state, readers);
        if let (Sight::IfInQueue, State::Question(question)) = (sight, state) {
            return self.serves_asked_queue(caller, question).await;
        }
        self.settled_sight(caller, sight).await
    }

    /// Whether a caller sees a transfer of a conversation, and its bundle.
    pub async fn may_read_transfer(
        self,
        caller: &Caller,
        conversation: &Conversation,
        transfer: Option<&Transfer>,
    ) -> Result<bool, StoreError> {
        let queue = match transfer.and_then(Transfer::waiting) {
            Some(waiting) => self.engine.agent(&caller.teamspace, waiting.queue.clone()).await?,
            None => None,
        };
        let own = self.own(caller).await?;
        Ok(details::sees_transfer(caller, conversation, own.as_ref(), queue.as_ref()))
    }

    /// Whether a caller sees who waits in a queue.
    pub async fn sees_who_waits(self, caller: &Caller, queue: &Agent) -> Result<bool, StoreError> {
        let own = self.own(caller).await?;
        Ok(details::sees_who_waits(caller, own.as_ref(), queue))
    }

    /// The caller in the directory.
    pub(super) async fn own(self, caller: &Caller) -> Result<Option<Agent>, StoreError> {
        match caller.agent() {
            Some(own) => self.engine.agent(&caller.teamspace, own.clone()).await,
            None => Ok(None),
        }
    }

    /// The same for the current state of a stream; one that does not exist cannot be read.
    pub async fn may_read_stream(
        self,
        caller: &Caller,
        stream: &Stream,
    ) -> Result<bool, StoreError> {
        match self.engine.read().current(stream).await? {
            Some(state) => self.may_read(caller, stream, &state).await,
            None => Ok(false),
        }
    }

    pub async fn may_read_entry(self, caller: &Caller, entry: &Entry) -> Result<bool, StoreError> {
        self.may_read_event(caller, entry, recorded(entry).as_ref()).await
    }

    /// The same for an entry whose event is known; `None` once it is erased.
    pub async fn may_read_event(
        self,
        caller: &Caller,
        entry: &Entry,
        event: Option<&Event>,
    ) -> Result<bool, StoreError> {
        match visibility::of_entry(caller, entry, event) {
            EntrySight::Yes => Ok(true),
            EntrySight::No => Ok(false),
            EntrySight::IfPerson => {
                let kind = self.own(caller).await?.map(|own| own.kind);
                Ok(Reader::of(caller, kind) == Reader::Person)
            }
            EntrySight::AsQuestion => self.may_read_stream(caller, &entry.stream).await,
            EntrySight::AsHandoff { part } => {
                let may_read = self.may_read_stream(caller, &entry.stream).await?;
                match part {
                    Some(part) if may_read => {
                        let part = handoff_stream(&entry.stream.teamspace, part);
                        self.may_read_stream(caller, &part).await
                    }
                    Some(_) | None => Ok(may_read),
                }
            }
        }
    }

    /// A list of what the caller may read: a full page, unless there are no more rows or too many
    /// between them are not readable.
    pub async fn list_for(
        self,
        caller: &Caller,
        of: ListOf,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.list_kept(caller, of, before, limit, |_| true).await
    }

    /// The open handoffs that the caller may read and that the filter keeps.
    pub async fn open_handoffs(
        self,
        caller: &Caller,
        of: HandoffFilter,
        filter: &OpenFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let kind = self.own(caller).await?.map(|own| own.kind);
        let now = self.engine.clock.now();
        let keep = |state: &State| {
            let State::Handoff(handoff) = state else { return false };
            filter.keeps(handoff, caller, kind, now)
        };
        let party = only_party(filter, caller, kind);
        let of = ListOf::Handoffs(HandoffFilter { is_open: true, party, ..of });
        self.list_kept(caller, of, before, limit, keep).await
    }

    pub(super) async fn list_kept(
        self,
        caller: &Caller,
        of: ListOf,
        mut before: Option<u64>,
        limit: usize,
        keep: impl Fn(&State) -> bool,
    ) -> Result<Page, StoreError> {
        let limit = limit.clamp(1, LIST_ROWS_MAX);
        let mut items = Vec::new();
        let mut n_looked_through = 0;
        // One row more than asked for tells whether there is a next page.
        let mut n_wanted = limit + 1;
        while n_looked_through < ROWS_LOOKED_THROUGH_MAX {
            let teamspace = caller.teamspace.clone();
            let list = List { teamspace, of: of.clone(), before, limit: n_wanted };
            let rows = self.engine.store.list(list).await?;
            let is_end = rows.len() < n_wanted;
            for row in rows {
                if items.len() == limit {
                    return Ok(Page { items, next: before });
                }
                n_looked_through += 1;
                before = Some(row.row);
                let Some(state) = self.engine.read().listed_state(&row).await? else { continue };
                if !keep(&state) {
                    continue;
                }
                let state = Arc::new(state);
                if self.may_read(caller, &row.stream, &state).await? {
                    let (stream, position, changed_at) = (row.stream, row.position, row.at);
                    items.push(Item { stream, state, position, changed_at });
                }
            }
            if is_end {
                return Ok(Page { items, next: None });
            }
            n_wanted = LIST_ROWS_MAX;
        }
        Ok(Page { items, next: before })
    }

    /// The refusal as the caller may read it: a conflict about a task that the caller may not read
    /// names no agent.
    pub(crate) async fn withheld(
        self,
        caller: &Caller,
        teamspace: &TeamspaceId,
        rejection: Rejection,
    ) -> Result<Rejection, StoreError> {
        let Rejection::OwnershipConflict { task_id, .. } = &rejection else {
            return Ok(rejection);
        };
        if self.may_know_owners(caller, teamspace, task_id).await? {
            return Ok(rejection);
        }
        let (task_id, conflict) = (task_id.clone(), Conflict::Withheld);
        Ok(Rejection::OwnershipConflict { task_id, conflict })
    }

    async fn may_know_owners(
        self,
        caller: &Caller,
        teamspace: &TeamspaceId,
        task_id: &TaskId,
    ) -> Result<bool, StoreError> {
        let hold = self.engine.hold(teamspace, &derive::task_key(task_id)).await?;
        if let Some(holder) = hold.holder.as_deref().and_then(|id| id.parse().ok()) {
            return self.may_read_stream(caller, &handoff_stream(teamspace, holder)).await;
        }
        let task = hold.value.as_deref().map(derive::decode_task).unwrap_or_default();
        self.settled_sight(caller, visibility::of_task(caller, &task)).await
    }

    /// Who may read a handoff. The first releases did not record it; then it is read from the
    /// package. If the package was erased, the most private rule applies.
    async fn readers_of(self, stream: &Stream, state: &State) -> Result<Readers, StoreError> {
        let State::Handoff(handoff) = state else { return Ok(Readers::Team) };
        let Handoff::Made(made) = handoff.as_ref() else { return Ok(Readers::Team) };
        if let Some(recorded) = derive::readers(made) {
            return Ok(recorded);
        }
        let text = self.engine.read().document(stream, &made.terms.package_hash).await?;
        let package = text.and_then(|text| serde_json::from_str::<Package>(&text).ok());
        Ok(package.map_or(Readers::Private, |package| Readers::of(&package.policy)))
    }

    async fn settled_sight(self, caller: &Caller, sight: Sight) -> Result<bool, StoreError> {
        match sight {
            Sight::Yes => Ok(true),
            // Only a question is seen so, and it was looked at before.
            Sight::No | Sight::IfInQueue => Ok(false),
            Sight::IfHuman => {
                let Some(agent) = caller.agent().cloned() else { return Ok(false) };
                let agent = self.engine.agent(&caller.teamspace, agent).await?;
                Ok(agent.is_some_and(|agent| agent.kind == Kind::Human))
            }
        }
    }
}

/// The only agent whose handoffs a filter can keep, if there is one. What waits for an agent is
/// found among those that it sent or got.
fn only_party(filter: &OpenFilter, caller: &Caller, kind: Option<Kind>) -> Option<AgentId> {
    match &filter.waiting_for {
        Some(WaitingFor::Agent(agent)) => Some(agent.clone()),
        Some(WaitingFor::Caller) if may_act_for_others(caller, kind) => None,
        Some(WaitingFor::Caller) => caller.agent().cloned(),
        Some(WaitingFor::Role(_)) | None => None,
    }
}

/// Whether handoffs between other agents can wait for it.
fn may_act_for_others(caller: &Caller, kind: Option<Kind>) -> bool {
    kind == Some(Kind::Human) || caller.is_coordinator() || caller.roles.contains(&Role::Reviewer)
}

pub(super) fn handoff_stream(teamspace: &TeamspaceId, id: HandoffId) -> Stream {
    Stream { teamspace: teamspace.clone(), subject: Subject::Handoff(id) }
}
