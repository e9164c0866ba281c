//! What a request must contain, and which of several faults is reported: the caller comes first,
//! then the state, then the content in the order people fill it in.

use super::script::{World, check};
use crate::handoff::RejectReason;
use crate::handoff::state::{Handoff, Stage};

#[test]
fn what_is_needed_to_leave_draft() {
    check(
        r#"
        sender initiate h1 -to_agent                      -> schema_invalid to_agent
        sender initiate h1 -task                          -> schema_invalid task
        sender initiate h1 -task.task_id                  -> schema_invalid task.task_id
        sender initiate h1 -task.title                    -> schema_invalid task.title
        sender initiate h1 task.title=""                  -> schema_invalid task.title
        sender initiate h1 task.title="two\nlines"        -> schema_invalid task.title
        sender initiate h1 task.title=x*301               -> schema_invalid task.title
        sender initiate h1 -task.success_criteria         -> schema_invalid task.success_criteria
        sender initiate h1 task.success_criteria=[]       -> schema_invalid task.success_criteria
        sender initiate h1 task.success_criteria=["ok","\t"] -> schema_invalid task.success_criteria[1]
        sender initiate h1 -context                       -> schema_invalid context.summary
        sender initiate h1 -context.summary               -> schema_invalid context.summary
        sender initiate h1 context.summary="\n"           -> schema_invalid context.summary
        sender initiate h1 -work_state                    -> schema_invalid work_state.next_step
        sender initiate h1 -work_state.next_step          -> schema_invalid work_state.next_step
        sender initiate h1 work_state.next_step=""        -> schema_invalid work_state.next_step
        sender initiate h1 deadline=+0s                   -> schema_invalid deadline
        sender initiate h1 task.deadline=+0s              -> schema_invalid task.deadline
        sender initiate h1 task.title=x*300 deadline=+1ms -> proposed
        "#,
    );
}

#[test]
fn a_draft_may_be_empty_but_not_wrong() {
    check(
        r#"
        sender draft h1 -to_agent -task -context -work_state -> draft
        sender initiate h1 saved                          -> schema_invalid to_agent
        sender draft h1 -context                          -> draft
        sender initiate h1 saved                          -> schema_invalid context.summary
        sender draft h1 task.title=""                     -> schema_invalid task.title
        sender draft h1 work_state.percent_complete=-1    -> schema_invalid work_state.percent_complete
        sender draft h1 work_state.percent_complete=100.5 -> schema_invalid work_state.percent_complete
        sender draft h1 artifacts=[{"artifact_id":"","ref":{"type":"file","path":"/a"}}] -> schema_invalid artifacts[0].artifact_id
        sender draft h1 artifacts=[{"artifact_id":"a","ref":{"type":"file","path":""}}] -> schema_invalid artifacts[0].ref.path
        sender draft h1 artifacts=[{"artifact_id":"a","ref":{"type":"file","path":"/a","sha256":"AB"}}] -> schema_invalid artifacts[0].ref.sha256
        sender draft h1 artifacts=[{"artifact_id":"a","ref":{"type":"file","path":"/a"}},{"artifact_id":"a","ref":{"type":"file","path":"/b"}}] -> schema_invalid artifacts[1].artifact_id
        sender draft h1 work_state.percent_complete=100   -> draft
        sender initiate h1 saved                          -> proposed
        "#,
    );
}

#[test]
fn an_offer_replaces_a_saved_draft() {
    check(
        r#"
        sender draft h1 to_agent=nobody                   -> draft
        sender initiate h1 saved                          -> unknown_agent to_agent
        sender initiate h1 to_agent=third                 -> proposed
        third accept h1                                   -> accepted
        "#,
    );
    check(
        r#"
        sender draft h1                                   -> draft
        lose h1
        sender initiate h1 saved                          -> not_found
        sender initiate h1                                -> proposed
        "#,
    );
    check("sender initiate h1 saved -> not_found");
}

#[test]
fn who_can_be_a_target() {
    check(
        r#"
        sender initiate h1 to_agent=nobody why -> unknown_agent: to_agent: no agent `nobody` in this teamspace
        sender initiate h1 to_agent=router why -> schema_invalid: to_agent: expected a worker, a human or a queue; a system agent never owns a task
        sender initiate h1 to_agent=human                 -> proposed
        sender initiate h2 to_agent=desk task.task_id=t2  -> proposed
        sender initiate h3 to_agent=third task.task_id=t3 -> proposed
        "#,
    );
}

#[test]
fn the_first_of_several_faults_is_named() {
    // The caller.
    check(
        r#"
        operator initiate h1 -to_agent                    -> not_allowed
        sender draft h1                                   -> draft
        stranger initiate h1 -to_agent                    -> not_allowed
        stranger draft h1 task.title=""                   -> not_allowed
        sender initiate h1 saved                          -> proposed
        stranger draft h1 task.title=""                   -> not_allowed
        stranger accept h1 notes=x*16385                  -> not_allowed
        stranger reject h1 detail=""                      -> not_allowed
        stranger activate h1 work_state_update={"percent_complete":101} -> not_allowed
        stranger complete h1 completion_notes=x*16385     -> not_allowed
        stranger close h1 closure_notes=x*16385           -> not_allowed
        "#,
    );
    // Then the state.
    check(
        r#"
        sender initiate h1                                -> proposed
        sender draft h1 task.title=""                     -> wrong_state
        sender initiate h1 -to_agent                      -> wrong_state
        target activate h1 work_state_update={"percent_complete":101} -> wrong_state
        target complete h1 completion_notes=x*16385       -> wrong_state
        sender close h1 closure_notes=x*16385             -> wrong_state
        target reject h1                                  -> rejected
        target accept h1 notes=x*16385                    -> wrong_state
        target reject h1 detail=""                        -> wrong_state
        "#,
    );
    // Then the content: the offer itself, then the target, then the task.
    check(
        r#"
        sender initiate h1                                -> proposed
        sender initiate h2 to_agent=nobody -task.title    -> schema_invalid task.title
        sender initiate h2 to_agent=nobody                -> unknown_agent to_agent
        sender initiate h2 to_agent=third                 -> ownership_conflict
        "#,
    );
    // Within a task: an active handoff, then the sender, then the target, then the length.
    check(
        r#"
        sender initiate h1                                -> proposed
        stranger initiate h2 to_agent=sender why -> ownership_conflict: task `t1` has an active handoff already: 01938c2e-0000-7000-8000-000000000001
        target reject h1                                  -> rejected
        stranger initiate h2 to_agent=sender why -> ownership_conflict: `stranger` has never owned task `t1` (chain: sender)
        sender initiate h2 to_agent=sender why -> ownership_conflict: `sender` is the last owner of task `t1`; name another agent
        "#,
    );
}

#[test]
fn texts_for_people_have_a_limit() {
    check(
        r#"
        sender initiate h1 reason=x*16385                 -> schema_invalid reason
        sender initiate h1 reason=x*16384                 -> proposed
        target accept h1 notes=x*16385                    -> schema_invalid notes
        target reject h1 detail=x*16385                   -> schema_invalid detail
        target reject h1 suggested_fix=x*16385            -> schema_invalid suggested_fix
        target accept h1 notes=x*16384                    -> accepted
        target activate h1 work_state_update={"percent_complete":101} -> schema_invalid work_state_update.percent_complete
        target activate h1 work_state_update={"percent_complete":10} -> activated
        target complete h1 completion_notes=x*16385       -> schema_invalid completion_notes
        target complete h1 final_artifacts=[{"artifact_id":"","ref":{"type":"url","path":"u"}}] -> schema_invalid final_artifacts[0].artifact_id
        target complete h1 completion_notes=x*16384       -> completed
        sender close h1 closure_notes=x*16385             -> schema_invalid closure_notes
        sender close h1 closure_notes=x*16384             -> closed
        "#,
    );
}

#[test]
fn a_reject_needs_a_reason_and_a_detail() {
    check(
        r#"
        sender initiate h1                                -> proposed
        target reject h1 detail=""                        -> schema_invalid detail
        target reject h1 detail="\n" why -> schema_invalid: detail: expected an explanation that the sender can act on
        target reject h1 reason=other detail=no suggested_fix=yes -> rejected
        notes h1                                          -> other: no
        sender close h1                                   -> closed
        notes h1                                          -> other: no, closed from rejected
        "#,
    );
}

#[test]
fn all_ten_reasons_from_every_state_that_can_be_rejected() {
    let to_state = [
        ("proposed", &[][..]),
        ("accepted", &["target accept h1"][..]),
        ("activated", &["target accept h1", "target activate h1"][..]),
    ];
    assert_eq!(RejectReason::ALL.len(), 10);
    for reason in RejectReason::ALL {
        for (state, lines) in to_state {
            let mut world = World::new();
            world.play("sender initiate h1");
            for line in lines {
                world.play(line);
            }
            let name = reason.as_str();
            let shown = world.play(&format!("target reject h1 reason={name} detail=because"));
            assert_eq!(shown, "rejected", "{name} from {state}");
            assert_eq!(world.play("notes h1"), format!("{name}: because"), "{name} from {state}");
            assert_eq!(world.play("hold t1"), "free [sender]", "{name} from {state}");
            let Handoff::Made(made) = &world.handoffs["h1"] else { panic!("it was proposed") };
            let Stage::Rejected { reason: kept, .. } = &made.stage else { panic!("rejected") };
            assert_eq!(*kept, reason, "from {state}");
            assert_eq!(name.parse(), Ok(reason));
        }
    }
    assert!("boredom".parse::<RejectReason>().is_err());
}
