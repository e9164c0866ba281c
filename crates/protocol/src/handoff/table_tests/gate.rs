//! The gate on accept: what passes, what fails, with which reason; all failures are listed.

use super::script::check;

#[test]
fn a_sound_package_passes_every_check() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        "#,
    );
}

#[test]
fn a_package_that_changed_or_is_gone_fails_schema_and_hash() {
    check(
        r#"
        sender initiate h1                  -> proposed
        tamper h1 context.summary=changed
        target accept h1                    -> rejected hash_mismatch passed=schema,policy,chain failed=package_hash
        hold t1                             -> free [sender]
        armed h1                            -> nothing
        sender close h1                     -> closed

        sender initiate h2                  -> proposed
        tamper h2 extra=1
        target accept h2                    -> rejected schema_invalid passed=chain failed=schema,package_hash

        sender initiate h3                  -> proposed
        tamper h3 version=2.0.0
        target accept h3                    -> rejected schema_invalid passed=policy,chain failed=schema,package_hash

        sender initiate h4                  -> proposed
        lose h4
        target accept h4                    -> rejected schema_invalid passed=chain failed=schema,package_hash
        notes h4 -> schema_invalid: schema: the package is no longer in the store; package_hash: there is no package with a true seal
        "#,
    );
}

#[test]
fn a_package_of_another_handoff_fails_the_schema() {
    check(
        r#"
        sender initiate h1                  -> proposed
        tamper h1 handoff_id=01938c2e-0000-7000-8000-000000000002
        target accept h1                    -> rejected schema_invalid passed=policy,chain failed=schema,package_hash
        sender initiate h2                  -> proposed
        tamper h2 task.task_id=t2
        target accept h2                    -> rejected schema_invalid passed=policy,chain failed=schema,package_hash
        sender initiate h3                  -> proposed
        tamper h3 thread_id=another
        target accept h3                    -> rejected schema_invalid passed=policy,chain failed=schema,package_hash
        "#,
    );
}

#[test]
fn a_package_that_was_sealed_again_is_not_the_one_that_was_proposed() {
    check(
        r#"
        sender initiate h1                  -> proposed
        tamper h1 context.summary=changed
        reseal h1
        target accept h1                    -> rejected hash_mismatch passed=schema,policy,chain failed=package_hash
        "#,
    );
}

#[test]
fn a_new_minor_version_of_the_schema_is_read() {
    check(
        r#"
        sender initiate h1                  -> proposed
        tamper h1 version=1.7.3
        target accept h1                    -> rejected hash_mismatch passed=schema,policy,chain failed=package_hash
        "#,
    );
}

#[test]
fn the_seal_inside_the_package_must_be_its_own() {
    check(
        r#"
        sender initiate h1                  -> proposed
        tamper h1 verification.package_hash="0"
        target accept h1                    -> rejected hash_mismatch passed=schema,policy,chain failed=package_hash
        notes h1 -> hash_mismatch: package_hash: there is no package with a true seal
        sender initiate h2                  -> proposed
        tamper h2 verification.package_hash="0"
        reseal h2
        target accept h2                    -> accepted
        "#,
    );
}

#[test]
fn a_policy_must_agree_with_itself_and_with_the_target() {
    check(
        r#"
        sender initiate h1 policy.requires_human_approval=true policy.human_gate=none why -> policy_violation: policy.human_gate: `none` contradicts `requires_human_approval`
        sender initiate h1 policy.classification=restricted policy.visibility=team why -> policy_violation: policy.visibility: what is restricted is not for the team
        sender initiate h1 policy.export_restrictions=["agent:target"] why -> policy_violation: policy.export_restrictions[0]: it may not go to `target`
        sender initiate h1 policy.export_restrictions=["eu-only",""] why -> policy_violation: policy.export_restrictions[1]: expected a rule
        sender initiate h1 policy.export_restrictions=["eu-only","agent:other"] -> proposed
        tamper h1 policy.export_restrictions=["agent:target"]
        target accept h1                    -> rejected policy_violation passed=schema,chain failed=policy,package_hash
        "#,
    );
}

#[test]
fn a_chain_that_does_not_fit_the_target_fails() {
    check(
        r#"
        sender initiate h1                  -> proposed
        forge h1 chain=["sender","target"]
        target accept h1                    -> rejected ownership_conflict passed=schema,policy,package_hash failed=chain
        notes h1 -> ownership_conflict: chain: `target` against the chain sender → target
        "#,
    );
    check(
        r#"
        sender initiate h1                  -> proposed
        forge h1 is_return=true
        target accept h1                    -> rejected ownership_conflict passed=schema,policy,package_hash failed=chain
        "#,
    );
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1                  -> completed
        target initiate h2 return=true to_agent=sender -> proposed (return)
        sender accept h2                    -> accepted
        "#,
    );
}

#[test]
fn all_failures_are_named_and_the_first_gives_the_reason() {
    check(
        r#"
        sender initiate h1                  -> proposed
        forge h1 is_return=true
        lose h1
        target accept h1                    -> rejected schema_invalid passed= failed=schema,chain,package_hash
        "#,
    );
    check(
        r#"
        sender initiate h1                  -> proposed
        tamper h1 policy.classification=restricted policy.visibility=team
        target accept h1                    -> rejected policy_violation passed=schema,chain failed=policy,package_hash
        "#,
    );
}
