//! Sessions that break no rule, with the results of their questions and calls.

use super::script::{No, Passed, Script, World, steps};
use crate::machine::{Binding, NotSettled, Outcome, Phase, Session, Weak};

/// The sample session of the specification, up to its question.
const BANK: &str = "start; state idle>thinking; call fetch_balance; return fetch_balance; \
     state thinking>deciding; state deciding>thinking; confirm t1 high";

/// What follows an accept there.
const BANK_END: &str = "return transfer_funds; state calling_tool>writing_output; \
     chunk 0 Transferred; chunk 11 successfully. last; complete";

#[test]
fn the_sample_session_is_legal() {
    let mut bank = Telling::new(BANK);
    bank.then("accept t1; call transfer_funds irreversible high");
    bank.then(BANK_END);
    bank.is("accepted, weak");
}

#[test]
fn the_sample_session_is_legal_with_a_reject() {
    let mut bank = Telling::new(BANK);
    bank.then("reject t1; state awaiting_input>thinking; chunk 0 Nothing. last; complete");
    bank.is("rejected");
}

#[test]
fn the_sample_session_is_legal_with_a_timeout() {
    let mut bank = Telling::new(BANK);
    bank.then("wait 300; elapse t1; state awaiting_input>deciding; complete");
    bank.is("rejected");
}

#[test]
fn legal_sessions() {
    for [story, text, outcome] in legal() {
        let telling = Telling::new(text);
        assert_eq!(telling.told.join(", "), outcome, "{story}: {text}");
    }
}

/// `story | session | results of its questions and calls`
const LEGAL: &str = r"
nothing but a start and an end | start; complete | 
numbered | start n=0; progress n=1; state idle>thinking n=2; complete n=3 | 
two events at one time | start; progress; complete | 
unknown states | start; state idle>humming; state humming>humming; complete | 
a state implied by a tool | start; state idle>thinking; call f; return f; state calling_tool>idle; complete | 
a state implied two events ago | start; state idle>thinking; chunk 0 a last; progress; state writing_output>idle; complete | 
a state implied by a handoff | start; state idle>thinking; handoff; state handing_off>idle; complete | 
parallel calls, one name, no ids | start; call f; call f; return f; return f timeout; complete | 
parallel calls with ids, returned in another order | start; call f c1; call f c2; return f c2; return f c1 error; complete | 
with and without ids | start; call f c1; call f; return f; return f c1; complete | 
a call goes on while another has returned | start; state idle>calling_tool; call f c1; call g c2; return f c1; state calling_tool>thinking; return g c2; complete | 
a tool that asks | start; state idle>calling_tool; call f; ask t1; state calling_tool>awaiting_input; answer t1 blue; return f; complete | answered
two outputs, interleaved | start; chunk 0 ab out=a; chunk 0 x out=b; chunk 2 c out=a last; chunk 1 y out=b last; complete | 
an output with and one without an id | start; chunk 0 ab; chunk 0 x out=b last; chunk 2 c last; complete | 
characters, not bytes | start; chunk 0 añ日🦀; chunk 4 - last; complete | 
an error after closing what is open | start; call f; chunk 0 ab; return f timeout; chunk 2 - last; error | 
an error withdraws the question | start; confirm t1; error | withdrawn
a cancellation withdraws two | start; confirm t1; ask t2; cancel | withdrawn, withdrawn
an accept need not be used in a session that is cancelled | start; confirm t1 irreversible; accept t1; cancel | accepted
a question is withdrawn by thinking on | start; confirm t1; state idle>awaiting_input; state awaiting_input>thinking; complete | withdrawn
no is always allowed | start; confirm t1 only=accept; reject t1; state idle>thinking; complete | rejected
of two accepts of one call, the one that is enough | start; confirm t1 hash=aa default=accept timeout=5; wait 5; elapse t1; confirm t2 hash=aa irreversible; accept t2; call pay irreversible hash=aa; call pay hash=aa; return pay; return pay; complete | accepted, accepted, strong
a rule accepts what can be undone | start; confirm t1; accept t1 auto; call move; return move; complete | accepted
just before an accept lapses | start; confirm t1 hash=aa; wait 299; accept t1; wait 59; call pay irreversible hash=aa; return pay; complete | accepted, strong
asked again after an accept has lapsed | start; confirm t1 about=pay; accept t1; wait 60; confirm t2 about=pay; accept t2; call pay irreversible; return pay; complete | accepted, accepted, weak
a lapsed accept is enough for what can be undone | start; confirm t1; accept t1; wait 600; call look; return look; complete | accepted
a lapsed accept, and then a no | start; confirm t1 irreversible about=pay; accept t1; wait 60; confirm t2 about=pay; reject t2; state idle>thinking; complete | accepted, rejected
asked again after a reject | start; confirm t1 about=pay; reject t1; confirm t2 about=pay; accept t2; call pay irreversible; return pay; complete | rejected, accepted, weak
bound by hash | start; confirm t1 irreversible call=c1 hash=aa; accept t1; call pay c1 irreversible hash=aa; return pay c1; complete | accepted, strong
bound by hash alone | start; confirm t1 irreversible hash=aa; accept t1; call pay irreversible hash=aa; return pay; complete | accepted, strong
bound by the id of the call alone | start; confirm t1 irreversible call=c1; accept t1; call pay c1 irreversible hash=aa; return pay c1; complete | accepted, weak
the accept of this call goes before one of any | start; confirm t1 irreversible; confirm t2 irreversible hash=aa; accept t1; accept t2; call pay irreversible hash=aa; call pay irreversible; return pay; return pay; complete | accepted, accepted, strong, weak
two accepts, two calls | start; confirm t1 irreversible; accept t1; confirm t2 irreversible; accept t2; call pay irreversible; call pay irreversible; return pay; return pay; complete | accepted, accepted, weak, weak
harmless work while a question waits | start; confirm t1 irreversible call=c1 hash=aa; call look c2; return look c2; progress; accept t1; call pay c1 irreversible hash=aa; return pay c1; complete | accepted, strong
looking something up does not use up the accept | start; confirm t1; accept t1; call look; return look; call pay irreversible; return pay; complete | accepted, weak
a reversible action by default | start; confirm t1 reversal=reversible default=accept timeout=30; wait 30; elapse t1; call move; return move; complete | accepted
no listener could answer, so the default does not apply | start; confirm t1 reversal=reversible default=accept timeout=30; wait 30; elapse t1 nobody; state idle>thinking; complete | rejected
little effort and low risk may default to accept | start; confirm t1 reversal=reversible_with_effort low default=accept timeout=30; wait 31; elapse t1; call move; return move; complete | accepted
the same words for two hashes | start; confirm t1 about=pay hash=aa; confirm t2 about=pay hash=bb; reject t1; reject t2; chunk 0 ok last; complete | rejected, rejected
a refused action is done once it is allowed | start; confirm t1 hash=aa; reject t1; confirm t2 hash=aa; accept t2; call f hash=aa; return f; complete | rejected, accepted
a clarification without an answer | start; ask t1 timeout=60; wait 60; elapse t1; complete | unanswered
each kind of answer | start; ask t1 kinds=yes_no; answer t1 yes; ask t2 kinds=numeric; answer t2 12; ask t3 kinds=multiple_choice choices=a,b; answer t3 b; ask t4; answer t4 blue; complete | answered, answered, answered, answered
events of others pass | start; extension; extension; complete | 
other urgencies are free | start urgency=critical; progress urgency=normal; complete urgency=background | 
";

pub(crate) fn legal() -> impl Iterator<Item = [&'static str; 3]> {
    LEGAL.lines().filter(|line| !line.is_empty()).map(|line| {
        let mut cells = line.split('|').map(str::trim);
        std::array::from_fn(|_| cells.next().expect("three cells"))
    })
}

#[test]
fn replies_that_change_nothing() {
    for (text, line, expected) in NOT_SETTLED {
        let mut telling = Telling::new(text);
        let before = telling.world.clone();
        let step = telling.script.step(line);
        let no = telling.world.take(&step).expect_err(line);
        assert_eq!(no, No::NotSettled(*expected), "`{line}` after `{text}`");
        assert_eq!(telling.world, before, "`{line}` after `{text}`");
    }
}

const NOT_SETTLED: &[(&str, &str, NotSettled)] = &[
    ("start", "accept t1", NotSettled::Unknown),
    ("start; confirm t1; accept t1", "accept t1", NotSettled::Unknown),
    ("start; confirm t1; accept t1", "reject t1", NotSettled::Unknown),
    ("start; confirm t1; reject t1", "accept t1", NotSettled::Unknown),
    ("start; confirm t1; cancel", "accept t1", NotSettled::Unknown),
    ("start; confirm t1; wait 300; elapse t1", "accept t1", NotSettled::Unknown),
    ("start; confirm t1; wait 300; elapse t1", "elapse t1", NotSettled::Unknown),
    (
        "start; confirm t1; state idle>awaiting_input; state awaiting_input>deciding",
        "accept t1",
        NotSettled::Unknown,
    ),
    ("start; confirm t1 irreversible", "accept t1 auto", NotSettled::NotAllowed),
    ("start; confirm t1 reversal=irreversible", "accept t1 auto", NotSettled::NotAllowed),
    ("start; confirm t1; wait 300", "accept t1", NotSettled::TooLate),
    ("start; confirm t1; wait 300", "reject t1", NotSettled::TooLate),
    ("start; ask t1; wait 301", "answer t1 blue", NotSettled::TooLate),
    ("start; confirm t1; wait 299", "elapse t1", NotSettled::NotDue),
    ("start; ask t1 timeout=10; wait 9", "elapse t1", NotSettled::NotDue),
    ("start; ask t1", "accept t1", NotSettled::WrongKind),
    ("start; confirm t1", "answer t1 yes", NotSettled::WrongKind),
    ("start; confirm t1 only=reject", "accept t1", NotSettled::NotAllowed),
    ("start; confirm t1 only=later", "accept t1", NotSettled::NotAllowed),
    ("start; ask t1 kinds=yes_no", "answer t1 blue", NotSettled::NotAllowed),
    ("start; ask t1 kinds=numeric", "answer t1 yes", NotSettled::NotAllowed),
    ("start; ask t1 kinds=multiple_choice choices=a,b", "answer t1 c", NotSettled::NotAllowed),
    ("start; ask t1", "answer t1 -", NotSettled::NotAllowed),
    ("start; ask t1", "answer t1 12", NotSettled::NotAllowed),
];

#[test]
fn a_snapshot_goes_on_where_the_session_was() {
    for [_, text, _] in legal() {
        let mut script = Script::default();
        let mut world = World::new(Weak::Allowed);
        for line in steps(text) {
            let kept = serde_json::to_string(&world.session).expect("a snapshot");
            let again: Session = serde_json::from_str(&kept).expect("the same snapshot");
            assert_eq!(again, world.session);
            world.session = again;
            world.take(&script.step(line)).expect("a legal step");
        }
    }
}

#[test]
fn what_was_accepted_leads_to_the_same_session_again() {
    for [_, text, _] in legal() {
        let first = Telling::new(text).world;
        let mut script = Script::default();
        let mut again = World::new(Weak::Allowed);
        for line in steps(text) {
            again.used.clear();
            again.take(&script.step(line)).expect("a legal step");
        }
        assert_eq!(again.session, first.session, "{text}");
    }
}

#[test]
fn the_keeper_is_told_what_is_open() {
    let mut telling = Telling::new("start; call f c1; call g; chunk 0 ab; chunk 0 x out=b");
    let ends = telling.world.session.loose_ends();
    assert_eq!(ends.calls, [("f", Some("call_c1")), ("g", None)]);
    assert_eq!(ends.outputs, [(None, 2), (Some("out_b"), 1)]);
    telling.then("confirm t1 timeout=60; ask t2");
    let pending = telling.world.session.pending();
    let tokens: Vec<_> = pending.iter().map(|question| question.reply_token()).collect();
    assert_eq!(tokens, ["rpl_t1", "rpl_t2"]);
    assert_eq!(pending[0].due().since(telling.world.now).as_millis(), 60_000);
    assert_eq!(pending[0].event_id(), "evt_6");
    assert!(telling.world.take(&telling.script.step("cancel")).is_err());
    telling.then("return f c1; return g; chunk 2 - last; chunk 1 - out=b last; cancel");
    assert_eq!(telling.world.session.phase(), Phase::Over);
    assert!(telling.world.session.pending().is_empty());
}

/// A session that runs step by step, with its results.
struct Telling {
    world: World,
    script: Script,
    told: Vec<String>,
}

impl Telling {
    fn new(text: &str) -> Self {
        let world = World::new(Weak::Allowed);
        let mut telling = Self { world, script: Script::default(), told: Vec::new() };
        telling.then(text);
        telling
    }

    fn then(&mut self, text: &str) {
        for line in steps(text) {
            match self.world.take(&self.script.step(line)) {
                Ok(passed) => self.told.extend(words(&passed)),
                Err(no) => panic!("`{line}` of `{text}`: {no:?}"),
            }
        }
    }

    fn is(&self, told: &str) {
        assert_eq!(self.told.join(", "), told);
        assert_eq!(self.world.session.phase(), Phase::Over);
    }
}

fn words(passed: &Passed) -> Vec<String> {
    let outcome = |outcome: Outcome| format!("{outcome:?}").to_lowercase();
    match passed {
        Passed::Waited => Vec::new(),
        Passed::Settled(settled) => vec![outcome(settled.outcome)],
        Passed::Followed(followed) => {
            let withdrawn = followed.withdrawn.iter().map(|settled| outcome(settled.outcome));
            let consent = followed.consent.iter().map(|consent| match consent.binding {
                Binding::Strong => "strong".to_owned(),
                Binding::Weak => "weak".to_owned(),
            });
            withdrawn.chain(consent).collect()
        }
    }
}
