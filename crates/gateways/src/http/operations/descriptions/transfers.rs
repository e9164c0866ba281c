//! What the operations on transfers, callbacks and queues do.

pub const DESCRIPTIONS: [(&str, &str); 23] = [
    (
        "request_human",
        "The queue holds the conversation from now on, and the bot is silent. A second \
         request while one is open is a `HANDOFF_DUPLICATE_REQUEST`.",
    ),
    (
        "ask_callback",
        "What waits for a person is cancelled. The callback stays open after the chat is \
         closed.",
    ),
    (
        "settle_callback",
        "People of the queue, coordinators and operators say what the call led to.",
    ),
    (
        "list_transfers",
        "Filters by status, queue, person, conversation and time. You see the transfers of \
         conversations in which you take part, and those that wait in your queues; \
         coordinators see all. `ringing_for=me` returns what rings for you now.",
    ),
    (
        "show_transfer",
        "Returns the status, who is asked or answers, the place in the queue, and the \
         context for the person.",
    ),
    (
        "show_bundle",
        "Each request for a person has a bundle of its own; the transfer names the newest one.",
    ),
    (
        "pick_up_transfer",
        "The first person who asks gets it; the others get `HANDOFF_ALREADY_CLAIMED`. With \
         `accept` the person answers at once.",
    ),
    ("accept_transfer", "The person holds the conversation, in a new epoch."),
    ("decline_transfer", "The transfer keeps its place in the queue, and another person is asked."),
    ("hold_transfer", "The customer is told. No other person may answer meanwhile."),
    ("resume_transfer", "The person goes on with the customer."),
    (
        "complete_transfer",
        "The holder from before the transfer, or `to`, gets the conversation, with the summary.",
    ),
    ("end_transfer", "Use this when there is nothing left for the bot to do."),
    (
        "cancel_transfer",
        "Before a person answers, the customer or the agent that asked may cancel. The \
         holder from before gets the conversation back.",
    ),
    (
        "fail_transfer",
        "Coordinators and operators give up a transfer that no person can take. The holder \
         from before gets the conversation back.",
    ),
    (
        "transfer_on",
        "`warm` takes the context along, `blind` does not and needs a queue, \
         `supervisor_consult` asks a supervisor to listen.",
    ),
    ("note_transfer", "Notes are for colleagues. Neither the customer nor a bot sees them."),
    (
        "whisper_transfer",
        "Only the person who answers sees it. Neither the customer nor a bot does.",
    ),
    ("rate_transfer", "The customer rates a transfer after it is over, from 1 to 5."),
    (
        "list_queues",
        "Returns the mode, the skills, how many wait, since when, and how many people are \
         available. People of the queue and coordinators see who these people are.",
    ),
    (
        "report_queues",
        "Counts the transfers that were requested in a time, by queue and day: how many were \
         answered, answered in time, or abandoned, how long customers waited, and how long \
         people took. For coordinators and operators.",
    ),
    (
        "show_queue",
        "Members see how many wait and how long it takes. People of the queue and \
         coordinators see the list itself.",
    ),
    (
        "configure_queue",
        "The settings are replaced as a whole; what is left out goes back to its default.",
    ),
];
