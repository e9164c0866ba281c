//! Deadlines: which is armed, when it is due, and that a stage escalates once.

use super::script::check;

#[test]
fn each_stage_has_its_own_limit() {
    check(
        r#"
        sender draft h1                     -> draft
        armed h1                            -> nothing
        wait 1h
        sender initiate h1 saved            -> proposed
        armed h1                            -> proposed→validating at +65m
        wait 1m
        target accept h1                    -> accepted
        armed h1                            -> accepted→activated at +76m
        wait 2m
        target activate h1                  -> activated
        armed h1                            -> activated→completed at +1503m
        target complete h1                  -> completed
        armed h1                            -> nothing
        sender close h1                     -> closed
        armed h1                            -> nothing
        "#,
    );
}

#[test]
fn nothing_is_armed_once_it_is_decided() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target reject h1                    -> rejected
        armed h1                            -> nothing
        sender initiate h2                  -> proposed
        armed h2                            -> proposed→validating at +5m
        coordinator close h2                -> closed
        armed h2                            -> nothing
        "#,
    );
}

#[test]
fn a_deadline_of_its_own_replaces_the_limit_of_the_work() {
    check(
        r#"
        sender initiate h1 deadline=+2h     -> proposed
        armed h1                            -> proposed→validating at +5m
        target accept h1                    -> accepted
        armed h1                            -> accepted→activated at +15m
        wait 10m
        target activate h1                  -> activated
        armed h1                            -> activated→completed at +2h
        "#,
    );
    check(
        r#"
        sender initiate h1 task.deadline=+3h deadline=+48h -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        armed h1                            -> activated→completed at +48h
        "#,
    );
    // Work that starts after its deadline is overdue at once, and escalates once.
    check(
        r#"
        sender initiate h1 task.deadline=+1m -> proposed
        target accept h1                    -> accepted
        wait 10m
        target activate h1                  -> activated
        armed h1                            -> activated→completed at +1m
        system elapse h1                    -> activated (escalated)
        armed h1                            -> nothing
        "#,
    );
}

#[test]
fn a_stage_escalates_exactly_once_and_stays_where_it_is() {
    check(
        r#"
        sender initiate h1                  -> proposed
        wait 299s
        system elapse h1                    -> proposed (nothing recorded)
        armed h1                            -> proposed→validating at +5m
        wait 1s
        system elapse h1                    -> proposed (escalated)
        armed h1                            -> nothing
        hold t1                             -> h1 [sender]
        system elapse h1 stage=proposed→validating due=5m -> proposed (nothing recorded)
        wait 24h
        system elapse h1 stage=proposed→validating due=5m -> proposed (nothing recorded)
        notes h1                            -> proposed→validating took 5m of 5m
        target accept h1                    -> accepted
        armed h1                            -> accepted→activated at +1460m
        wait 16m
        system elapse h1                    -> accepted (escalated)
        target activate h1                  -> activated
        wait 25h
        system elapse h1                    -> activated (escalated)
        system elapse h1 stage=activated→completed due=50h -> activated (nothing recorded)
        notes h1 -> proposed→validating took 5m of 5m, accepted→activated took 16m of 15m, activated→completed took 25h of 24h
        target complete h1                  -> completed
        "#,
    );
}

#[test]
fn a_deadline_that_the_world_overtook_says_nothing() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        wait 24h
        system elapse h1 stage=proposed→validating due=5m -> accepted (nothing recorded)
        system elapse h1 stage=accepted→activated due=14m -> accepted (nothing recorded)
        system elapse h1 stage=accepted→activated due=16m -> accepted (nothing recorded)
        target reject h1                    -> rejected
        system elapse h1 stage=accepted→activated due=15m -> rejected (nothing recorded)
        sender close h1                     -> closed
        system elapse h1 stage=accepted→activated due=15m -> closed (nothing recorded)
        "#,
    );
}

#[test]
fn nobody_but_the_server_says_that_time_is_up() {
    check(
        r#"
        sender initiate h1                  -> proposed
        wait 5m
        sender elapse h1                    -> not_allowed
        coordinator elapse h1               -> not_allowed
        operator elapse h1 why              -> not_allowed: only the server may elapse
        system elapse h1                    -> proposed (escalated)
        "#,
    );
}

#[test]
fn a_handoff_may_have_limits_of_its_own() {
    check(
        r#"
        sender initiate h1 sla={"proposed":"0s"}        -> schema_invalid sla.proposed
        sender initiate h1 sla={"activated":"366d"}     -> schema_invalid sla.activated
        sender initiate h1 sla={"warn_percent":100}     -> schema_invalid sla.warn_percent
        sender initiate h1 sla={"proposed":"90s","activated":"2h"} -> proposed
        armed h1                            -> proposed→validating at +90s
        target accept h1                    -> accepted
        armed h1                            -> accepted→activated at +15m
        target activate h1                  -> activated
        armed h1                            -> activated→completed at +2h
        "#,
    );
}

#[test]
fn a_warning_comes_before_the_limit_and_once() {
    check(
        r#"
        sender initiate h1 sla={"warn_percent":80} -> proposed
        armed h1                            -> warn/proposed→validating at +4m
        system warn h1                      -> proposed (nothing recorded)
        wait 4m
        target warn h1                      -> not_allowed
        system warn h1                      -> proposed (warned)
        armed h1                            -> proposed→validating at +5m
        wait 1m
        system elapse h1                    -> proposed (escalated)
        armed h1                            -> nothing
        coordinator extend_sla h1 due=+5m   -> proposed
        armed h1                            -> warn/proposed→validating at +8m
        target accept h1                    -> accepted
        armed h1                            -> warn/accepted→activated at +17m
        "#,
    );
}
