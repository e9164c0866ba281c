//! The promises of every store, as one suite that each of them passes. A row is a function that
//! gets an empty store; it knows only the port. Promises that only a file can make are in
//! [`sqlite_only`].

// The rows are tests, although the macro below generates the test functions.
#[cfg(test)]
mod commits;
#[cfg(test)]
mod conversations;
mod fixture;
#[cfg(test)]
mod groups;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod outbox;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod slots;
mod sqlite_only;
#[cfg(test)]
mod transfers;

/// Runs each row once for every store.
macro_rules! exercise {
    ($($file:ident: $($row:ident)*;)*) => {
        mod memory {
            $($(#[tokio::test(flavor = "multi_thread")]
            async fn $row() {
                super::$file::$row(super::fixture::Place::memory()).await;
            })*)*
        }

        mod sqlite {
            $($(#[tokio::test(flavor = "multi_thread")]
            async fn $row() {
                super::$file::$row(super::fixture::Place::sqlite()).await;
            })*)*
        }
    };
}

exercise! {
    commits:
        a_commit_is_seen_whole
        a_commit_on_an_old_position_is_refused
        a_commit_on_another_past_is_refused
        a_hold_is_compared_before_it_is_written
        holds_of_one_commit_stand_or_fall_together
        holds_belong_to_a_teamspace
        a_used_key_answers_what_was_recorded
        a_key_belongs_to_a_caller_in_a_teamspace
        a_used_key_counts_before_a_moved_stream
        a_refused_commit_uses_no_key
        an_erased_body_leaves_its_commitment
        an_erased_proposal_takes_its_document_along
        a_position_that_is_not_there_cannot_be_erased
        streams_of_two_teamspaces_may_have_one_name
        commits_of_several_streams_are_written_together
        commits_of_several_streams_fail_together;
    groups:
        one_conflict_in_a_group_fails_alone
        commits_are_decided_in_the_order_of_their_lines
        a_dropped_receipt_takes_nothing_back
        sequence_numbers_have_no_gaps_and_readers_never_see_one;
    reads:
        an_empty_store_answers_nothing
        entries_are_read_in_pages
        places_beyond_the_end_are_answered
        history_is_read_backwards_in_pages
        history_is_read_forwards_in_pages
        a_read_is_bounded_in_bytes
        deadlines_are_due_in_their_order
        when_too_many_are_due_teamspaces_take_turns
        a_document_is_found_while_it_is_current
        a_graph_has_the_text_of_its_last_entry
        a_token_is_found_by_its_secret
        the_ledger_has_a_stream_of_its_own
        teamspaces_have_a_stream_each_and_are_found_by_name
        the_seal_is_replaced;
    slots:
        occupied_keys_are_found_by_their_prefix
        the_slot_that_is_found_is_free
        no_race_overruns_a_capacity;
    conversations:
        conversations_are_listed_by_holder_and_status
        callbacks_are_listed_by_queue_and_when
        those_who_wait_are_listed_by_queue_and_place
        a_transcript_is_read_by_numbers
        what_was_erased_keeps_its_number;
    transfers:
        transfers_are_listed_by_every_filter_and_page
        the_last_ring_of_each_person_is_known;
    outbox:
        an_effect_is_claimed_by_one_at_a_time
        effects_are_claimed_and_released_by_their_kind
        teamspaces_take_turns
        a_lease_that_ran_out_is_claimed_again
        an_effect_that_failed_comes_back_when_it_is_due
        what_is_given_up_stays_until_it_is_revived
        one_effect_of_several_is_revived
        an_effect_ends_with_the_commit_that_says_so;
    messages:
        messages_are_listed_by_every_filter_and_page
        an_inbox_has_what_its_owner_was_sent
        a_message_is_found_in_its_teamspace
        a_purged_message_is_in_no_list_and_keeps_its_place
        a_follower_finds_its_place_again;
    lists:
        handoffs_are_listed_by_every_filter_and_page
        agents_and_tokens_are_listed_apart;
}
