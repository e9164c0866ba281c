//! Sequences that break a rule about questions and consent.

use super::script::{No, Script, Step, World};
use crate::event::Payload;
use crate::machine::{CALLS_MAX, CONSENTS_MAX, OUTPUTS_MAX, QUESTIONS_MAX, REFUSED_MAX, Weak};

pub(super) const ROWS: &str = r"
# No irreversible call without an accept of its own.
CONSENT irreversible | start; call pay irreversible | confirm t1; accept t1; call pay irreversible
CONSENT irreversible | start; confirm t1; call pay irreversible | accept t1; call pay irreversible
CONSENT irreversible | start; confirm t1 irreversible high; reject t1; call pay irreversible | confirm t2
CONSENT irreversible | start; confirm t1 irreversible; wait 300; elapse t1; call pay irreversible | confirm t2
CONSENT irreversible | start; confirm t1; accept t1; call pay irreversible; return pay; call pay irreversible | complete
CONSENT irreversible | start; confirm t1; accept t1; call pay irreversible; call pay irreversible | return pay
CONSENT irreversible | start; ask t1 kinds=yes_no; answer t1 yes; call pay irreversible | complete
CONSENT irreversible | start; confirm t1 default=accept timeout=5; wait 5; elapse t1; call pay irreversible | call pay
CONSENT irreversible | start; confirm t1 default=accept hash=aa timeout=5; wait 5; elapse t1; call pay irreversible hash=aa | call pay hash=aa
CONSENT irreversible | start; confirm t1 reversal=reversible; accept t1; call pay irreversible | call pay
CONSENT irreversible | start; confirm t1 reversal=reversible_with_effort; accept t1; call pay irreversible | call pay
CONSENT irreversible | start; confirm t1 reversal=reversible call=c1; accept t1; call pay c1 irreversible | call pay c1
CONSENT irreversible | start; confirm t1 hash=aa; accept t1; call pay irreversible | call pay irreversible hash=aa
CONSENT irreversible | start; confirm t1 hash=aa; accept t1; call pay irreversible hash=bb | call pay irreversible hash=aa
CONSENT irreversible | start; confirm t1 hash=aa; accept t1; call pay irreversible hash=aa; return pay; call pay irreversible hash=aa | complete
CONSENT irreversible | start; confirm t1; state idle>awaiting_input; state awaiting_input>thinking; call pay irreversible | call look
# The last word counts, also over an accept that was not used.
REFUSED extensions.tasuki.action_hash | start; confirm t1 irreversible hash=aa; accept t1; confirm t2 irreversible hash=aa; reject t2; call pay irreversible hash=aa | state idle>thinking
CONSENT irreversible | start; confirm t1 about=pay; accept t1; confirm t2 about=pay; reject t2; call pay irreversible | confirm t3; accept t3; call pay irreversible
CONSENT irreversible | start; confirm t1 about=pay; accept t1; confirm t2 about=Pаy.; reject t2; call pay irreversible | confirm t3; accept t3; call pay irreversible
REFUSED extensions.tasuki.action_hash | start; state idle>awaiting_input; confirm t1 hash=aa; accept t1; confirm t2 hash=aa; state awaiting_input>thinking; call pay irreversible hash=aa | call look
BLOCKED extensions.tasuki.action_hash | start; confirm t1 irreversible hash=aa; accept t1; confirm t2 irreversible hash=aa; call pay irreversible hash=aa | accept t2; call pay irreversible hash=aa
CONSENT irreversible | start; confirm t1 undoable; accept t1; call pay irreversible | call pay
# An answer by a rule gives no consent.
CONSENT irreversible | start; confirm t1; accept t1 auto; call pay irreversible | call pay
CONSENT irreversible | start; confirm t1 hash=aa; accept t1 auto; call pay irreversible hash=aa | call pay hash=aa
# An accept lasts for a minute; then it is asked again.
LAPSED irreversible | start; confirm t1 irreversible hash=aa; accept t1; wait 60; call pay irreversible hash=aa | confirm t2 irreversible hash=aa; accept t2; call pay irreversible hash=aa
LAPSED irreversible | start; confirm t1 irreversible; accept t1; wait 301; call pay irreversible | confirm t2; accept t2; wait 59; call pay irreversible
LAPSED irreversible | start; confirm t1 call=c1; accept t1; wait 60; call pay c1 irreversible | call pay c1
LAPSED irreversible | start; confirm t1; accept t1; confirm t2; wait 60; call pay irreversible | accept t2; call pay irreversible
CONSENT irreversible | start; confirm t1 hash=aa; accept t1; wait 60; call pay irreversible hash=bb | call pay hash=bb
BLOCKED extensions.tasuki.action_hash | start; confirm t1 hash=aa; accept t1; wait 60; confirm t2 hash=aa; call pay irreversible hash=aa | accept t2; call pay irreversible hash=aa
REFUSED extensions.tasuki.action_hash | start; confirm t1 hash=aa; accept t1; wait 60; confirm t2 hash=aa; reject t2; call pay irreversible hash=aa | confirm t3 hash=aa; accept t3; call pay irreversible hash=aa
DONE type | start; confirm t1 about=pay irreversible; accept t1; wait 60; complete | confirm t2 about=pay irreversible; accept t2; call pay irreversible; return pay; complete
# The very call that was confirmed.
BOUND extensions.tasuki.action_hash | start; confirm t1 irreversible call=c1 hash=aa; accept t1; call pay c1 irreversible hash=bb | call pay c1 irreversible hash=aa
BOUND extensions.tasuki.action_hash | start; confirm t1 call=c1 hash=aa; accept t1; call pay c1 irreversible | call pay c1 irreversible hash=aa
BOUND extensions.tasuki.action_hash | start; confirm t1 call=c1 hash=aa; accept t1; call pay c1 | call pay c1 hash=aa
BOUND tool_call_id | start; confirm t1 call=c1 hash=aa; accept t1; call pay c2 irreversible hash=aa | call pay c1 irreversible hash=aa
BOUND tool_call_id | start; confirm t1 call=c1 hash=aa; accept t1; call pay irreversible hash=aa | call pay c1 irreversible hash=aa
BOUND extensions.tasuki.action_hash | start; confirm t1; confirm t2 call=c1 hash=aa; accept t1; accept t2; call pay c1 irreversible hash=bb | call pay c2 irreversible hash=bb
BOUND_BY_HASH extensions.tasuki.action_hash | start; confirm t1; accept t1; call pay irreversible | call look
BOUND_BY_HASH extensions.tasuki.action_hash | start; confirm t1 call=c1; accept t1; call pay c1 irreversible | call look
BOUND_BY_HASH extensions.tasuki.action_hash | start; confirm t1 irreversible | confirm t1 irreversible hash=aa; accept t1; call pay irreversible hash=aa
BOUND_BY_HASH extensions.tasuki.action_hash | start; confirm t1 irreversible call=c1 | confirm t1
# A question blocks its action, and a reject ends it.
BLOCKED tool_call_id | start; confirm t1 call=c1; call pay c1 | accept t1; call pay c1
BLOCKED tool_call_id | start; confirm t1 irreversible call=c1 hash=aa; call pay c1 irreversible hash=aa | accept t1; call pay c1 irreversible hash=aa
BLOCKED extensions.tasuki.action_hash | start; confirm t1 hash=aa; call pay hash=aa | accept t1; call pay hash=aa
BLOCKED extensions.tasuki.action_hash | start; confirm t1 call=c1 hash=aa; call pay c2 hash=aa | accept t1; call pay c1 hash=aa
REFUSED tool_call_id | start; confirm t1 call=c1; reject t1; call pay c1 | state idle>thinking
REFUSED extensions.tasuki.action_hash | start; confirm t1 hash=aa; reject t1; call pay hash=aa | state idle>thinking
REFUSED extensions.tasuki.action_hash | start; confirm t1 hash=aa; wait 300; elapse t1; call pay irreversible hash=aa | state idle>thinking
REFUSED extensions.tasuki.action_hash | start; confirm t1 call=c1 hash=aa; reject t1; call pay c2 hash=aa | confirm t2 call=c2 hash=aa
REFUSED tool_call_id | start; state idle>awaiting_input; confirm t1 call=c1; state awaiting_input>thinking; call pay c1 | call pay c2
REFUSED tool_call_id | start; confirm t1 call=c1 hash=aa; reject t1; confirm t2 call=c2 hash=aa; accept t2; call pay c1 hash=aa | call pay c2 hash=aa
ASKED_ONCE action | start; confirm t1 about=pay; confirm t2 about=pay | confirm t2 about=book
ASKED_ONCE action | start; confirm t1 hash=aa; confirm t2 hash=aa | confirm t2 hash=bb
ASKED_ONCE action | start; confirm t1 call=c1 hash=aa; confirm t2 call=c1 hash=bb | confirm t2 call=c2 hash=bb
ASKED_ONCE action | start; confirm t1 about=pay hash=aa; confirm t2 about=pay | reject t1; confirm t2 about=pay
ASKED_BEFORE extensions.tasuki.tool_call_id | start; call pay c1; confirm t1 call=c1 | return pay c1; confirm t1 call=c2
ASKED_BEFORE extensions.tasuki.tool_call_id | start; call pay c1; return pay c1; confirm t1 irreversible call=c1 | complete
TOKEN_ONCE reply_token | start; confirm t1 about=a; confirm t1 about=b | confirm t2 about=b
TOKEN_ONCE reply_token | start; confirm t1; reject t1; confirm t1 | confirm t2
TOKEN_ONCE reply_token | start; ask t1; answer t1 blue; confirm t1 | confirm t2
TOKEN_ONCE reply_token | start; ask t1; answer t1 blue; ask t1 | ask t2
# Defaults.
DEFAULT_REJECT default_decision | start; confirm t1 irreversible high default=accept | confirm t1 irreversible high
DEFAULT_REJECT default_decision | start; confirm t1 irreversible medium default=accept | confirm t1 irreversible medium
DEFAULT_REJECT default_decision | start; confirm t1 irreversible low default=accept | confirm t1 irreversible low
DEFAULT_REJECT default_decision | start; confirm t1 irreversible default=accept | confirm t1 irreversible
DEFAULT_REJECT default_decision | start; confirm t1 reversal=irreversible low default=accept | confirm t1 reversal=irreversible
DEFAULT_REJECT default_decision | start; confirm t1 irreversible reversal=reversible default=accept | confirm t1 irreversible reversal=reversible
DEFAULT_REJECT default_decision | start; confirm t1 reversal=reversible_with_effort high default=accept | confirm t1 reversal=reversible_with_effort low default=accept
DEFAULT_REJECT default_decision | start; confirm t1 reversal=reversible_with_effort medium default=accept | confirm t1 reversal=reversible medium default=accept
# A successful end.
SETTLED type | start; confirm t1; complete | accept t1; call pay; return pay; complete
SETTLED type | start; ask t1; complete | answer t1 blue; complete
SETTLED type | start; confirm t1; complete | cancel
DONE type | start; confirm t1; accept t1; complete | call pay; return pay; complete
DONE type | start; confirm t1 irreversible; accept t1; call look; return look; complete | call pay irreversible; return pay; complete
DONE type | start; confirm t1 hash=aa; accept t1; call look; return look; complete | call pay hash=aa; return pay; complete
DONE type | start; confirm t1; confirm t2; accept t1; accept t2; call pay; return pay; complete | call pay; return pay; complete
DONE type | start; confirm t1 default=accept timeout=5; wait 5; elapse t1; complete | error
TOLD type | start; confirm t1; reject t1; complete | state idle>thinking; complete
TOLD type | start; confirm t1; wait 300; elapse t1; progress; complete | chunk 0 - last; complete
TOLD type | start; confirm t1; reject t1; call look; return look; complete | handoff; complete
TOLD type | start; confirm t1; reject t1; complete | cancel
";

/// Each list is filled to its limit with this step; the next one is refused with the field.
#[test]
fn what_a_session_keeps_is_bounded() {
    let cases: [(usize, &str, &str); 5] = [
        (CALLS_MAX, "call f cN", "tool"),
        (OUTPUTS_MAX, "chunk 0 a out=N", "output_id"),
        (QUESTIONS_MAX, "confirm N", "type"),
        (QUESTIONS_MAX, "ask N", "type"),
        (CONSENTS_MAX, "confirm N; accept N", "type"),
    ];
    for (limit, text, field) in cases {
        let (mut world, mut script) = (World::new(Weak::Allowed), Script::default());
        world.run(&mut script, "start");
        for number in 0..limit {
            world.run(&mut script, &text.replace('N', &number.to_string()));
        }
        let next = text.replace('N', "999");
        let unharmed = world.clone();
        let step = script.step(next.split(';').next().expect("a step"));
        let Err(No::Flaw(flaw)) = world.take(&step) else { panic!("{text} passes its limit") };
        assert_eq!((flaw.rule, flaw.field.as_str()), ("limit", field), "{text}");
        assert!(world == unharmed, "{text}");
    }
}

/// The stored names, each longer than its limit.
#[test]
fn names_that_are_kept_are_bounded() {
    let long = "x".repeat(2000);
    for (text, field) in [
        ("start agent=LONG", "producer.agent_id"),
        ("state idle>LONG", "to_state"),
        ("call LONG", "tool"),
        ("chunk 0 a out=LONG", "output_id"),
        ("confirm LONG", "reply_token"),
        ("confirm t1 hash=LONG", "extensions.tasuki.action_hash"),
        ("confirm t1 call=LONG", "extensions.tasuki.tool_call_id"),
        ("ask t1 choices=LONG", "choices"),
    ] {
        let (mut world, mut script) = (World::new(Weak::Allowed), Script::default());
        if !text.starts_with("start") {
            world.run(&mut script, "start");
        }
        let Err(No::Flaw(flaw)) = world.take(&script.step(&text.replace("LONG", &long))) else {
            panic!("{text} is let pass");
        };
        assert_eq!((flaw.rule, flaw.field.as_str()), ("limit", field), "{text}");
    }
    let (mut world, mut script) = (World::new(Weak::Allowed), Script::default());
    world.run(&mut script, "start");
    let mut step = script.step("call f c1");
    if let Step::Event(event) = &mut step
        && let Payload::ToolInvoked { tool_call_id, .. } = &mut event.payload
    {
        *tool_call_id = Some(long.into());
    }
    assert!(world.take(&step).is_err());
}

/// The oldest refusal is forgotten; an irreversible call is refused in any case.
#[test]
fn a_forgotten_refusal_gives_no_consent() {
    let (mut world, mut script) = (World::new(Weak::Allowed), Script::default());
    world.run(&mut script, "start");
    for number in 0..=REFUSED_MAX {
        world.run(&mut script, &format!("confirm {number} hash={number}; reject {number}"));
    }
    let refused = world.take(&script.step("call pay irreversible hash=0"));
    assert!(matches!(refused, Err(No::Flaw(flaw)) if flaw.rule == "4.3.1"));
    let refused = world.take(&script.step("call pay hash=1"));
    assert!(matches!(refused, Err(No::Flaw(flaw)) if flaw.rule == "4.5.3"));
    world.run(&mut script, "call pay hash=0");
}
