//! The mailboxes of notices: the newest steps of each reader, grouped by what they are about.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use protocol::agent::{Agent, Kind};
use protocol::caller::{Caller, Role};
use protocol::handoff::notice_kind::NoticeKind;
use protocol::handoff::notices::{Form, Notice, notices};
use protocol::handoff::waits::Waiter;
use protocol::ids::{AgentId, HandoffId, QuestionId, TeamspaceId};
use protocol::ledger::Subject;
use protocol::question::notices as question_notices;
use protocol::roles::{self, RoleAction};
use protocol::step::Event;
use protocol::time::Time;

use super::concerned::Concerned;
use super::page::NoticePage;
use crate::ledger::feed::Followed;

/// The handoffs and questions that a mailbox has notices about. Beyond it, those that moved last
/// are kept.
pub const NOTICE_HANDOFFS_MAX: usize = 256;

/// The steps that are kept of a handoff or a question in a mailbox. More than there are kinds, so
/// that only a step whose kind is told again by a later one is left out.
pub const NOTICE_STEPS_MAX: usize = 32;

/// The steps that are kept of a teamspace. Beyond it, the older half is left out.
pub const NOTICE_TEAMSPACE_STEPS_MAX: usize = 100_000;

const _: () = assert!(NOTICE_STEPS_MAX > NoticeKind::ALL.len());

#[derive(Debug, Default)]
pub(super) struct Mailboxes {
    pub(super) of: HashMap<TeamspaceId, TeamMailboxes>,
    concerned: Concerned,
    /// The entries up to here were not looked at.
    pub(super) begins_after: u64,
}

/// The mailboxes of a teamspace.
#[derive(Debug, Default)]
pub(super) struct TeamMailboxes {
    of: HashMap<Reader, Mailbox>,
    n_steps: usize,
    /// The steps up to here were left out.
    begins_after: u64,
}

/// Whose mailbox it is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Reader {
    Agent(AgentId),
    /// The humans of a queue.
    Queue(AgentId),
    Approvers,
    Verifiers,
}

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum About {
    Handoff(HandoffId),
    Question(QuestionId),
}

/// Digests, the one that changed last at the end.
#[derive(Debug, Default)]
struct Mailbox {
    digests: VecDeque<Digest>,
    /// Steps up to here were left out.
    begins_after: u64,
}

/// The steps of one handoff or question that a reader is told.
#[derive(Debug)]
struct Digest {
    about: About,
    to: Waiter,
    steps: VecDeque<NoticeStep>,
}

#[derive(Debug, Clone)]
pub(super) struct NoticeStep {
    pub(super) seq: u64,
    pub(super) at: Time,
    pub(super) kind: NoticeKind,
    pub(super) form: Form,
    pub(super) actor: Arc<str>,
}

impl Mailboxes {
    pub(super) fn take_in(&mut self, followed: &Followed) {
        let entry = &followed.sequenced.entry;
        let subject = &entry.stream.subject;
        if let (Subject::Handoff(handoff), Some(Event::Handoff(event))) =
            (subject, followed.event())
        {
            let mut all = notices(event, &entry.actor);
            all.extend(self.concerned.notices(*handoff, event, &entry.actor));
            self.concerned.take_in(*handoff, event);
            for notice in all {
                self.take_in_handoff(followed, *handoff, notice);
            }
        }
        if let (Subject::Question(question), Some(Event::Question(event))) =
            (subject, followed.event())
        {
            let team = self.of.entry(entry.stream.teamspace.clone()).or_default();
            for (kind, reader) in question_notices::notices(event) {
                let (reader, to) = match reader {
                    question_notices::Reader::Agent(it) => (Reader::Agent(it.clone()), it),
                    question_notices::Reader::Queue(it) => (Reader::Queue(it.clone()), it),
                };
                let step = step_of(followed, kind, Form::Derived);
                team.add(reader, About::Question(*question), Waiter::Agent(to), step);
            }
        }
    }

    fn take_in_handoff(&mut self, followed: &Followed, handoff: HandoffId, notice: Notice) {
        let Notice { kind, to, form } = notice;
        let reader = match (&to, form) {
            // The message itself is the notice.
            (_, Form::Message) => return,
            (Waiter::Agent(agent), _) => Reader::Agent(agent.clone()),
            (Waiter::Approver { .. }, _) => Reader::Approvers,
            (Waiter::Verifier { .. }, _) => Reader::Verifiers,
            (Waiter::Coordinator | Waiter::Parts | Waiter::Server, _) => return,
        };
        let step = step_of(followed, kind, form);
        let teamspace = followed.sequenced.entry.stream.teamspace.clone();
        self.of.entry(teamspace).or_default().add(reader, About::Handoff(handoff), to, step);
    }

    /// The steps that a caller is told, and a page without them.
    pub(super) fn told(
        &self,
        caller: &Caller,
        own: Option<&Agent>,
        queues: &[AgentId],
        after: u64,
    ) -> (Vec<(About, NoticeStep)>, NoticePage) {
        let mut begins_after = self.begins_after;
        let mut told = Vec::new();
        let actor = caller.principal.to_string();
        if let Some(team) = self.of.get(&caller.teamspace) {
            begins_after = begins_after.max(team.begins_after);
            let own_mailbox = caller.agent().map(|agent| Reader::Agent(agent.clone()));
            let kind = own.map(|own| own.kind);
            let of_queues = queues.iter().cloned().map(Reader::Queue);
            let readers = own_mailbox.into_iter().chain(of_queues);
            for reader in readers.chain([Reader::Approvers, Reader::Verifiers]) {
                let Some(mailbox) = team.of.get(&reader) else { continue };
                if reader.may_be_for(caller, kind) {
                    begins_after = begins_after.max(mailbox.begins_after);
                }
                let is_of_queue = matches!(reader, Reader::Queue(_));
                let is_told = |it: &&Digest| is_of_queue || it.is_for(caller, kind);
                for digest in mailbox.digests.iter().filter(is_told) {
                    let is_own = |step: &NoticeStep| {
                        matches!(digest.about, About::Question(_)) && *step.actor == *actor
                    };
                    let is_wanted = |step: &&NoticeStep| {
                        step.seq > after
                            && !is_own(step)
                            && !own.is_some_and(|own| own.notices.muted.contains(&step.kind))
                    };
                    let steps = digest.steps.iter().filter(is_wanted);
                    told.extend(steps.map(|step| (digest.about, step.clone())));
                }
            }
        }
        (told, NoticePage { is_incomplete: after < begins_after, ..NoticePage::default() })
    }
}

fn step_of(followed: &Followed, kind: NoticeKind, form: Form) -> NoticeStep {
    let entry = &followed.sequenced.entry;
    let (seq, at, actor) = (followed.seq(), entry.at, Arc::clone(&entry.actor));
    NoticeStep { seq, at, kind, form, actor }
}

impl Reader {
    /// Whether something in this mailbox may be for a caller, in whose queues it is.
    fn may_be_for(&self, caller: &Caller, kind: Option<Kind>) -> bool {
        match self {
            Reader::Agent(_) | Reader::Queue(_) => true,
            Reader::Approvers => {
                let may = |guarded| roles::may(&caller.roles, RoleAction::Approve { guarded });
                kind == Some(Kind::Human) && (may(false) || may(true))
            }
            Reader::Verifiers => caller.is_coordinator() || caller.roles.contains(&Role::Reviewer),
        }
    }
}

impl TeamMailboxes {
    pub(super) fn queues(&self) -> impl Iterator<Item = AgentId> {
        self.of.keys().filter_map(|reader| match reader {
            Reader::Queue(queue) => Some(queue.clone()),
            Reader::Agent(_) | Reader::Approvers | Reader::Verifiers => None,
        })
    }

    fn add(&mut self, reader: Reader, about: About, to: Waiter, step: NoticeStep) {
        let mailbox = self.of.entry(reader).or_default();
        self.n_steps = self.n_steps + 1 - mailbox.add(about, to, step);
        if self.n_steps > NOTICE_TEAMSPACE_STEPS_MAX {
            self.leave_out_the_older_half();
        }
    }

    fn leave_out_the_older_half(&mut self) {
        let digests = self.of.values().flat_map(|mailbox| &mailbox.digests);
        let mut all: Vec<u64> = digests.flat_map(|it| &it.steps).map(|step| step.seq).collect();
        let middle = all.len() / 2;
        let (_, newest_out, _) = all.select_nth_unstable(middle);
        self.begins_after = *newest_out;
        for mailbox in self.of.values_mut() {
            for digest in &mut mailbox.digests {
                digest.steps.retain(|step| step.seq > self.begins_after);
            }
            mailbox.digests.retain(|digest| !digest.steps.is_empty());
        }
        self.of.retain(|_, mailbox| !mailbox.digests.is_empty());
        let digests = self.of.values().flat_map(|mailbox| &mailbox.digests);
        self.n_steps = digests.map(|digest| digest.steps.len()).sum();
    }
}

impl Mailbox {
    /// Returns how many steps made room.
    fn add(&mut self, about: About, to: Waiter, step: NoticeStep) -> usize {
        let known = self.digests.iter().rposition(|digest| digest.about == about);
        let mut digest = known
            .and_then(|index| self.digests.remove(index))
            .unwrap_or_else(|| Digest { about, to: to.clone(), steps: VecDeque::new() });
        digest.to = to;
        digest.steps.push_back(step);
        let mut n_out = 0;
        if digest.steps.len() > NOTICE_STEPS_MAX {
            digest.leave_out_a_repeated_kind();
            n_out += 1;
        }
        self.digests.push_back(digest);
        if self.digests.len() > NOTICE_HANDOFFS_MAX
            && let Some(oldest) = self.digests.pop_front()
        {
            n_out += oldest.steps.len();
            self.begins_after = oldest.steps.back().map_or(self.begins_after, |step| step.seq);
        }
        n_out
    }
}

impl Digest {
    fn is_for(&self, caller: &Caller, kind: Option<Kind>) -> bool {
        let is_sender = match &self.to {
            // The server sends it a message.
            Waiter::Verifier { sender, .. } => caller.agent() == Some(sender),
            Waiter::Agent(_)
            | Waiter::Approver { .. }
            | Waiter::Coordinator
            | Waiter::Parts
            | Waiter::Server => false,
        };
        self.to.is(caller, kind) && !is_sender
    }

    /// The oldest of them.
    fn leave_out_a_repeated_kind(&mut self) {
        let is_repeated = |index: usize| {
            let kind = self.steps[index].kind;
            self.steps.iter().skip(index + 1).any(|later| later.kind == kind)
        };
        let repeated = (0..self.steps.len()).find(|index| is_repeated(*index));
        self.steps.remove(repeated.expect("there are more steps than kinds"));
    }
}

#[cfg(test)]
mod tests {
    use protocol::agent::Profile;
    use protocol::caller::Principal;

    use super::*;

    fn handoff(number: u128) -> About {
        About::Handoff(HandoffId::new(uuid::Uuid::from_u128(number)))
    }

    fn step(seq: u64, kind: NoticeKind) -> NoticeStep {
        NoticeStep {
            seq,
            at: Time::from_millis(0),
            kind,
            form: Form::Derived,
            actor: "agent:a".into(),
        }
    }

    fn to_bob() -> Waiter {
        Waiter::Agent("bob".parse().unwrap())
    }

    /// Steps of handoffs that take turns are told once each, whatever the size of a page is.
    #[test]
    fn pages_have_every_step_once() {
        for limit in 1..8 {
            let steps: Vec<_> = (1..=60_u64)
                .map(|seq| (handoff(u128::from(seq * seq % 7)), step(seq, NoticeKind::Accepted)))
                .collect();
            let (mut after, mut n_told) = (0, 0);
            loop {
                let rest = steps.iter().filter(|(_, step)| step.seq > after).cloned().collect();
                let mut page = NoticePage::default();
                page.gather(rest, limit);
                assert!(page.about.len() <= limit);
                n_told += page.about.iter().map(|told| told.n_steps).sum::<usize>();
                after = page.until.unwrap();
                if !page.has_more {
                    break;
                }
            }
            assert_eq!((n_told, after), (60, 60), "limit {limit}");
        }
    }

    #[test]
    fn a_full_handoff_keeps_the_newest_step_of_each_kind() {
        let mut mailbox = Mailbox::default();
        let first = NoticeKind::ALL.into_iter().take(5);
        let many = std::iter::repeat_n(NoticeKind::SlaExtended, 100);
        for (seq, kind) in (1..).zip(first.clone().chain(many)) {
            mailbox.add(handoff(1), to_bob(), step(seq, kind));
        }
        let steps = &mailbox.digests[0].steps;
        assert_eq!(steps.len(), NOTICE_STEPS_MAX);
        let kinds: Vec<_> = steps.iter().take(5).map(|step| step.kind).collect();
        assert_eq!(kinds, first.collect::<Vec<_>>());
        assert_eq!(steps.back().map(|step| step.seq), Some(105));
    }

    /// A mailbox that many share is full for those whom its notices may concern, and for no others.
    #[test]
    fn a_full_mailbox_says_so_to_each_of_its_readers() {
        let mailboxes_with = |reader: Reader, to: Waiter| {
            let mut team = TeamMailboxes::default();
            for number in 1..=NOTICE_HANDOFFS_MAX as u64 + 1 {
                let about = handoff(u128::from(number));
                team.add(reader.clone(), about, to.clone(), step(number, NoticeKind::Accepted));
            }
            let of = HashMap::from([(TeamspaceId::default_teamspace(), team)]);
            Mailboxes { of, ..Mailboxes::default() }
        };
        let id = |name: &str| name.parse::<AgentId>().unwrap();
        let (sender, owner) = (id("alice"), id("bob"));
        let approver = Waiter::Approver { guarded: false, sender: sender.clone() };
        let verifier = Waiter::Verifier { sender, owner };
        let desk = Reader::Queue(id("desk"));
        let plain: &[Role] = &[];
        for (reader, to, kind, roles, expected) in [
            (Reader::Agent(id("hana")), to_bob(), Kind::Worker, plain, true),
            (Reader::Agent(id("mia")), to_bob(), Kind::Worker, plain, false),
            (Reader::Approvers, approver.clone(), Kind::Human, plain, true),
            (Reader::Approvers, approver.clone(), Kind::Worker, plain, false),
            (Reader::Approvers, approver, Kind::Human, &[Role::Executor], false),
            (Reader::Verifiers, verifier.clone(), Kind::Worker, &[Role::Reviewer], true),
            (Reader::Verifiers, verifier.clone(), Kind::Worker, &[Role::Coordinator], true),
            (Reader::Verifiers, verifier, Kind::Worker, plain, false),
            (desk, Waiter::Agent(id("desk")), Kind::Human, plain, true),
        ] {
            let caller = Caller {
                principal: Principal::Agent(id("hana")),
                roles: roles.iter().copied().collect(),
                ..Caller::system(TeamspaceId::default_teamspace())
            };
            let own = Agent::new(id("hana"), kind, Profile::default());
            let queues = [id("desk")];
            let mailboxes = mailboxes_with(reader.clone(), to);
            let (told, page) = mailboxes.told(&caller, Some(&own), &queues, 0);
            assert_eq!(page.is_incomplete, expected, "{reader:?} for {kind:?} {roles:?}");
            assert!(told.len() <= NOTICE_HANDOFFS_MAX);
            let (_, page) = mailboxes.told(&caller, Some(&own), &queues, 1);
            assert!(!page.is_incomplete, "the one that was left out was read");
        }
    }

    #[test]
    fn a_teamspace_keeps_its_newest_steps() {
        let mut team = TeamMailboxes::default();
        let n_agents = 1_000;
        for seq in 1..=3 * NOTICE_TEAMSPACE_STEPS_MAX as u64 {
            let agent = format!("a{}", seq % n_agents).parse().unwrap();
            let about = handoff(u128::from(seq / n_agents));
            team.add(Reader::Agent(agent), about, to_bob(), step(seq, NoticeKind::Accepted));
            assert!(team.n_steps <= NOTICE_TEAMSPACE_STEPS_MAX);
        }
        let digests = team.of.values().flat_map(|mailbox| &mailbox.digests);
        let counted: usize = digests.map(|digest| digest.steps.len()).sum();
        assert_eq!(counted, team.n_steps);
        assert!(team.begins_after > 0);
        let mut kept = team.of.values().flat_map(|mailbox| &mailbox.digests);
        assert!(kept.all(|digest| digest.steps.iter().all(|it| it.seq > team.begins_after)));
    }
}
