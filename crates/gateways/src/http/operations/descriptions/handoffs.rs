//! The operations on handoffs.

pub const DESCRIPTIONS: [(&str, &str); 26] = [
    (
        "list_handoffs",
        "Returns the handoffs of the teamspace that you may see. Narrow the list with the \
         parameters, and pass `next_cursor` as `cursor` to go on.",
    ),
    (
        "initiate_handoff",
        "The task must be free: a second proposal of a task that is under way is an \
         `ownership_conflict`. With `dry_run=true` nothing is proposed, the offer may be \
         incomplete, and the answer lists everything that the server would refuse.",
    ),
    (
        "draft_handoff",
        "A draft may be incomplete and holds no task. Only its sender and coordinators see \
         it.",
    ),
    (
        "detect_handoffs",
        "Send the messages of a history. The answer says which of its calls are handoffs, what \
         came of each, and what the provider would refuse.",
    ),
    (
        "show_handoff",
        "Returns the state of the handoff, its package as it was sealed, and what was \
         reported when it was completed.",
    ),
    (
        "edit_draft",
        "The offer in the body replaces the draft as a whole. Only its sender may do this, \
         and only while it is a draft.",
    ),
    ("discard_draft", "The draft is closed for good. Discarding it twice changes nothing."),
    (
        "propose_draft",
        "With an empty body the draft is proposed as it was saved. An offer in the body \
         must be complete, because it replaces the draft.",
    ),
    (
        "accept_handoff",
        "The server checks schema, policy, owner chain and hash of the package, and looks \
         at its artifacts. The answer is `accepted`, `validating` while something is still \
         checked, or an error when the gate rejects the handoff.",
    ),
    (
        "reject_handoff",
        "Use one of the ten reasons, and say in `detail` what the sender must change. The \
         task is free again.",
    ),
    ("approve_handoff", "Only a human other than the sender can approve. The first answer counts."),
    (
        "refuse_handoff",
        "Only a human other than the sender can refuse. The sender is told `why` and may \
         counter.",
    ),
    (
        "counter_handoff",
        "Send only what changes; the rest of the package stays as it was. The target and \
         the task cannot change.",
    ),
    (
        "withdraw_handoff",
        "The handoff is closed and the task is free again. What was accepted cannot be \
         withdrawn.",
    ),
    (
        "extend_sla",
        "Each limit that ends before the new time moves there: that of the stage, and that of \
         an open recall. None is shortened. What was overdue can be overdue again.",
    ),
    (
        "delegate_handoff",
        "The part is a handoff of its own, from the owner to the agent in `to_agent`. Its \
         policy and deadline may be tighter than those of the whole, never looser.",
    ),
    (
        "reassign_handoff",
        "The handoff is closed, and the same package is proposed to another agent in the \
         same commit. The answer names the successor in `new_handoff_id`.",
    ),
    (
        "activate_handoff",
        "From now on the target owns the task. Say in `work_state_update` what changed \
         since the package was sealed.",
    ),
    (
        "report_progress",
        "At least one of `percent`, `note`, `steps` and `blocked_by`. A report replaces the one \
         before as a whole, so send again what still holds. The sender gets a notice, and the \
         handoff shows the newest report. A handoff has at most 1,000 reports.",
    ),
    (
        "recall_handoff",
        "The owner answers with `reject`, which gives the task back, or with `complete`. If it \
         does neither in 15 minutes, or before the running stage is overdue, the recall \
         escalates. Before the acceptance use `withdraw`. A second recall changes nothing.",
    ),
    (
        "complete_handoff",
        "Answer the success criteria with `evidence`, and name the results in \
         `final_artifacts`; the server looks at them first. Where a verifier is required, \
         the handoff stays `activated` until a verifier confirms.",
    ),
    (
        "confirm_completion",
        "Sender, coordinator, reviewer or operator; never the owner. The handoff is \
         `completed`.",
    ),
    (
        "dispute_completion",
        "Sender, coordinator, reviewer or operator; never the owner. The owner is told \
         `why`, and the work goes on.",
    ),
    (
        "close_handoff",
        "A closed handoff never changes again. A coordinator may close one in any state.",
    ),
    (
        "erase_content",
        "The content of one entry is erased for good; the entry stays in the chain with its \
         hash, and the reason is on record.",
    ),
    (
        "handoff_history",
        "Returns the ledger entries of one handoff, newest first, each with its hash.",
    ),
];
