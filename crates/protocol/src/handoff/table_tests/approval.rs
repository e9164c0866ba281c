//! Approval by a human: who may give it, when, and what follows.

use super::script::check;

#[test]
fn what_needs_a_human_waits_for_one() {
    check(
        r#"
        sender initiate h1 policy.requires_human_approval=true -> proposed
        target accept h1                    -> validating
        target activate h1                  -> wrong_state
        human approve h1 why=sound          -> accepted
        colleague approve h1                -> wrong_state
        target activate h1                  -> activated
        "#,
    );
    check(
        r#"
        sender initiate h1 policy.human_gate=required -> proposed
        human approve h1                    -> proposed
        colleague refuse h1                 -> wrong_state
        target accept h1                    -> accepted
        "#,
    );
}

#[test]
fn a_human_and_the_artifacts_are_both_needed() {
    let artifacts = r#"artifacts=[{"artifact_id":"log","ref":{"type":"file","path":"/log"}}]"#;
    check(&format!(
        r#"
        sender initiate h1 policy.human_gate=required {artifacts} -> proposed
        target accept h1                    -> validating (wants look)
        human approve h1                    -> validating (wants look)
        system verified h1 log=verified     -> accepted
        "#
    ));
    check(&format!(
        r#"
        sender initiate h1 policy.human_gate=required {artifacts} -> proposed
        target accept h1                    -> validating (wants look)
        system verified h1 log=verified     -> validating
        armed h1                            -> validating→accepted/rejected at +10m
        human approve h1                    -> accepted
        "#
    ));
    check(&format!(
        r#"
        sender initiate h1 policy.human_gate=required {artifacts} -> proposed
        human approve h1                    -> proposed
        target accept h1                    -> validating (wants look)
        system verified h1 log=changed      -> rejected
        "#
    ));
}

#[test]
fn a_human_who_does_not_agree_rejects_it() {
    check(
        r#"
        sender initiate h1 policy.human_gate=required -> proposed
        human refuse h1 why=                -> schema_invalid why
        human refuse h1 why=not-today       -> rejected
        notes h1                            -> policy_violation: not-today
        hold t1                             -> free [sender]
        human approve h1                    -> wrong_state
        "#,
    );
}

#[test]
fn an_answer_counts_for_the_revision_that_was_read() {
    check(
        r#"
        sender initiate h1 policy.human_gate=required -> proposed
        human approve h1 revision=2         -> revision_outdated revision
        human refuse h1 revision=2 why=no   -> revision_outdated revision
        target reject h1                    -> rejected
        sender counter h1 context.summary=another -> proposed
        human approve h1 revision=1         -> revision_outdated revision
        human refuse h1 revision=1 why=no   -> revision_outdated revision
        human approve h1 revision=2         -> proposed
        "#,
    );
}

#[test]
fn only_a_human_with_the_right_role_answers() {
    check(
        r#"
        sender initiate h1 policy.human_gate=required -> proposed
        sender approve h1                   -> not_allowed
        target approve h1                   -> not_allowed
        coordinator approve h1              -> not_allowed
        operator approve h1                 -> not_allowed
        customer approve h1                 -> not_allowed
        system approve h1                   -> not_allowed
        desk approve h1                     -> not_allowed
        executor approve h1                 -> not_allowed
        reviewer approve h1                 -> not_allowed
        lead approve h1                     -> proposed
        "#,
    );
    check(
        r#"
        sender initiate h1 policy.human_gate=required policy.sensitivity=high -> proposed
        executor approve h1                 -> not_allowed
        reviewer approve h1                 -> proposed
        "#,
    );
    check(
        r#"
        human initiate h1 policy.human_gate=required -> proposed
        human approve h1 why                -> not_allowed: only a human other than the sender may approve
        "#,
    );
}

#[test]
fn nobody_is_asked_where_the_policy_does_not_ask() {
    check(
        r#"
        sender initiate h1                  -> proposed
        human approve h1                    -> wrong_state
        human refuse h1                     -> wrong_state
        human approve h2                    -> not_found
        sender draft h3                     -> draft
        human approve h3                    -> wrong_state
        "#,
    );
}

#[test]
fn roles_restrict_those_who_have_one() {
    check(
        r#"
        executor initiate h1                -> not_allowed
        reviewer initiate h1                -> not_allowed
        coordinator initiate h1 to_agent=executor -> proposed
        executor accept h1                  -> accepted
        executor activate h1                -> activated
        executor initiate h2 to_agent=reviewer -> ownership_conflict
        executor complete h1                -> completed
        executor initiate h2 to_agent=reviewer -> proposed
        reviewer accept h2                  -> not_allowed
        reviewer reject h2                  -> rejected
        executor close h2                   -> closed
        "#,
    );
    check(
        r#"
        sender initiate h1 to_agent=executor policy.sensitivity=high -> proposed
        executor reject h1                  -> rejected
        executor close h1                   -> not_allowed
        lead close h1                       -> closed
        "#,
    );
}
