//! Questions to humans: which wait for a caller, and waiting for an answer.

use std::collections::HashMap;
use std::sync::Arc;

use protocol::agent::{Agent, Kind};
use protocol::caller::{Caller, Principal};
use protocol::ids::{AgentId, QuestionId};
use protocol::ledger::{Stream, Subject};
use protocol::question::Question;
use protocol::session::Session;
use protocol::step::State;
use protocol::time::Span;
use protocol::visibility::details::serves;

use crate::ports::store::{ListOf, StoreError};
use crate::read::query::{Item, LIST_ROWS_MAX, Page};
use crate::read::reading::ROWS_LOOKED_THROUGH_MAX;
use crate::read::{Access, Read};

/// How long a read waits for an answer: a minute is what proxies allow, and half of it is safe.
pub const ANSWER_WAIT_MAX: Span = Span::from_millis(25_000);

/// Open questions of a teamspace that are looked through for one list. It is the quota of a
/// teamspace; with a larger quota, those asked by the names that sort last are not found until
/// others are answered.
pub const OPEN_QUESTIONS_MAX: usize = 10_000;

/// Questions that wait for a caller, the one asked first at the beginning.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    pub items: Vec<Item>,
    /// The last question of this page, if there are more.
    pub next: Option<QuestionId>,
}

impl Access<'_> {
    /// The questions that the caller may read and that the filter keeps, the newest first.
    pub async fn questions(
        self,
        caller: &Caller,
        before: Option<u64>,
        limit: usize,
        keeps: impl Fn(&Question) -> bool,
    ) -> Result<Page, StoreError> {
        let keep = |state: &State| state.as_question().is_some_and(&keeps);
        self.list_kept(caller, ListOf::Questions, before, limit, keep).await
    }

    /// The kind of the caller in the directory.
    pub async fn kind_of(self, caller: &Caller) -> Result<Option<Kind>, StoreError> {
        Ok(self.own(caller).await?.map(|own| own.kind))
    }

    /// The open questions that ask the caller, or a queue of which it is a human. An operator is
    /// the human of the same name, if the directory has one.
    pub async fn questions_waiting_for(
        self,
        caller: &Caller,
        after: Option<QuestionId>,
        limit: usize,
    ) -> Result<Waiting, StoreError> {
        let limit = limit.clamp(1, LIST_ROWS_MAX);
        let Some(own) = self.human(caller).await? else { return Ok(Waiting::default()) };
        let engine = self.engine;
        let keys = engine.store.held(&caller.teamspace, "question/", OPEN_QUESTIONS_MAX).await?;
        let mut asks: HashMap<String, bool> = HashMap::new();
        let mut ids: Vec<QuestionId> = Vec::new();
        for key in &keys {
            let mut parts = key.splitn(3, '/').skip(1);
            let (Some(to), Some(id)) = (parts.next(), parts.next()) else { continue };
            let (Ok(name), Ok(id)) = (to.parse::<AgentId>(), id.parse::<QuestionId>()) else {
                continue;
            };
            let is_asked = match asks.get(to) {
                Some(known) => *known,
                None => {
                    let queue = engine.agent(&caller.teamspace, name.clone()).await?;
                    let is_asked = name == own.id || queue.is_some_and(|it| serves(&own, &it));
                    asks.insert(to.to_owned(), is_asked);
                    is_asked
                }
            };
            if is_asked && after.is_none_or(|after| id > after) {
                ids.push(id);
            }
        }
        ids.sort_unstable();
        let has_more = ids.len() > limit;
        ids.truncate(limit);
        let mut waiting = Waiting { items: Vec::new(), next: ids.last().copied() };
        for id in ids {
            let subject = Subject::Question(id);
            let stream = Stream { teamspace: caller.teamspace.clone(), subject };
            let Some(item) = engine.read().item(&stream).await? else { continue };
            let is_open = item.state.as_question().is_some_and(Question::is_open);
            // The asker may be a human of the queue; it does not answer itself.
            let is_own = item.state.as_question().is_some_and(|it| *it.asker() == own.id);
            if is_open && !is_own {
                waiting.items.push(item);
            }
        }
        waiting.next = waiting.next.filter(|_| has_more);
        Ok(waiting)
    }

    /// The sessions with open questions of agents that the caller may answer, the newest first, at
    /// most `limit`. Only the newest sessions are looked through.
    pub async fn sessions_waiting_for(
        self,
        caller: &Caller,
        limit: usize,
    ) -> Result<Vec<(Stream, Session)>, StoreError> {
        if self.human(caller).await?.is_none() {
            return Ok(Vec::new());
        }
        let (mut found, mut before, mut n_looked_through) = (Vec::new(), None, 0);
        while n_looked_through < ROWS_LOOKED_THROUGH_MAX {
            let read = self.engine.read();
            let page = read.list(&caller.teamspace, ListOf::Sessions, before, LIST_ROWS_MAX);
            let page = page.await?;
            n_looked_through += LIST_ROWS_MAX;
            for item in page.items {
                let State::Session(session) = item.state.as_ref() else { continue };
                let is_own = caller.agent() == Some(&session.producer);
                if session.machine.pending().is_empty() || is_own || found.len() == limit {
                    continue;
                }
                if self.engine.listeners().may_hear(caller, session).await? {
                    found.push((item.stream.clone(), Session::clone(session)));
                }
            }
            before = page.next;
            if before.is_none() || found.len() == limit {
                break;
            }
        }
        Ok(found)
    }

    /// The human behind a caller, as the directory has it.
    async fn human(self, caller: &Caller) -> Result<Option<Agent>, StoreError> {
        let name = match &caller.principal {
            Principal::Agent(name) | Principal::Operator(name) => name.clone(),
            Principal::Customer(_) | Principal::System => return Ok(None),
        };
        let own = self.engine.agent(&caller.teamspace, name).await?;
        Ok(own.filter(|own| own.kind == Kind::Human))
    }

    /// Whether the caller is a human of the queue that a question asks.
    pub(super) async fn serves_asked_queue(
        self,
        caller: &Caller,
        question: &Question,
    ) -> Result<bool, StoreError> {
        let Some(queue) = question.queue() else { return Ok(false) };
        let queue = self.engine.agent(&caller.teamspace, queue.clone()).await?;
        let own = self.own(caller).await?;
        Ok(own.zip(queue).is_some_and(|(own, queue)| serves(&own, &queue)))
    }
}

impl Read<'_> {
    /// The state of a question once it is settled, or the wait is over.
    pub async fn question_settled(
        self,
        stream: &Stream,
        wait: Span,
    ) -> Result<Option<Arc<State>>, StoreError> {
        let mut bell = self.engine.ledger().settled_bell();
        let until = self.engine.clock.sleep(wait.min(ANSWER_WAIT_MAX));
        tokio::pin!(until);
        loop {
            // The bell is checked before reading, so an entry that arrives in between rings it
            // again.
            bell.borrow_and_update();
            let found = self.current(stream).await?;
            let question = found.as_deref().and_then(State::as_question);
            if !question.is_some_and(Question::is_open) {
                return Ok(found);
            }
            tokio::select! {
                () = &mut until => return Ok(found),
                rung = bell.changed() => rung.map_err(|_| StoreError::Closed)?,
            }
        }
    }
}
