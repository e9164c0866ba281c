//! The results of verifying artifacts, and what follows from them.

use super::script::check;

#[test]
fn artifacts_are_looked_at_before_it_is_accepted() {
    check(
        r#"
        sender initiate h1 artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}] -> proposed
        target accept h1                    -> validating (wants look)
        armed h1                            -> validating→accepted/rejected at +10m
        target activate h1                  -> wrong_state
        target verified h1 log=verified     -> not_allowed
        operator verified h1 log=verified   -> not_allowed
        system verified h1 log=verified     -> accepted
        system verified h1 log=missing      -> accepted (nothing recorded)
        target activate h1                  -> activated
        "#,
    );
}

#[test]
fn what_is_found_gives_the_reason() {
    for (found, outcome) in [
        ("log=missing", "rejected"),
        ("log=changed", "rejected"),
        ("log=forbidden", "rejected"),
        ("log=present", "accepted"),
        ("log=unverifiable", "accepted"),
        ("log=unavailable", "validating (wants look)"),
        ("other=verified", "validating (wants look)"),
    ] {
        check(&format!(
            r#"
            sender initiate h1 artifacts=[{{"artifact_id":"log","ref":{{"type":"file","path":"/log"}}}}] -> proposed
            target accept h1                -> validating (wants look)
            system verified h1 {found}      -> {outcome}
            "#
        ));
    }
    check(
        r#"
        sender initiate h1 artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}},{"artifact_id":"plan","ref":{"type":"file","path":"/plan"}}] -> proposed
        target accept h1                    -> validating (wants look)
        system verified h1 log=changed plan=missing -> rejected
        notes h1 -> hash_mismatch: artifact:log: log is changed; artifact:plan: plan is missing
        hold t1                             -> free [sender]
        "#,
    );
}

#[test]
fn what_can_be_missed_may_be_missing_but_not_changed() {
    let artifact = r#"{"artifact_id":"log","ref":{"type":"file","path":"/log","required":false}}"#;
    for (found, outcome) in [
        ("log=missing", "accepted"),
        ("log=forbidden", "accepted"),
        ("log=unavailable", "accepted"),
        ("log=changed", "rejected"),
    ] {
        check(&format!(
            r#"
            sender initiate h1 artifacts=[{artifact}] -> proposed
            target accept h1                -> validating (wants look)
            system verified h1 {found}      -> {outcome}
            "#
        ));
    }
}

#[test]
fn while_nobody_can_look_it_waits_and_says_so_once() {
    check(
        r#"
        sender initiate h1 artifacts=[{"artifact_id":"log","ref":{"type":"url","path":"https://a.test/log"}}] -> proposed
        target accept h1                    -> validating (wants fetch)
        system verified h1 log=unavailable  -> validating (wants fetch)
        system verified h1 log=unavailable  -> validating (nothing recorded) (wants fetch)
        wait 11m
        system elapse h1                    -> validating (escalated) (wants fetch)
        system verified h1 log=verified     -> accepted
        "#,
    );
}

#[test]
fn news_of_another_package_says_nothing() {
    check(
        r#"
        sender initiate h1 artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}] -> proposed
        target accept h1                    -> validating (wants look)
        system verified h1 of=another log=missing -> validating (nothing recorded) (wants look)
        target reject h1                    -> rejected
        system verified h1 log=verified     -> rejected (nothing recorded)
        "#,
    );
}

#[test]
fn the_target_picks_among_what_can_be_missed() {
    let both = concat!(
        r#"artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}},"#,
        r#"{"artifact_id":"plan","ref":{"type":"file","path":"/plan","required":false}}]"#,
    );
    check(&format!(
        r#"
        sender initiate h1 {both}           -> proposed
        target accept h1 artifacts=["plan"] why -> schema_invalid: artifacts: expected `log` to be among them, which the sender requires
        target accept h1 artifacts=["log","tape"] why -> schema_invalid: artifacts[1]: expected the id of an artifact of the package
        target accept h1 artifacts=["log","log"] why -> schema_invalid: artifacts[1]: expected each artifact once
        target accept h1 artifacts=["log"]  -> validating (wants look)
        system verified h1 log=verified     -> accepted
        "#
    ));
    check(
        r#"
        sender initiate h1 artifacts=[{"artifact_id":"plan","ref":{"type":"file","path":"/plan","required":false}}] -> proposed
        target accept h1 artifacts=[]       -> accepted
        "#,
    );
}

#[test]
fn a_package_that_changes_while_its_artifacts_are_looked_at_is_caught() {
    for (harm, outcome) in [
        ("lose h1", "rejected"),
        ("tamper h1 artifacts=[]", "rejected"),
        ("tamper h1 context.summary=changed", "rejected"),
    ] {
        check(&format!(
            r#"
            sender initiate h1 artifacts=[{{"artifact_id":"log","ref":{{"type":"file","path":"/log"}}}}] -> proposed
            target accept h1                -> validating (wants look)
            {harm}
            system verified h1 log=verified -> {outcome}
            "#
        ));
    }
}
