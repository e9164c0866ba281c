//! The next command. About half are what a sensible caller would ask, so that handoffs make
//! progress; the rest are random commands by random callers. The script knows only its own commands
//! and what the watch has seen, so that a seed gives the same script on every side.

use std::collections::VecDeque;
use std::fmt;

use engine::ports::ids::{Ids, SeededIds};
use engine::road::submit::Key;
use protocol::agent::{Command as AgentCommand, Kind, Profile};
use protocol::caller::{Caller, Principal, Role};
use protocol::canonical;
use protocol::handoff::command::{Accept, Reject};
use protocol::handoff::package::{OfferedWorkState, Policy};
use protocol::handoff::sla::{SlaStage, Slas};
use protocol::handoff::{Command as HandoffCommand, Handoff, Offer, RejectReason, Status};
use protocol::ids::{AgentId, HandoffId, TeamspaceId, TokenId};
use protocol::ledger::{Stream, Subject};
use protocol::step::{Command, State};
use protocol::time::{Span, Time};
use protocol::token::{BearerKind, Command as TokenCommand, Grant};

use super::negotiation;
use super::watch::Watch;
use crate::support::{Random, agent, coordinator, id, offer, operator, start};

pub const TEAMSPACES: [&str; 2] = ["default", "north"];

pub const AGENTS: [(&str, Kind); 6] = [
    ("ann", Kind::Worker),
    ("bob", Kind::Worker),
    ("cy", Kind::Worker),
    ("dee", Kind::Human),
    ("desk", Kind::Queue),
    ("router", Kind::System),
];

pub const TASKS: [&str; 4] = ["t0", "t1", "t2", "t3"];

/// How many of the last requests may be repeated.
const RECENT_MAX: usize = 30;

/// Recent handoffs that sensible callers still refer to.
const CURRENT_MAX: usize = 10;

#[derive(Debug, Clone)]
pub enum Act {
    Submit(Box<Asked>),
    /// Checks for due deadlines.
    Fire,
    Move(Span),
    Crash,
}

#[derive(Debug, Clone)]
pub struct Asked {
    pub caller: Caller,
    pub stream: Stream,
    pub command: Command,
    pub key: Option<Key>,
}

pub struct Script {
    pub(super) random: Random,
    ids: SeededIds,
    handoffs: Vec<Stream>,
    tokens: Vec<Stream>,
    pub(super) messages: Vec<Stream>,
    pub(super) chats: Vec<Stream>,
    recent: VecDeque<(Asked, Time)>,
    pub(super) n_made: usize,
}

impl Script {
    pub fn new(seed: u64) -> Self {
        Self {
            random: Random::from_seed(!seed),
            ids: SeededIds::new(seed.rotate_left(32)),
            handoffs: Vec::new(),
            tokens: Vec::new(),
            messages: Vec::new(),
            chats: Vec::new(),
            recent: VecDeque::new(),
            n_made: 0,
        }
    }

    pub fn next(&mut self, watch: &Watch) -> Act {
        match self.random.below(100) {
            0..2 => Act::Crash,
            2..10 => Act::Move(self.jump()),
            10..14 => Act::Fire,
            14..24 => self.retry(watch).unwrap_or(Act::Fire),
            24..29 => self.agent_command(),
            29..34 => self.token_command(),
            34..61 => self.sensible(watch),
            61..73 => self.letter(watch),
            73..82 => self.chat(watch),
            _ => self.anything(watch),
        }
    }

    /// Remembers the command, for retries and for later commands.
    pub fn learn(&mut self, act: Act, watch: &Watch) {
        let Act::Submit(asked) = act else { return };
        if watch.state(&asked.stream).is_some() {
            let known = match asked.stream.subject {
                Subject::Handoff(_) => &mut self.handoffs,
                Subject::Token(_) => &mut self.tokens,
                Subject::Message(_) => &mut self.messages,
                Subject::Conversation(_) => &mut self.chats,
                Subject::Agent(_)
                | Subject::Ledger
                | Subject::Graph(_)
                | Subject::Subscription(_)
                | Subject::File(_)
                | Subject::Webhook(_)
                | Subject::Question(_)
                | Subject::Session(_)
                | Subject::Teamspace => {
                    return;
                }
            };
            let began = negotiation::begins(&asked.command);
            let began =
                began.map(|id| Stream { subject: Subject::Handoff(id), ..asked.stream.clone() });
            for stream in [Some(asked.stream.clone()), began].into_iter().flatten() {
                if watch.state(&stream).is_some() && !known.contains(&stream) {
                    known.push(stream);
                }
            }
        }
        // A retry does not renew its key.
        let Some(key) = asked.key.as_ref().map(|key| &key.text) else { return };
        let has_key = |recent: &Asked| recent.key.as_ref().is_some_and(|other| other.text == *key);
        if !self.recent.iter().any(|(recent, _)| has_key(recent)) {
            self.recent.push_back((*asked, watch.latest()));
            if self.recent.len() > RECENT_MAX {
                self.recent.pop_front();
            }
        }
    }

    fn jump(&mut self) -> Span {
        let minutes = [1, 6, 11, 16, 61, 25 * 60, -1, -10, -120];
        Span::from_minutes(*self.random.pick(&minutes))
    }

    /// The same request again, as a client would repeat it; or another one under its key.
    fn retry(&mut self, watch: &Watch) -> Option<Act> {
        // Keys are kept for a week; older ones are up to the store.
        let oldest = Time::from_millis(watch.latest().as_millis() - 6 * 24 * 3_600_000);
        let young: Vec<Asked> = self
            .recent
            .iter()
            .filter(|(_, at)| *at > oldest)
            .map(|(asked, _)| asked.clone())
            .collect();
        if young.is_empty() {
            return None;
        }
        let mut asked = self.random.pick(&young).clone();
        match self.random.below(4) {
            0 => asked.key.as_mut()?.fingerprint[0] ^= 1,
            1 if matches!(asked.stream.subject, Subject::Handoff(_)) => {
                // The server gives a new id to each attempt of an initiate.
                asked.stream.subject = Subject::Handoff(self.new_handoff_id());
            }
            1 if asked.name() == "send" => asked.stream.subject = self.new_message(),
            _ => {}
        }
        Some(Act::Submit(Box::new(asked)))
    }

    fn sensible(&mut self, watch: &Watch) -> Act {
        let n_current = self.handoffs.len().min(CURRENT_MAX);
        if n_current < 3 || self.random.happens(30) {
            return self.sensible_initiate(watch);
        }
        let newest = self.handoffs.len() - n_current;
        let stream = self.handoffs[newest + self.random.below(n_current)].clone();
        let Some(State::Handoff(handoff)) = watch.state(&stream).map(AsRef::as_ref) else {
            return self.sensible_initiate(watch);
        };
        let (from, to) = (handoff.from().clone(), handoff.to().cloned());
        let to = to.unwrap_or_else(|| from.clone());
        if let Some((caller, command)) = self.negotiation(handoff, watch) {
            let caller = in_teamspace(caller, &stream.teamspace);
            return self.submit(caller, stream, Command::Handoff(command));
        }
        let (who, command) = match handoff.status() {
            Status::Draft if self.random.happens(10) => {
                (from, HandoffCommand::Discard { why: None })
            }
            Status::Draft if self.random.happens(40) => {
                (from, HandoffCommand::Draft { offer: Box::new(self.offer(watch, &stream)) })
            }
            Status::Draft => (from, HandoffCommand::Initiate { offer: None }),
            Status::Proposed if self.random.happens(75) => {
                (to, HandoffCommand::Accept(Accept::default()))
            }
            Status::Accepted if self.random.happens(80) => {
                (to, HandoffCommand::Activate { work_state_update: None })
            }
            Status::Activated if self.random.happens(70) => (to, self.complete()),
            Status::Proposed | Status::Validating | Status::Accepted | Status::Activated => {
                (to, self.reject())
            }
            Status::Rejected | Status::Completed if self.random.happens(50) => {
                (from, HandoffCommand::Close { closure_notes: None })
            }
            Status::Rejected | Status::Completed => return self.sensible_initiate(watch),
            Status::Closed => return self.erase(stream, handoff, watch),
        };
        let caller = in_teamspace(agent(who.as_str()), &stream.teamspace);
        self.submit(caller, stream, Command::Handoff(command))
    }

    /// A new handoff by an agent that has owned the task, to one that has not.
    fn sensible_initiate(&mut self, watch: &Watch) -> Act {
        let teamspace = self.teamspace();
        let subject = Subject::Handoff(self.new_handoff_id());
        let stream = Stream { teamspace: teamspace.clone(), subject };
        let offer = self.offer(watch, &stream);
        let task = offer.task.as_ref().and_then(|task| task.task_id.as_ref());
        let owners = task.map(|task| watch.owners(&teamspace, task)).unwrap_or_default();
        let sender = match owners.last() {
            Some(owner) => owner.as_str().to_owned(),
            None => self.random.pick(&AGENTS[..4]).0.to_owned(),
        };
        let offer = Box::new(offer);
        let command = if self.random.happens(20) {
            HandoffCommand::Draft { offer }
        } else {
            HandoffCommand::Initiate { offer: Some(offer) }
        };
        self.submit(in_teamspace(agent(&sender), &teamspace), stream, Command::Handoff(command))
    }

    /// An offer that is mostly valid.
    fn offer(&mut self, watch: &Watch, stream: &Stream) -> Offer {
        self.n_made += 1;
        let task = match self.random.below(10) {
            0 => format!("new-{}", self.n_made),
            number => TASKS[number % TASKS.len()].to_owned(),
        };
        let owners = watch.owners(&stream.teamspace, &task.parse().expect("a task id"));
        let new: Vec<&str> = AGENTS[..5]
            .iter()
            .map(|(name, _)| *name)
            .filter(|name| !owners.contains(&id(name)))
            .collect();
        let is_return = owners.len() > 1 && (new.is_empty() || self.random.happens(40));
        let to = match (is_return, new.is_empty()) {
            (true, _) => owners[owners.len() - 2].to_string(),
            (false, true) => "ann".to_owned(),
            (false, false) => (*self.random.pick(&new)).to_owned(),
        };
        let mut offer = Offer { is_return, ..offer(&to, &task) };
        if self.random.happens(20) {
            offer.artifacts.push(negotiation::artifact(self.random.happens(70)));
        }
        if self.random.happens(30)
            && let Some(task) = &mut offer.task
        {
            task.external_refs.push(negotiation::item());
        }
        if self.random.happens(20) {
            offer.sla = Some(Slas { warn_percent: Some(80), ..Slas::default() });
        }
        if self.random.happens(20) {
            offer.policy = Some(Policy { requires_human_approval: true, ..Policy::default() });
        }
        if self.random.happens(20) {
            let policy = offer.policy.get_or_insert_default();
            policy.requires_verifier = true;
            policy.requires_evidence = self.random.happens(30);
        }
        if self.random.happens(20) {
            offer.deadline = Some(watch.latest().plus(Span::from_hours(30)));
        }
        offer
    }

    /// An offer that may be wrong in any way.
    fn wild_offer(&mut self, watch: &Watch, stream: &Stream) -> Offer {
        let mut offer = self.offer(watch, stream);
        match self.random.below(8) {
            0 => offer.to_agent = None,
            1 => offer.to_agent = Some(id("ghost")),
            2 => offer.to_agent = Some(id("router")),
            3 => offer.to_agent = Some(id(self.random.pick(&AGENTS).0)),
            4 => offer.context = None,
            5 => offer.deadline = Some(start()),
            6 => offer.is_return = !offer.is_return,
            _ => {
                let work_state = offer.work_state.get_or_insert_with(OfferedWorkState::default);
                work_state.percent_complete = Some(120.0);
            }
        }
        offer
    }

    fn anything(&mut self, watch: &Watch) -> Act {
        let caller = self.caller();
        let stream = if self.handoffs.is_empty() || self.random.happens(10) {
            let subject = Subject::Handoff(self.new_handoff_id());
            Stream { teamspace: caller.teamspace.clone(), subject }
        } else {
            let n_current = self.handoffs.len().min(2 * CURRENT_MAX);
            let newest = self.handoffs.len() - n_current;
            self.handoffs[newest + self.random.below(n_current)].clone()
        };
        // Mostly the caller is of the right teamspace; sometimes it uses an id of the other one.
        let (caller, stream) = match self.random.below(20) {
            0 => (caller, stream),
            1 => (caller.clone(), Stream { teamspace: caller.teamspace, ..stream }),
            _ => (in_teamspace(caller, &stream.teamspace), stream),
        };
        let command = match self.random.below(12) {
            10 | 11 => self.any_negotiation(watch),
            0 => HandoffCommand::Draft { offer: Box::new(self.wild_offer(watch, &stream)) },
            1 => {
                HandoffCommand::Initiate { offer: Some(Box::new(self.wild_offer(watch, &stream))) }
            }
            2 => HandoffCommand::Initiate { offer: None },
            3 => HandoffCommand::Accept(Accept {
                notes: Some("x".repeat(self.random.below(20_000))),
                artifacts: None,
            }),
            4 => self.reject(),
            5 => self.activate(),
            6 => self.complete(),
            7 => HandoffCommand::Close { closure_notes: Some("enough".to_owned()) },
            8 => {
                let stage = *self.random.pick(&SlaStage::ALL);
                HandoffCommand::Elapse { stage, due: watch.latest() }
            }
            _ => {
                let erase = Command::Erase { position: 1, reason: "asked".to_owned() };
                return self.submit(caller, stream, erase);
            }
        };
        self.submit(caller, stream, Command::Handoff(command))
    }

    fn reject(&mut self) -> HandoffCommand {
        let reason = *self.random.pick(&RejectReason::ALL);
        let detail = if self.random.happens(20) { "" } else { "not like this" }.to_owned();
        HandoffCommand::Reject(Reject { reason, detail, suggested_fix: None })
    }

    fn activate(&mut self) -> HandoffCommand {
        let percent_complete = Some(*self.random.pick(&[0.0, 12.5, 100.0, 101.0]));
        let update = OfferedWorkState { percent_complete, ..OfferedWorkState::default() };
        HandoffCommand::Activate { work_state_update: Some(Box::new(update)) }
    }

    fn erase(&mut self, stream: Stream, handoff: &Handoff, watch: &Watch) -> Act {
        let n_entries = watch.position(&stream);
        let position = 1 + self.random.draw() % n_entries.max(1);
        let reason = if self.random.happens(10) { "" } else { "asked" }.to_owned();
        let who = if self.random.happens(80) { operator() } else { agent(handoff.from().as_str()) };
        let caller = in_teamspace(who, &stream.teamspace);
        self.submit(caller, stream, Command::Erase { position, reason })
    }

    fn agent_command(&mut self) -> Act {
        let (name, kind) = *self.random.pick(&AGENTS);
        let kind = if self.random.happens(20) { Kind::Queue } else { kind };
        let name_shown = format!("version {}", self.random.below(3));
        let profile = Profile { name: name_shown, ..Profile::default() };
        let teamspace = self.teamspace();
        let caller = if self.random.happens(80) { operator() } else { self.caller() };
        let stream = Stream { teamspace: teamspace.clone(), subject: Subject::Agent(id(name)) };
        if self.random.happens(50) {
            return self.presence_command(stream);
        }
        let command = match self.random.below(4) {
            0 => AgentCommand::SetRoles { roles: [*self.random.pick(&Role::ALL)].into() },
            1 => self.set_wake(),
            _ => AgentCommand::Register { kind, profile },
        };
        self.submit(in_teamspace(caller, &teamspace), stream, Command::Agent(command))
    }

    fn token_command(&mut self) -> Act {
        let teamspace = self.teamspace();
        let caller = if self.random.happens(85) { operator() } else { self.caller() };
        if !self.tokens.is_empty() && self.random.happens(50) {
            let stream = self.random.pick(&self.tokens).clone();
            let command = if self.random.happens(75) { TokenCommand::Revoke } else { self.issue() };
            let caller = in_teamspace(caller, &stream.teamspace);
            return self.submit(caller, stream, Command::Token(command));
        }
        let subject = Subject::Token(TokenId::new(self.ids.uuid(start())));
        let stream = Stream { teamspace: teamspace.clone(), subject };
        let issue = self.issue();
        self.submit(in_teamspace(caller, &teamspace), stream, Command::Token(issue))
    }

    fn issue(&mut self) -> TokenCommand {
        self.n_made += 1;
        let expires_at = self.random.happens(30).then(|| start().plus(Span::from_hours(48)));
        let (bearer, bearer_kind) = (id("ann"), BearerKind::Agent);
        let grant = Grant { bearer, bearer_kind, roles: Default::default(), expires_at };
        TokenCommand::Issue { grant, secret_hash: secret_hash(self.n_made) }
    }

    pub(super) fn submit(&mut self, caller: Caller, stream: Stream, command: Command) -> Act {
        let key = self.random.happens(40).then(|| {
            self.n_made += 1;
            let fingerprint = canonical::sha256(&[format!("{command:?}").as_bytes()]);
            Key { text: format!("key-{}", self.n_made), fingerprint }
        });
        Act::Submit(Box::new(Asked { caller, stream, command, key }))
    }

    pub(super) fn caller(&mut self) -> Caller {
        let mut caller = match self.random.below(10) {
            0 => operator(),
            1 => coordinator("lead"),
            2 => agent("ghost"),
            3 => Caller { principal: Principal::Customer(id("carl")), ..agent("carl") },
            4 => Caller::system(TeamspaceId::default_teamspace()),
            number => agent(AGENTS[number % 5].0),
        };
        caller.teamspace = self.teamspace();
        caller
    }

    pub(super) fn teamspace(&mut self) -> TeamspaceId {
        self.random.pick(&TEAMSPACES).parse().expect("a teamspace")
    }

    pub(super) fn new_handoff_id(&mut self) -> HandoffId {
        HandoffId::new(self.ids.uuid(start()))
    }
}

/// The hash of a token's secret, which is all that a store knows.
pub fn secret_hash(number: usize) -> String {
    engine::read::access::secret_hash(&secret(number))
}

pub fn secret(number: usize) -> String {
    format!("secret-{number}")
}

pub(super) fn in_teamspace(caller: Caller, teamspace: &TeamspaceId) -> Caller {
    Caller { teamspace: teamspace.clone(), ..caller }
}

impl Asked {
    pub fn name(&self) -> &'static str {
        self.command.name()
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Submit(asked) => {
                let Asked { caller, stream, key, .. } = asked.as_ref();
                let (who, name) = (&caller.principal, asked.name());
                write!(f, "{who} of {} asks: {name} ", caller.teamspace)?;
                write!(f, "{} of {}", stream.subject, stream.teamspace)?;
                key.as_ref().map_or(Ok(()), |key| write!(f, " with {}", key.text))
            }
            Act::Fire => f.write_str("deadlines are looked at"),
            Act::Move(span) => write!(f, "the clock moves by {} ms", span.as_millis()),
            Act::Crash => f.write_str("crash"),
        }
    }
}

/// The agents of a chain, for failure messages.
pub fn names(chain: &[AgentId]) -> String {
    chain.iter().map(AgentId::as_str).collect::<Vec<_>>().join(" → ")
}
