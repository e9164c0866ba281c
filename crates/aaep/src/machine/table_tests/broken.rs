//! Sequences that break a rule with their last step. Each is refused with that rule, changes
//! nothing, and the right step is then accepted.

use super::broken_consent;
use super::script::{No, Script, World, steps};
use crate::flaw::{Flaw, Tier};
use crate::machine::{Weak, rules};

/// One line of the tables: `RULE field | sequence | what may come instead`.
pub(super) struct Row {
    pub(super) rule: &'static str,
    field: &'static str,
    pub(super) sequence: &'static str,
    instead: &'static str,
}

#[test]
fn broken_sequences_are_refused_and_do_no_harm() {
    assert!(rows().count() >= 80, "{} rows", rows().count());
    for row in rows() {
        refused(&row);
    }
}

#[test]
fn every_rule_has_a_broken_sequence() {
    for (name, _) in rules::ALL {
        assert!(rows().any(|row| row.rule == *name), "{name} has no row");
    }
}

pub(super) fn rows() -> impl Iterator<Item = Row> {
    let lines = ROWS.lines().chain(broken_consent::ROWS.lines());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let mut cells = line.split('|').map(str::trim);
        let mut cell = || cells.next().expect("three cells");
        let (rule, field) = cell().split_once(' ').expect("a rule and a field");
        Row { rule, field, sequence: cell(), instead: cell() }
    })
}

/// Runs a row, and returns the flaw of its last step.
pub(super) fn refused(row: &Row) -> Flaw {
    let Row { rule: name, field, sequence: text, instead } = row;
    let (_, rule) = rules::ALL.iter().find(|(known, _)| known == name).expect(name);
    let weak = if *name == "BOUND_BY_HASH" { Weak::Refused } else { Weak::Allowed };
    let (mut world, mut script) = (World::new(weak), Script::default());
    let (before, last) = text.rsplit_once(';').unwrap_or(("", text));
    world.run(&mut script, before);
    let unharmed = world.clone();
    let Err(No::Flaw(flaw)) = world.take(&script.step(last.trim())) else {
        panic!("`{last}` of `{text}` is let pass");
    };
    assert_eq!((flaw.rule, flaw.field.as_str()), (rule.number, *field), "{text}: {flaw}");
    assert_eq!(flaw.tier, Tier::Session);
    assert!(world == unharmed, "`{last}` of `{text}` has changed the session");
    for line in steps(instead) {
        let no = world.take(&script.step(line));
        assert!(no.is_ok(), "`{line}` after `{text}`: {no:?}");
    }
    flaw
}

const ROWS: &str = r"
# Start and end.
STARTS type | state idle>thinking | start
STARTS type | complete | start
STARTS type | call f | start; call f
STARTS type | extension | start
STARTS_ONCE type | start; start | complete
STARTS_ONCE type | start; progress; start | complete
ENDS_ONCE type | start; complete; complete | 
ENDS_ONCE type | start; complete; error | 
ENDS_ONCE type | start; error; cancel | 
ENDS_ONCE type | start; cancel; complete | 
NOTHING_AFTER type | start; complete; progress | 
NOTHING_AFTER type | start; complete; start | 
NOTHING_AFTER type | start; error; chunk 0 sorry | 
NOTHING_AFTER type | start; cancel; extension | 
# The envelope.
SAME_SESSION session_id | start; progress session=2 | progress
SAME_AGENT producer.agent_id | start; progress agent=other | progress
EVENT_ONCE event_id | start id=a; progress id=a | progress id=b
EVENT_ONCE event_id | start; progress id=a; complete id=a | complete id=b
NUMBERED sequence_number | start n=1 | start n=0
NUMBERED sequence_number | start n=0; progress n=2 | progress n=1
NUMBERED sequence_number | start n=0; progress n=0 | progress n=1
NUMBERED sequence_number | start n=0; progress | progress n=1
NUMBERED sequence_number | start; progress n=1 | progress
NUMBERED sequence_number | start n=0; progress n=1; progress n=3 | progress n=2
TIME_FORWARD timestamp | start; progress back | progress
TIME_FORWARD timestamp | start; progress; complete back | complete
# Urgency.
ERRORED_CRITICAL urgency | start; error urgency=normal | error
ERRORED_CRITICAL urgency | start; error urgency=none | error
CONFIRMATION_CRITICAL urgency | start; confirm t1 urgency=none | confirm t1
CONFIRMATION_CRITICAL urgency | start; confirm t1 urgency=background | confirm t1
CLARIFICATION_CRITICAL urgency | start; ask t1 urgency=normal | ask t1
HANDOFF_CRITICAL urgency | start; handoff urgency=none | handoff
# States.
FIRST_STATE from_state | start; state thinking>deciding | state idle>deciding
FIRST_STATE from_state | start; call f; state calling_tool>thinking | return f
CHAINED_STATE from_state | start; state idle>thinking; state idle>deciding | state thinking>deciding
CHAINED_STATE from_state | start; state idle>thinking; state deciding>idle | state thinking>idle
CHAINED_STATE from_state | start; state idle>thinking; state calling_tool>idle | call f; return f; state calling_tool>idle
CHAINED_STATE from_state | start; state idle>thinking; chunk 0 a last; state calling_tool>idle | state writing_output>idle
CHAINED_STATE from_state | start; state idle>thinking; chunk 0 a last; state writing_output>idle; state writing_output>thinking | state idle>thinking
CHAINED_STATE from_state | start; state idle>thinking; progress; state handing_off>idle | handoff; state handing_off>idle
# Tools.
PAIRED tool | start; return f | call f; return f
PAIRED tool | start; call f; return g | return f
PAIRED tool | start; call f; return f; return f | complete
PAIRED tool | start; call f; call f; return f; return f; return f | complete
PAIRED tool_call_id | start; return f c1 | call f c1; return f c1
PAIRED tool_call_id | start; call f c1; return f c2 | return f c1
PAIRED tool_call_id | start; call f c1; return f c1; return f c1 | complete
PAIRED tool_call_id | start; call f c1; return f | return f c1
PAIRED tool_call_id | start; call f; return f c1 | return f
PAIRED tool_call_id | start; call f; call f c1; return f; return f | return f c1
SAME_TOOL tool | start; call f c1; return g c1 | return f c1
CALL_ONCE tool_call_id | start; call f c1; call f c1 | call f c2
CALL_ONCE tool_call_id | start; call f c1; return f c1; call g c1 | call g c2
RETURN_BEFORE_STATE from_state | start; state idle>calling_tool; call f; state calling_tool>thinking | return f; state calling_tool>thinking
RETURN_BEFORE_STATE from_state | start; state idle>thinking; call f; state calling_tool>writing_output | return f; state calling_tool>writing_output
RETURN_BEFORE_STATE from_state | start; call f c1; call g c2; return f c1; state idle>calling_tool; state calling_tool>thinking | return g c2
CALLS_CLOSED type | start; call f; complete | return f; complete
CALLS_CLOSED type | start; call f c1; error | return f c1 timeout; error
CALLS_CLOSED type | start; call f; call f; return f; cancel | return f timeout; cancel
# Limits.
LIMIT choices | start; ask t1 choices=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z,1,2,3,4,5,6,7 | ask t1 choices=a,b
LIMIT type | start; ask 1; ask 2; ask 3; ask 4; ask 5; ask 6; ask 7; ask 8; ask 9 | answer 1 blue; ask 9
# Outputs.
POSITION position | start; chunk 1 a | chunk 0 a
POSITION position | start; chunk 0 abc; chunk 2 d | chunk 3 d
POSITION position | start; chunk 0 abc; chunk 4 d | chunk 3 d
POSITION position | start; chunk 0 abc; chunk 0 d | chunk 3 d
POSITION position | start; chunk 0 日本; chunk 6 語 | chunk 2 語
POSITION position | start; chunk 0 🦀; chunk 2 a | chunk 1 a
POSITION position | start; chunk 0 abc out=a; chunk 3 d out=b | chunk 0 d out=b
POSITION position | start; chunk 0 abc out=a; chunk 3 d | chunk 0 d
OUTPUT_OVER output_id | start; chunk 0 abc last; chunk 3 d | chunk 0 d out=a
OUTPUT_OVER output_id | start; chunk 0 abc last; chunk 3 - last | complete
OUTPUT_OVER output_id | start; chunk 0 abc out=a last; chunk 3 d out=a | chunk 0 d out=b
OUTPUT_OVER output_id | start; chunk 0 a out=a; chunk 1 b out=a last; chunk 0 c out=a | complete
OUTPUT_COMPLETE type | start; chunk 0 abc; complete | chunk 3 - last; complete
OUTPUT_COMPLETE type | start; chunk 0 abc out=a; cancel | chunk 3 - out=a last; cancel
OUTPUT_COMPLETE type | start; chunk 0 - ; error | chunk 0 - last; error
";
