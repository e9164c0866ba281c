//! The invariants of every step, checked from the ledger and from the answers of the engines. With
//! several sides it also compares them; with one, the promises alone must do.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::sync::Arc;

use engine::ports::outbox::OutboxList;
use engine::ports::store::{HandoffFilter, KeyScope, List, ListOf, Sequenced, StoreReads};
use engine::road::submit::{Done, SubmitError};
use protocol::canonical::Hash;
use protocol::handoff::{Handoff, Made, Status, derive};
use protocol::ids::{AgentId, HandoffId, TaskId, TeamspaceId};
use protocol::ledger::{Stream, Subject};
use protocol::rejection::{Conflict, Rejection};
use protocol::step::{HoldState, State};
use protocol::time::Time;

use super::chats::Chats;
use super::post::Post;
use super::script::{Asked, TASKS, TEAMSPACES, names, secret};
use super::side::Side;
use crate::support::{all_after, id, start};

#[derive(Default)]
pub struct Watch {
    /// The newest sequence number that was checked.
    cursor: u64,
    latest: Option<Time>,
    /// The end of each stream, as its entries tell.
    places: BTreeMap<Stream, Place>,
    states: BTreeMap<Stream, Arc<State>>,
    /// Streams that changed since the last crash.
    touched: BTreeSet<Stream>,
    active: BTreeMap<(TeamspaceId, TaskId), BTreeSet<Stream>>,
    holds: BTreeMap<(TeamspaceId, TaskId), HoldState>,
    post: Post,
    chats: Chats,
    /// The answer under each key.
    answers: HashMap<KeyScope, (Hash, Done)>,
}

#[derive(Default)]
struct Place {
    position: u64,
    head: Hash,
    at: Option<Time>,
    /// Nothing has happened since the last escalation.
    has_escalated: bool,
    is_erased: bool,
}

/// An error unless all sides said the same.
pub fn same<T: Debug>(what: &str, said: &[T]) -> Result<(), String> {
    let texts: Vec<String> = said.iter().map(|one| format!("{one:?}")).collect();
    if texts.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    Err(format!("the sides have different {what}:\n{}", texts.join("\n")))
}

/// The result of a command, by name.
pub fn results(answer: &Result<Done, SubmitError>, n_new: usize) -> Vec<String> {
    let refused = |done: &Done| done.outcome.refused.as_ref().map(|gate| gate.code.clone());
    match answer {
        Ok(_) if n_new == 0 => vec!["nothing".to_owned()],
        Ok(done) => {
            let gate = refused(done).map(|code| format!("gate: {code}"));
            [Some("ok".to_owned()), gate].into_iter().flatten().collect()
        }
        Err(SubmitError::Rejected(Rejection::OwnershipConflict { conflict, .. })) => {
            let kind = match conflict {
                Conflict::Active { .. } => "conflict: active",
                Conflict::Cycle { .. } => "conflict: cycle",
                Conflict::NotPrevious { .. } => "conflict: not previous",
                Conflict::NotOwner { .. } => "conflict: not owner",
                Conflict::TooManyHops { .. } => "conflict: too many hops",
                Conflict::Withheld => "conflict: withheld",
            };
            vec!["ownership_conflict".to_owned(), kind.to_owned()]
        }
        Err(_) => vec![crate::support::code(answer).to_owned()],
    }
}

impl Watch {
    pub fn state(&self, stream: &Stream) -> Option<&Arc<State>> {
        self.states.get(stream)
    }

    pub fn position(&self, stream: &Stream) -> u64 {
        self.places.get(stream).map_or(0, |place| place.position)
    }

    /// The latest time in the ledger.
    pub fn latest(&self) -> Time {
        self.latest.unwrap_or_else(start)
    }

    pub fn status_of(&self, stream: &Stream) -> &'static str {
        match self.state(stream).map(AsRef::as_ref) {
            None => "none",
            Some(State::Handoff(handoff)) => handoff.status().as_str(),
            Some(State::Agent(_)) => "agent",
            Some(State::Ledger(_)) => "ledger",
            Some(State::Teamspace(_)) => "teamspace",
            Some(
                State::Graph(_)
                | State::Subscription(_)
                | State::Webhook(_)
                | State::File(_)
                | State::Question(_),
            ) => "graph",
            Some(State::Session(_)) => "session",
            Some(State::Token(token)) if token.revoked_at.is_some() => "revoked",
            Some(State::Token(_)) => "token",
            Some(State::Message(message)) if message.purged => "purged",
            Some(State::Message(_)) => "message",
            Some(State::Conversation(_)) => "conversation",
        }
    }

    /// The owners of a task so far.
    pub fn owners(&self, teamspace: &TeamspaceId, task: &TaskId) -> Vec<AgentId> {
        let hold = self.holds.get(&(teamspace.clone(), task.clone()));
        let value = hold.and_then(|hold| hold.value.as_deref());
        value.map(derive::decode_chain).unwrap_or_default()
    }

    /// Reads the new entries of every side. Returns the names of the new events.
    pub async fn catch_up(&mut self, sides: &[Side]) -> Result<Vec<String>, String> {
        let mut news = Vec::new();
        for side in sides {
            let read = all_after(&*side.store, self.cursor).await;
            news.push(read.map_err(|error| error.to_string())?);
        }
        same("entries", &news)?;
        let news = news.swap_remove(0);
        let mut changed = BTreeSet::new();
        for kept in &news {
            self.look_at(kept)?;
            changed.insert(kept.entry.stream.clone());
        }
        for stream in &changed {
            self.look_at_state(stream, sides).await?;
            self.touched.insert(stream.clone());
        }
        for stream in &changed {
            self.look_at_handoff(stream, sides).await?;
            self.look_at_parts(stream)?;
        }
        self.post.look_at_counts(sides).await?;
        Ok(news.into_iter().map(|kept| kept.entry.name.into_owned()).collect())
    }

    /// Checks one more entry: numbered without a gap, chained to the one before, escalated once.
    fn look_at(&mut self, kept: &Sequenced) -> Result<(), String> {
        let entry = &kept.entry;
        self.cursor += 1;
        if kept.seq != self.cursor {
            return Err(format!("entry {} comes after entry {}", kept.seq, self.cursor - 1));
        }
        self.latest = self.latest.max(Some(entry.at));
        let place = self.places.entry(entry.stream.clone()).or_default();
        if entry.position != place.position + 1 || entry.hash != entry.expected_hash(&place.head) {
            return Err(format!(
                "the chain of {} breaks at entry {}",
                entry.stream.subject, kept.seq
            ));
        }
        if entry.at < place.at.unwrap_or(entry.at) {
            return Err(format!("time goes backwards in {}", entry.stream.subject));
        }
        // A recall has a limit of its own.
        let body = entry.body.text().unwrap_or_default();
        let is_of_recall = body.contains(r#""trigger":"recall""#);
        let is_escalation = entry.name == "handoff.escalated" && !is_of_recall;
        if is_escalation && place.has_escalated {
            return Err(format!("{} escalates a stage twice", entry.stream.subject));
        }
        place.position = entry.position;
        place.head = entry.hash;
        place.at = Some(entry.at);
        place.has_escalated = is_escalation || is_of_recall && place.has_escalated;
        place.is_erased |= entry.name == "ledger.erased";
        self.chats.look_at(kept)?;
        self.post.look_at(entry)
    }

    async fn look_at_state(&mut self, stream: &Stream, sides: &[Side]) -> Result<(), String> {
        let mut states = Vec::new();
        for side in sides {
            let state =
                side.engine.read().current(stream).await.map_err(|error| error.to_string())?;
            states.push(state.ok_or_else(|| format!("{} has no state", stream.subject))?);
        }
        same("states", &states)?;
        let state = states.swap_remove(0);
        self.states.insert(stream.clone(), Arc::clone(&state));
        if let Some(made) = self.made(stream) {
            let key = (stream.teamspace.clone(), made.terms.task_id.clone());
            let is_active = made.stage.status().is_active();
            let active = self.active.entry(key).or_default();
            match is_active {
                true => active.insert(stream.clone()),
                false => active.remove(stream),
            };
        }
        match self.state(stream).map(Arc::clone).as_deref() {
            Some(State::Message(message)) => self.post.look_at_state(stream, message),
            Some(State::Conversation(chat)) => self.chats.look_at_state(stream, chat),
            Some(_) | None => Ok(()),
        }
    }

    fn made(&self, stream: &Stream) -> Option<&Made> {
        match self.state(stream)?.as_ref() {
            State::Handoff(handoff) => match handoff.as_ref() {
                Handoff::Made(made) => Some(made),
                Handoff::Draft(_) | Handoff::Discarded { .. } => None,
            },
            State::Agent(_)
            | State::Token(_)
            | State::Ledger(_)
            | State::Message(_)
            | State::Conversation(_)
            | State::Graph(_)
            | State::Subscription(_)
            | State::File(_)
            | State::Webhook(_)
            | State::Question(_)
            | State::Session(_)
            | State::Teamspace(_) => None,
        }
    }

    /// A handoff waits for exactly its delegated parts.
    fn look_at_parts(&self, stream: &Stream) -> Result<(), String> {
        let Some(made) = self.made(stream) else { return Ok(()) };
        let other = |id: HandoffId| {
            let subject = Subject::Handoff(id);
            self.made(&Stream { teamspace: stream.teamspace.clone(), subject })
        };
        let is_active = |made: &Made| made.stage.status().is_active();
        if let Some(whole) = made.terms.parent.and_then(other)
            && whole.stage.status() != Status::Closed
            && is_active(made) != whole.delegations.open.contains(&made.terms.id)
        {
            return Err(format!("{} and its whole do not agree", stream.subject));
        }
        let is_at_an_end = !is_active(made) && made.stage.status() != Status::Closed;
        if is_at_an_end && !made.delegations.open.is_empty() {
            return Err(format!("{} is at an end before its parts", stream.subject));
        }
        Ok(())
    }

    /// One active handoff per task, which holds it, and a chain without repeated agents.
    async fn look_at_handoff(&mut self, stream: &Stream, sides: &[Side]) -> Result<(), String> {
        let Some(made) = self.made(stream).cloned() else { return Ok(()) };
        let (teamspace, task) = (&stream.teamspace, &made.terms.task_id);
        let active = self.active.entry((teamspace.clone(), task.clone())).or_default();
        if active.len() > 1 {
            return Err(format!("task {task} has {} active handoffs", active.len()));
        }
        let holder = active.iter().next().map(|stream| stream.subject.id());
        let mut holds = Vec::new();
        for side in sides {
            let hold = side.store.hold(teamspace, &derive::task_key(task)).await;
            holds.push(hold.map_err(|error| error.to_string())?);
        }
        same("holds", &holds)?;
        let hold = holds.swap_remove(0);
        if hold.holder != holder {
            return Err(format!("task {task} is held by {:?}, not {holder:?}", hold.holder));
        }
        self.holds.insert((teamspace.clone(), task.clone()), hold);
        for chain in [self.owners(teamspace, task), made.terms.chain.clone()] {
            let owners: BTreeSet<_> = chain.iter().collect();
            if owners.len() != chain.len() || chain.is_empty() {
                return Err(format!("task {task} has the owners {}", names(&chain)));
            }
        }
        Ok(())
    }

    /// Whether an answer is allowed, given the earlier answers.
    pub fn judge(
        &mut self,
        asked: &Asked,
        answer: &Result<Done, SubmitError>,
        n_new: usize,
    ) -> Result<(), String> {
        if answer.is_err() && n_new > 0 {
            return Err("a refusal left something in the ledger".to_owned());
        }
        let Some(key) = &asked.key else { return Ok(()) };
        let scope = KeyScope {
            teamspace: asked.caller.teamspace.clone(),
            caller: asked.caller.principal.to_string(),
            key: key.text.clone(),
        };
        match (self.answers.get(&scope), answer) {
            (None, Ok(done)) if n_new > 0 => {
                self.answers.insert(scope, (key.fingerprint, done.clone()));
                Ok(())
            }
            (None, _) => Ok(()),
            (Some((fingerprint, before)), Ok(done))
                if *fingerprint == key.fingerprint && before == done && n_new == 0 =>
            {
                Ok(())
            }
            (Some((fingerprint, _)), Err(SubmitError::KeyReused))
                if *fingerprint != key.fingerprint =>
            {
                Ok(())
            }
            (Some((_, before)), answer) => {
                Err(format!("a retry of {before:?} was answered {answer:?}, {n_new} new entries"))
            }
        }
    }

    /// Another process has started on what the last one left: everything must be there.
    pub async fn after_crash(&mut self, sides: &[Side]) -> Result<(), String> {
        for side in sides {
            let newest = side.store.newest().await.map_err(|error| error.to_string())?;
            if newest != self.cursor {
                return Err(format!("after a crash there are {newest} of {} entries", self.cursor));
            }
            for stream in &self.touched {
                let state =
                    side.engine.read().current(stream).await.map_err(|error| error.to_string())?;
                if state.as_ref() != self.states.get(stream) {
                    return Err(format!("after a crash {} is {state:?}", stream.subject));
                }
                let rebuilt = side.engine.read().rebuild(stream).await;
                match (self.places[stream].is_erased, rebuilt) {
                    (false, Ok(rebuilt)) if Some(&rebuilt) == state.as_deref() => {}
                    (true, Err(_)) => {}
                    (_, rebuilt) => {
                        return Err(format!("{} folds to {rebuilt:?}", stream.subject));
                    }
                }
            }
        }
        self.touched.clear();
        self.compare_everything(sides).await
    }

    /// What the stores have beside the ledger: deadlines, lists, documents, tokens.
    pub async fn compare_everything(&self, sides: &[Side]) -> Result<(), String> {
        let mut said = Vec::new();
        for side in sides {
            said.push(self.everything(side).await?);
        }
        same("tables", &said)
    }

    /// The outbox has what the states want, and nothing else.
    async fn outbox(&self, side: &Side) -> Result<String, String> {
        let mut lying = Vec::new();
        for teamspace in TEAMSPACES {
            let teamspace = teamspace.parse().expect("a teamspace");
            let outstanding = side.store.outstanding(&teamspace, OutboxList::All, usize::MAX).await;
            let outstanding = outstanding.map_err(|error| error.to_string())?;
            lying.extend(outstanding.into_iter().map(|one| (one.stream, one.effect)));
        }
        lying.sort();
        let mut wanted = Vec::new();
        for (stream, state) in &self.states {
            let effects = match state.as_ref() {
                State::Handoff(handoff) => derive::effects(handoff),
                State::Message(message) => message.effects(),
                State::Conversation(chat) => chat.effects(),
                State::Agent(_)
                | State::Token(_)
                | State::Ledger(_)
                | State::Graph(_)
                | State::Subscription(_)
                | State::File(_)
                | State::Webhook(_)
                | State::Question(_)
                | State::Session(_)
                | State::Teamspace(_) => {
                    continue;
                }
            };
            wanted.extend(effects.into_iter().map(|effect| (stream.clone(), effect)));
        }
        wanted.sort();
        if lying != wanted {
            return Err(format!("the outbox is {lying:?}, and the states want {wanted:?}"));
        }
        Ok(format!("{lying:?}\n"))
    }

    async fn everything(&self, side: &Side) -> Result<String, String> {
        let store = &side.store;
        let failed = |error: engine::ports::store::StoreError| error.to_string();
        let end = Time::from_millis(i64::MAX);
        let mut armed: Vec<(Stream, _)> = Vec::new();
        for due in store.due(end, usize::MAX).await.map_err(failed)? {
            armed.push((due.stream, due.deadline));
        }
        armed.sort();
        let mut derived: Vec<(Stream, _)> = Vec::new();
        for (stream, state) in &self.states {
            let deadlines = protocol::step::deadlines(state);
            derived.extend(deadlines.into_iter().map(|deadline| (stream.clone(), deadline)));
        }
        derived.sort();
        if armed != derived {
            return Err(format!("armed is {armed:?}, and from the states follows {derived:?}"));
        }
        let mut text = format!("{armed:?}\n{:?}\n", store.next_due().await);
        text.push_str(&self.outbox(side).await?);
        self.post.look_at_lists(side).await?;
        self.chats.look_at_transcripts(side).await?;
        for teamspace in TEAMSPACES {
            for of in lists() {
                let teamspace = teamspace.parse().expect("a teamspace");
                let list = List { teamspace, of, before: None, limit: 40 };
                for row in store.list(list).await.map_err(failed)? {
                    let (position, at) = (row.position, row.at);
                    text.push_str(&format!("{:?} {position} {at}\n", row.stream));
                }
            }
        }
        for (stream, state) in self.states.iter().rev().take(40) {
            if let State::Handoff(handoff) = state.as_ref() {
                let document = store.document(stream, handoff.document_hash()).await;
                text.push_str(&format!("{document:?}\n"));
            }
        }
        for number in 0..40 {
            let bearer =
                side.engine.access().authenticate(&secret(number)).await.map_err(failed)?;
            text.push_str(&format!("{bearer:?}\n"));
        }
        Ok(text)
    }
}

/// The lists that are compared: all of each kind, and each filter once.
fn lists() -> Vec<ListOf> {
    let none = HandoffFilter::default;
    let mut lists = vec![ListOf::Agents, ListOf::Tokens, ListOf::Handoffs(none())];
    for status in Status::ALL {
        lists.push(ListOf::Handoffs(HandoffFilter { status: Some(status), ..none() }));
    }
    for task in TASKS {
        let task_id = Some(task.parse().expect("a task id"));
        lists.push(ListOf::Handoffs(HandoffFilter { task_id, ..none() }));
    }
    let (from_agent, to_agent) = (Some(id("ann")), Some(id("bob")));
    lists.push(ListOf::Handoffs(HandoffFilter { from_agent, ..none() }));
    lists.push(ListOf::Handoffs(HandoffFilter { to_agent, ..none() }));
    lists
}
