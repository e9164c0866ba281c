//! Handing on: a part by its owner, all of it by a coordinator.

use super::script::check;

const OWNED: &str = "
    sender initiate h1                  -> proposed
    target accept h1                    -> accepted
    target activate h1                  -> activated
";

fn check_owned(script: &str) {
    check(&format!("{OWNED}{script}"));
}

#[test]
fn a_part_is_a_handoff_of_its_own_with_the_chain_of_the_whole() {
    check_owned(
        "
        sender delegate h1                  -> not_allowed
        coordinator delegate h1             -> not_allowed
        target delegate h1                  -> activated
        hold t1                             -> h1 [sender target]
        hold t1.1                           -> h2 [sender target]
        target delegate h1 as=h3 to_agent=sender -> ownership_conflict
        target delegate h1 as=h3 task.task_id=t1 -> schema_invalid task.task_id
        target delegate h1 as=h3 -to_agent  -> schema_invalid to_agent
        target delegate h1 as=h3 to_agent=nobody -> unknown_agent to_agent
        target delegate h1 as=h3 to_agent=other -> activated
        hold t1.2                           -> h3 [sender target]
        helper accept h2                    -> accepted
        helper activate h2                  -> activated
        hold t1.1                           -> h2 [sender target helper]
        ",
    );
}

#[test]
fn the_whole_is_not_done_before_its_parts_are() {
    check_owned(
        "
        target delegate h1                  -> activated
        target complete h1                  -> wrong_state
        target reject h1                    -> wrong_state
        coordinator reassign h1 as=h9       -> wrong_state
        helper accept h2                    -> accepted
        helper activate h2                  -> activated
        target complete h1                  -> wrong_state
        helper complete h2                  -> completed
        target complete h1                  -> completed
        ",
    );
}

#[test]
fn a_part_that_is_rejected_or_taken_back_is_waited_for_no_longer() {
    check_owned(
        "
        target delegate h1                  -> activated
        helper reject h2                    -> rejected
        target delegate h1 as=h3            -> activated
        target withdraw h3                  -> closed
        target delegate h1 as=h4            -> activated
        coordinator close h4                -> closed
        target complete h1                  -> completed
        ",
    );
}

#[test]
fn a_part_can_be_proposed_again_only_while_the_whole_goes_on() {
    check_owned(
        "
        target delegate h1                  -> activated
        helper reject h2                    -> rejected
        target counter h2 context.summary=x -> proposed
        target complete h1                  -> wrong_state
        helper reject h2                    -> rejected
        target complete h1                  -> completed
        target counter h2 context.summary=y -> wrong_state
        hold t1.1                           -> free [sender target]
        ",
    );
}

#[test]
fn a_whole_that_was_forced_closed_is_told_nothing() {
    check_owned(
        "
        target delegate h1                  -> activated
        coordinator close h1                -> closed
        helper accept h2                    -> accepted
        helper activate h2                  -> activated
        helper complete h2                  -> completed
        ",
    );
}

#[test]
fn a_part_is_bound_as_tightly_as_the_whole() {
    check(
        r#"
        sender initiate h1 deadline=+8h policy.sensitivity=high policy.export_restrictions=["eu"] -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target delegate h1 deadline=+9h     -> schema_invalid deadline
        target delegate h1 policy.sensitivity=low -> policy_violation policy.sensitivity
        target delegate h1 policy.sensitivity=null -> policy_violation policy.sensitivity
        target delegate h1 policy.export_restrictions=[] -> policy_violation policy.export_restrictions
        target delegate h1 policy.export_restrictions=["us"] -> policy_violation policy.export_restrictions
        target delegate h1 as=h9 deadline=+2h -> activated
        helper reject h9                    -> rejected
        target counter h9 deadline=+3h      -> schema_invalid deadline
        target counter h9 policy.sensitivity=low policy.export_restrictions=["eu"] -> policy_violation policy.sensitivity
        target counter h9 context.summary=x -> proposed
        target withdraw h9                  -> closed
        target delegate h1                  -> activated
        armed h2                            -> proposed→validating at +5m
        target delegate h1 as=h3 deadline=+2h policy.sensitivity=high policy.export_restrictions=["eu","us"] -> activated
        target delegate h1 as=h4 policy.requires_verifier=true -> activated
        "#,
    );
}

#[test]
fn an_owner_has_only_so_many_parts_under_way() {
    let mut script = String::new();
    for number in 2..=17 {
        script.push_str(&format!("target delegate h1 as=h{number} -> activated\n"));
    }
    script.push_str("target delegate h1 as=h18 -> wrong_state\n");
    script.push_str("helper reject h2 -> rejected\ntarget delegate h1 as=h18 -> activated\n");
    script.push_str(
        "target counter h2 context.summary=x why -> wrong_state: cannot counter a handoff that is \
         rejected; that needs fewer parts of the whole under way\n",
    );
    check_owned(&script);
}

#[test]
fn a_task_is_reassigned_with_its_package() {
    check(
        "
        sender initiate h1                  -> proposed
        sender reassign h1                  -> not_allowed
        coordinator reassign h1 why=        -> schema_invalid why
        coordinator reassign h1 to=nobody   -> unknown_agent to_agent
        coordinator reassign h1 to=sender   -> ownership_conflict
        hold t1                             -> h1 [sender]
        coordinator reassign h1             -> closed
        notes h1                            -> forced from proposed
        hold t1                             -> h2 [sender]
        other accept h2                     -> accepted
        other activate h2                   -> activated
        hold t1                             -> h2 [sender other]
        coordinator reassign h2 as=h3 to=target -> closed
        hold t1                             -> h3 [sender other]
        coordinator reassign h3 as=h4 to=sender -> closed
        hold t1                             -> h4 [sender other]
        sender accept h4                    -> accepted
        sender activate h4                  -> activated
        hold t1                             -> h4 [sender]
        sender complete h4                  -> completed
        coordinator reassign h4 as=h5       -> wrong_state
        ",
    );
}

#[test]
fn a_reassigned_task_needs_a_deadline_that_has_not_passed() {
    check(
        "
        sender initiate h1 deadline=+1h     -> proposed
        wait 2h
        coordinator reassign h1             -> schema_invalid deadline
        coordinator reassign h1 deadline=+0s -> schema_invalid deadline
        coordinator reassign h1 deadline=+1h -> closed
        hold t1                             -> h2 [sender]
        ",
    );
}

#[test]
fn no_part_is_named_like_one_before_it() {
    check_owned(
        "
        target delegate h1                  -> activated
        helper accept h2                    -> accepted
        helper activate h2                  -> activated
        helper complete h2                  -> completed
        hold t1.1                           -> free [sender target helper]
        coordinator reassign h1 as=h3       -> closed
        other accept h3                     -> accepted
        other activate h3                   -> activated
        other delegate h3 as=h4             -> activated
        hold t1.2                           -> h4 [sender target other]
        helper reject h4                    -> rejected
        other reject h3                     -> rejected
        target counter h3 context.summary=x -> proposed
        other accept h3                     -> accepted
        other activate h3                   -> activated
        other delegate h3 as=h5             -> activated
        hold t1.3                           -> h5 [sender target other]
        ",
    );
}

#[test]
fn a_part_that_is_reassigned_stays_a_part() {
    check_owned(
        "
        target delegate h1                  -> activated
        coordinator reassign h2 as=h3       -> closed
        target complete h1                  -> wrong_state
        other accept h3                     -> accepted
        other activate h3                   -> activated
        other complete h3                   -> completed
        target complete h1                  -> completed
        ",
    );
    // The owner of the whole is the sender of its parts, and no owner before it gets one.
    check_owned(
        "
        target delegate h1                  -> activated
        helper accept h2                    -> accepted
        helper activate h2                  -> activated
        coordinator reassign h2 as=h3 to=target -> ownership_conflict
        coordinator reassign h2 as=h3 to=sender -> ownership_conflict
        coordinator reassign h2 as=h3       -> closed
        ",
    );
}
