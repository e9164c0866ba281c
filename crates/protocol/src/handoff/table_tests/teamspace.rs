//! What a teamspace sets for all its handoffs, and who may assign a merge task.

use super::script::check;

#[test]
fn the_limits_are_the_handoffs_own_then_the_teamspaces_then_the_usual_ones() {
    check(
        r#"
        sender initiate h1 task.task_id=t1  -> proposed
        armed h1                            -> proposed→validating at +5m
        settings sla={"proposed":"2m","activated":"3h"}
        armed h1                            -> proposed→validating at +5m
        sender initiate h2 task.task_id=t2  -> proposed
        armed h2                            -> proposed→validating at +2m
        target accept h2                    -> accepted
        armed h2                            -> accepted→activated at +15m
        target activate h2                  -> activated
        armed h2                            -> activated→completed at +3h
        sender initiate h3 task.task_id=t3 sla={"proposed":"1m"} -> proposed
        armed h3                            -> proposed→validating at +1m
        target accept h3                    -> accepted
        target activate h3                  -> activated
        armed h3                            -> activated→completed at +3h
        settings sla={"proposed":"4m"}
        armed h3                            -> activated→completed at +3h
        target accept h1                    -> accepted
        target activate h1                  -> activated
        armed h1                            -> activated→completed at +24h
        "#,
    );
}

#[test]
fn a_teamspace_warns_for_those_that_do_not_say_when() {
    check(
        r#"
        settings sla={"proposed":"10m","warn_percent":50}
        sender initiate h1                  -> proposed
        armed h1                            -> warn/proposed→validating at +5m
        sender initiate h2 task.task_id=t2 sla={"warn_percent":80} -> proposed
        armed h2                            -> warn/proposed→validating at +8m
        "#,
    );
}

#[test]
fn a_draft_gets_the_limits_of_the_day_it_is_proposed() {
    check(
        r#"
        settings sla={"proposed":"2m"}
        sender draft h1                     -> draft
        settings sla={"proposed":"3m"}
        sender initiate h1 saved            -> proposed
        armed h1                            -> proposed→validating at +3m
        "#,
    );
}

#[test]
fn a_counter_offer_keeps_what_was_agreed_on_unless_it_says_otherwise() {
    check(
        r#"
        settings sla={"proposed":"2m","accepted":"4m"}
        sender initiate h1                  -> proposed
        target reject h1                    -> rejected
        settings sla={"proposed":"3m","accepted":"6m"}
        sender counter h1 context.summary=changed -> proposed
        armed h1                            -> proposed→validating at +2m
        target reject h1                    -> rejected
        sender counter h1 context.summary=again sla={"proposed":"1m"} -> proposed
        armed h1                            -> proposed→validating at +1m
        target accept h1                    -> accepted
        armed h1                            -> accepted→activated at +4m
        target reject h1                    -> rejected
        sender counter h1 context.summary=more sla.accepted=null -> proposed
        target accept h1                    -> accepted
        armed h1                            -> accepted→activated at +6m
        "#,
    );
}

#[test]
fn integrators_assign_merge_tasks_only() {
    check(
        r#"
        integrator initiate h1 task.kind=merge -> not_allowed
        sender initiate h1 task.kind=merge  -> proposed
        target reject h1                    -> rejected
        sender close h1                     -> closed
        third initiate h2 to_agent=fourth   -> ownership_conflict
        integrator initiate h2 to_agent=third -> proposed
        hold t1                             -> h2 [sender]
        third accept h2                     -> accepted
        third activate h2                   -> activated
        third complete h2                   -> completed
        integrator initiate h3 to_agent=sender return=true -> proposed (return)
        sender initiate h4 task.task_id=t2  -> proposed
        target reject h4                    -> rejected
        integrator initiate h5 task.task_id=t2 to_agent=third -> ownership_conflict
        coordinator initiate h5 task.task_id=t2 to_agent=third -> proposed
        "#,
    );
}

#[test]
fn the_first_handoff_says_what_kind_of_task_it_is() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target reject h1                    -> rejected
        integrator initiate h2 to_agent=third task.kind=merge -> ownership_conflict
        sender initiate h2 to_agent=third task.kind=merge -> schema_invalid task.kind
        sender counter h1 task.kind=merge   -> schema_invalid task.kind
        sender counter h1 context.summary=changed task.kind=execution -> proposed
        sender initiate h3 task.task_id=t2 task.kind=merge -> proposed
        target accept h3                    -> accepted
        target activate h3                  -> activated
        target complete h3                  -> completed
        target initiate h4 task.task_id=t2 to_agent=third task.kind=execution -> schema_invalid task.kind
        target initiate h4 task.task_id=t2 to_agent=third -> proposed
        third reject h4                     -> rejected
        integrator initiate h5 task.task_id=t2 to_agent=fourth -> proposed
        "#,
    );
}
