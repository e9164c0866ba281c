//! Who has owned a task, and so who may have it next: computed from holds, never read from a
//! request.

use super::script::check;
use crate::handoff::decide::initiate::CHAIN_OWNERS_MAX;

#[test]
fn the_first_sender_owns_the_task_until_the_target_activates() {
    check(
        r#"
        hold t1                             -> never held
        sender draft h1                     -> draft
        hold t1                             -> never held
        sender initiate h1 saved            -> proposed
        hold t1                             -> h1 [sender]
        target accept h1                    -> accepted
        hold t1                             -> h1 [sender]
        target activate h1                  -> activated
        hold t1                             -> h1 [sender target]
        target complete h1                  -> completed
        hold t1                             -> free [sender target]
        sender close h1                     -> closed
        hold t1                             -> free [sender target]
        "#,
    );
}

#[test]
fn one_active_handoff_per_task() {
    check(
        r#"
        sender initiate h1                  -> proposed
        sender initiate h2 to_agent=third   -> ownership_conflict
        sender initiate h2 to_agent=third why -> ownership_conflict: task `t1` has an active handoff already: 01938c2e-0000-7000-8000-000000000001
        target accept h1                    -> accepted
        sender initiate h2 to_agent=third   -> ownership_conflict
        target activate h1                  -> activated
        target initiate h2 to_agent=third   -> ownership_conflict
        coordinator initiate h2 to_agent=third -> ownership_conflict
        target complete h1                  -> completed
        target initiate h2 to_agent=third   -> proposed
        sender initiate h3 task.task_id=t2  -> proposed
        sender draft h4                     -> draft
        sender initiate h4 saved            -> ownership_conflict
        "#,
    );
}

#[test]
fn a_completed_handoff_can_be_closed_while_the_next_one_holds_the_task() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1                  -> completed
        target initiate h2 to_agent=third   -> proposed
        hold t1                             -> h2 [sender target]
        sender close h1                     -> closed
        hold t1                             -> h2 [sender target]
        third accept h2                     -> accepted
        third activate h2                   -> activated
        hold t1                             -> h2 [sender target third]
        "#,
    );
}

#[test]
fn a_cycle_is_refused_and_the_chain_is_shown() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1                  -> completed
        target initiate h2 to_agent=sender why -> ownership_conflict: `sender` has owned task `t1` before (chain: sender → target); set `return` to hand it back to the previous owner
        target initiate h2 to_agent=target why -> ownership_conflict: `target` is the last owner of task `t1`; name another agent
        sender initiate h3 to_agent=sender task.task_id=t2 -> ownership_conflict
        "#,
    );
}

#[test]
fn a_return_goes_back_one_owner_and_is_marked() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1                  -> completed
        target initiate h2 to_agent=third   -> proposed
        third accept h2                     -> accepted
        third activate h2                   -> activated
        third complete h2                   -> completed
        hold t1                             -> free [sender target third]
        third initiate h3 to_agent=sender why -> ownership_conflict: `sender` has owned task `t1` before (chain: sender → target → third); `return` hands it back to `target` only
        third initiate h3 return=true to_agent=sender why -> ownership_conflict: `sender` is not the previous owner of task `t1` (chain: sender → target → third); `return` hands it back to `target` only
        third initiate h3 return=true to_agent=fourth -> ownership_conflict
        third initiate h3 return=true to_agent=target -> proposed (return)
        hold t1                             -> h3 [sender target third]
        target accept h3                    -> accepted
        target activate h3                  -> activated
        hold t1                             -> h3 [sender target]
        target complete h3                  -> completed
        target initiate h4 to_agent=third   -> proposed
        "#,
    );
}

#[test]
fn the_previous_owner_is_the_one_before_the_sender() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1                  -> completed
        sender initiate h2 return=true to_agent=sender -> ownership_conflict
        target initiate h2 to_agent=third   -> proposed
        third accept h2                     -> accepted
        third activate h2                   -> activated
        third complete h2                   -> completed
        target initiate h3 return=true to_agent=target -> ownership_conflict
        target initiate h3 return=true to_agent=sender -> proposed (return)
        sender accept h3                    -> accepted
        sender activate h3                  -> activated
        hold t1                             -> h3 [sender]
        "#,
    );
    check(
        r#"
        sender initiate h1 return=true      -> ownership_conflict
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1                  -> completed
        coordinator initiate h2 return=true to_agent=target -> ownership_conflict
        coordinator initiate h2 return=true to_agent=sender -> proposed (return)
        "#,
    );
}

#[test]
fn who_never_owned_a_known_task_cannot_hand_it_over() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        target complete h1                  -> completed
        stranger initiate h2 to_agent=third why -> ownership_conflict: `stranger` has never owned task `t1` (chain: sender → target)
        coordinator initiate h2 to_agent=third -> proposed
        third accept h2                     -> accepted
        third activate h2                   -> activated
        hold t1                             -> h2 [sender target third]
        "#,
    );
    check(
        r#"
        sender initiate h1                  -> proposed
        target reject h1                    -> rejected
        target initiate h2 to_agent=third   -> ownership_conflict
        sender initiate h2 to_agent=third   -> proposed
        "#,
    );
}

#[test]
fn a_reopened_task_is_the_senders_again() {
    check(
        r#"
        sender initiate h1                  -> proposed
        target accept h1                    -> accepted
        target activate h1                  -> activated
        hold t1                             -> h1 [sender target]
        target reject h1                    -> rejected
        hold t1                             -> free [sender]
        sender close h1                     -> closed
        hold t1                             -> free [sender]
        target initiate h2 to_agent=third   -> ownership_conflict
        sender initiate h2 to_agent=target  -> proposed
        hold t1                             -> h2 [sender]
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
        sender activate h2                  -> activated
        hold t1                             -> h2 [sender]
        sender reject h2                    -> rejected
        hold t1                             -> free [sender target]
        "#,
    );
}

#[test]
fn a_forced_close_frees_the_task_for_whoever_owns_it_then() {
    check(
        r#"
        sender initiate h1                  -> proposed
        coordinator close h1                -> closed
        notes h1                            -> forced from proposed
        hold t1                             -> free [sender]
        sender initiate h2                  -> proposed
        target accept h2                    -> accepted
        operator close h2                   -> closed
        hold t1                             -> free [sender]
        sender initiate h3                  -> proposed
        target accept h3                    -> accepted
        target activate h3                  -> activated
        coordinator close h3                -> closed
        notes h3                            -> forced from activated
        hold t1                             -> free [sender target]
        target initiate h4 to_agent=third   -> proposed
        "#,
    );
}

#[test]
fn a_chain_has_a_longest_length() {
    let mut script = String::new();
    for hop in 1..CHAIN_OWNERS_MAX {
        let from = hop - 1;
        script.push_str(&format!(
            "w{from} initiate h{hop} to_agent=w{hop} -> proposed
             w{hop} accept h{hop} -> accepted
             w{hop} activate h{hop} -> activated
             w{hop} complete h{hop} -> completed\n"
        ));
    }
    let last = CHAIN_OWNERS_MAX - 1;
    let before = last - 1;
    script.push_str(&format!(
        "w{last} initiate h99 to_agent=another -> ownership_conflict
         w{last} initiate h99 return=true to_agent=w{before} -> proposed (return)\n"
    ));
    check(&script);
}
