//! What the operations on webhooks do.

pub const DESCRIPTIONS: [(&str, &str); 12] = [
    (
        "list_webhooks",
        "An agent sees its own webhooks, an operator all of the teamspace. A page may have fewer \
         items than its limit.",
    ),
    (
        "create_webhook",
        "From now on the server posts events to the URL, in order and at least once: as \
         CloudEvents, signed as Standard Webhooks defines it. The answer has the secret. The \
         webhook gets what its maker's token may read.",
    ),
    (
        "show_webhook",
        "`failing` names the delivery that is tried again; the others wait behind it. `set_aside` \
         lists deliveries that the endpoint refused because of their content.",
    ),
    (
        "change_webhook",
        "Replaces URL, events and scope. Deliveries that were not made yet go to the new URL.",
    ),
    (
        "rotate_webhook_key",
        "The answer has the new secret. Until the overlap ends, deliveries carry two signatures.",
    ),
    ("pause_webhook", "Events that happen meanwhile are delivered after `resume`."),
    (
        "resume_webhook",
        "Also ends a pause that the server began, such as after three days of failures. With \
         `after`, everything after that event is delivered again.",
    ),
    (
        "remove_webhook",
        "Nothing more is delivered, and its secret ends. The answer shows it as it was.",
    ),
    (
        "list_deliveries",
        "The newest attempts since the server started, and the deliveries that were set aside.",
    ),
    (
        "test_webhook",
        "Posts an event of the type `webhook.test`, also while the webhook is paused.",
    ),
    (
        "redeliver_event",
        "Posts one event out of its order. A delivery that was set aside is settled by it.",
    ),
    ("discard_delivery", "It is never delivered, and the record says so."),
];
