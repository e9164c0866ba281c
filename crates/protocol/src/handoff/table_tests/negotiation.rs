//! After a proposal: counter-offers, withdrawal, more time.

use super::script::check;

#[test]
fn a_counter_offer_is_the_same_handoff_with_another_package() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target reject h1 reason=success_criteria_ambiguous detail=how-green -> rejected
        hold t1                             -> free [sender]
        target counter h1 context.summary=x -> not_allowed
        coordinator counter h1 context.summary=x -> not_allowed
        sender counter h1                   -> schema_invalid body
        sender counter h1 task.success_criteria=["CI","is","green"] -> proposed
        hold t1                             -> h1 [sender]
        armed h1                            -> proposed→validating at +5m
        target accept h1                    -> accepted
        notes h1                            -> success_criteria_ambiguous: how-green
        "#,
    );
}

#[test]
fn a_counter_offer_keeps_task_and_target() {
    check(
        r#"
        sender initiate h1                  -> proposed
        sender counter h1 context.summary=x -> wrong_state
        target reject h1                    -> rejected
        sender counter h1 to_agent=other    -> schema_invalid to_agent
        sender counter h1 task.task_id=t2   -> schema_invalid task.task_id
        sender counter h1 -to_agent -task context.summary=x -> proposed
        target reject h1                    -> rejected
        sender close h1                     -> closed
        sender counter h1 context.summary=y -> wrong_state
        "#,
    );
}

#[test]
fn a_task_that_was_offered_elsewhere_cannot_be_countered() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target reject h1                    -> rejected
        sender initiate h2 to_agent=other   -> proposed
        sender counter h1 context.summary=x -> ownership_conflict
        other accept h2                     -> accepted
        other activate h2                   -> activated
        other complete h2                   -> completed
        sender counter h1 context.summary=x -> proposed
        hold t1                             -> h1 [sender other]
        "#,
    );
}

#[test]
fn a_negotiation_has_an_end() {
    let mut script = "sender initiate h1 -> proposed\ntarget reject h1 -> rejected\n".to_owned();
    for round in 2..=16 {
        script.push_str(&format!("sender counter h1 context.summary=round-{round} -> proposed\n"));
        script.push_str("target reject h1 -> rejected\n");
    }
    script.push_str("sender counter h1 context.summary=once-more -> wrong_state\n");
    check(&script);
}

#[test]
fn the_artifacts_of_a_counter_offer_are_looked_at_anew() {
    check(
        r#"
        sender initiate h1 artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}] -> proposed
        target accept h1                    -> validating (wants look)
        system verified h1 log=missing      -> rejected
        sender counter h1 artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/new/log"}}] -> proposed
        target accept h1                    -> validating (wants look)
        system verified h1 log=verified     -> accepted
        "#,
    );
}

#[test]
fn a_sender_takes_back_what_is_not_accepted() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target withdraw h1                  -> not_allowed
        sender withdraw h1 why=mistake      -> closed
        notes h1                            -> closed from proposed
        hold t1                             -> free [sender]
        sender initiate h2                  -> proposed
        target accept h2                    -> accepted
        sender withdraw h2                  -> wrong_state
        "#,
    );
}

#[test]
fn a_coordinator_gives_more_time() {
    check(
        r#"
        sender initiate h1                  -> proposed
        armed h1                            -> proposed→validating at +5m
        sender extend_sla h1                -> not_allowed
        coordinator extend_sla h1 due=2020-01-01T00:00:00Z -> schema_invalid due
        coordinator extend_sla h1 due=+20000h -> schema_invalid due
        coordinator extend_sla h1 why=      -> schema_invalid why
        coordinator extend_sla h1 due=+1h   -> proposed
        armed h1                            -> proposed→validating at +1h
        wait 6m
        system elapse h1 due=5m             -> proposed (nothing recorded)
        wait 1h
        system elapse h1                    -> proposed (escalated)
        armed h1                            -> nothing
        coordinator extend_sla h1 due=+1h   -> proposed
        armed h1                            -> proposed→validating at +126m
        wait 1h
        system elapse h1                    -> proposed (escalated)
        target accept h1                    -> accepted
        armed h1                            -> accepted→activated at +141m
        target activate h1                  -> activated
        target complete h1                  -> completed
        coordinator extend_sla h1           -> wrong_state
        "#,
    );
}
