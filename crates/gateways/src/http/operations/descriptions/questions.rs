//! What the operations on questions do.

pub const DESCRIPTIONS: [(&str, &str); 11] = [
    (
        "ask_question",
        "The question is kept until a human answers it, its asker withdraws it, or its time is \
         over. Then the default counts, if it has one. `hash` in the answer is that of all that \
         is asked.",
    ),
    (
        "list_questions",
        "With `waiting_for=me`: the open questions that you can answer, the oldest first, and on \
         the first page the handoffs that want your approval and what agents ask in their \
         sessions; `kind` says which it is, and `answer_at` how it is answered. Otherwise the \
         questions that you may see, the newest first.",
    ),
    ("show_question", "With `wait` the answer comes once the question is settled."),
    (
        "answer_question",
        "For the person who is asked, a human of the queue, or an operator whom the directory \
         lists as a human; never for a program. The first answer counts, if `hash` is that of the \
         question.",
    ),
    ("withdraw_question", "While it is open. Nothing follows then."),
    (
        "claim_question",
        "Once there is an answer, or none in time: for the asker and the agents that it named. \
         Until the lease ends no other claim is given. Use the idempotency key for the calls that \
         the answer allows.",
    ),
    ("renew_claim", "As long as no other worker has claimed it since."),
    (
        "finish_question",
        "With the epoch of the last claim. An older one is refused with `claim_outdated`.",
    ),
    (
        "erase_question",
        "Once it is settled. The entry stays in the chain, and the erasure is recorded.",
    ),
    ("ask_tool", "Give it to a model, and its calls to `ask_by_tool`."),
    (
        "ask_by_tool",
        "Send the assistant's message as your model's provider returned it, and again while \
         a call has the status `open`: it asks once for the same `reference`. Then append the \
         messages to the history as they are, and the results of the other tools.",
    ),
];
