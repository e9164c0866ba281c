//! What each operation does, in a few sentences: when to use it, and what an answer means.

mod files;
mod handoffs;
mod questions;
mod transfers;
mod webhooks;

/// What an operation of this id does.
pub fn of(id: &str) -> &'static str {
    let own = DESCRIPTIONS.iter().chain(&handoffs::DESCRIPTIONS).chain(&files::DESCRIPTIONS);
    let own = own.chain(&questions::DESCRIPTIONS);
    let mut all = own.chain(&transfers::DESCRIPTIONS).chain(&webhooks::DESCRIPTIONS);
    all.find(|(known, _)| *known == id).map_or("", |(_, text)| text)
}

const DESCRIPTIONS: [(&str, &str); 86] = [
    (
        "list_conversations",
        "An agent sees the conversations that it holds; coordinators and operators see all \
         of them.",
    ),
    (
        "open_conversation",
        "Name the agent that answers first, a topology, or a graph. The answer has a token \
         for the customer, which is shown once.",
    ),
    (
        "show_conversation",
        "Returns the holder, the epoch, and the transfer that is under way, if there is \
         one.",
    ),
    (
        "read_transcript",
        "Returns messages, changes of the holder and transfers in their order. Go on with \
         the number of the last line that you have.",
    ),
    (
        "read_history",
        "A history that the provider accepts, with a call and its result for each change of \
         hands. The oldest messages are left out first.",
    ),
    (
        "say",
        "The customer may always speak. An agent speaks for the epoch in which it holds the \
         conversation; a message for an older epoch is refused and not shown.",
    ),
    (
        "download_attachment",
        "A stored file whose bytes are PNG, JPEG, GIF or WebP is shown inline. Other files, and \
         all that came within the message itself, are downloads.",
    ),
    (
        "route_conversation",
        "The next epoch begins with the new holder; `human` asks for a person. A conversation \
         that goes round in circles goes to a person instead.",
    ),
    (
        "show_progress",
        "Gives a bot more time to answer, up to ten times its limit in all. A typing notice over \
         the WebSocket does the same. Repeat it as often as you like: it is recorded at most \
         once per half of the limit.",
    ),
    (
        "list_choices",
        "Each has its name, icon and languages; `holds` is true for the one that answers now.",
    ),
    (
        "observe_signals",
        "For a message of the customer. The rules use these scores instead of those of the word \
         lists, and may call a person; the transcript keeps the scores that the message got when \
         it was said. Scores that change nothing are not recorded again while the message is \
         remembered.",
    ),
    ("select_agent", "Only agents whose profile says `user_selectable` can be chosen."),
    (
        "call_tools",
        "Send the assistant's message as your model's provider returned it. The answer has \
         a tool message for each handoff call, to be appended to the history as it is.",
    ),
    (
        "mint_customer_token",
        "Use this when the customer's page has lost its token. Older tokens stay valid.",
    ),
    ("close_conversation", "An open transfer ends with it. What was said can still be read."),
    (
        "erase_message",
        "Without `position` the whole conversation is erased and closed. The entries stay \
         in the chain with their hashes.",
    ),
    (
        "export_conversation",
        "The lines hold every message with its files and hashes, to be kept outside or \
         checked offline.",
    ),
    (
        "handoff_tools",
        "Returns tool definitions for the agent's model, in the format of its provider: one \
         tool for each agent that it may hand over to.",
    ),
    (
        "open_socket",
        "Ask with frames that name an operation, and be told what happens to conversations, \
         transfers and queues. See docs/gateways/ws.md for the frames.",
    ),
    (
        "list_graphs",
        "Returns the names, versions and sizes of the graphs, without their documents.",
    ),
    ("show_graph", "Returns the document and how often each rule has decided."),
    (
        "save_graph",
        "All problems of the document come back together. With `version` the save is \
         refused if another save came first.",
    ),
    (
        "remove_graph",
        "Conversations that use it stay with their holder, and no rule applies to them any \
         more.",
    ),
    (
        "announce_events",
        "Send one event, a JSON list, or one event on each line. All of them are recorded, \
         or none. Repeating an event with the same `event_id` changes nothing.",
    ),
    (
        "list_sessions",
        "Narrow the list by agent or status. What others announce is shown as the roles \
         allow.",
    ),
    (
        "show_session",
        "Returns the state, the questions that are open, and how many events there are.",
    ),
    ("session_events", "Returns the events after a cursor, oldest first."),
    (
        "await_decision",
        "With `wait` the answer comes as soon as there is a reply, or when the time is \
         over.",
    ),
    (
        "answer_session",
        "No subscription is needed. `GET /v1/questions?waiting_for=me` names the session and the \
         event. The first valid answer counts; a later one is refused with `not_answered`.",
    ),
    (
        "erase_session",
        "Without `position` all entries of the session are erased and it is ended. The \
         entries stay in the chain with their hashes.",
    ),
    (
        "open_subscription",
        "The answer grants terms that may be narrower than those that were asked for. Then \
         follow `GET /aaep/v1/events`.",
    ),
    (
        "listen",
        "Events arrive as server-sent events, shaped by the terms of the subscription. Send \
         the last id as `Last-Event-ID` to resume.",
    ),
    (
        "reply",
        "The first authorised answer to a question counts. An answer uses the reply token \
         that came with the question.",
    ),
    (
        "open_aaep_socket",
        "The subprotocol is `aaep.v1`. Producers and listeners use the same socket.",
    ),
    (
        "compat_listen",
        "For tools that expect server-sent events without names. The agent must be open to \
         them.",
    ),
    ("compat_message", "The body is what the tool sends: words of a user, an answer, or terms."),
    ("compat_session", "The answer names the session in which the agent works on the request."),
    ("compat_health", "Answers without a token, where the agent is open to tools on this machine."),
    ("compat_socket", "For tools that expect one WebSocket without a subprotocol."),
    (
        "aaep_manifest",
        "Names the versions, transports and extensions of AAEP that this server supports.",
    ),
    ("aaep_signed_manifest", "A reader checks the signature with the keys of `aaep_keys`."),
    ("aaep_keys", "A JSON Web Key Set. A key that is about to sign is already in it."),
    (
        "list_aaep_keys",
        "Shows which key signs, which comes next, and since when. Secrets are not shown.",
    ),
    (
        "rotate_aaep_keys",
        "With `compromised` all keys are replaced at once. Name the key that signs in \
         `kid`, so that a repeated request changes nothing.",
    ),
    (
        "acp_handoff",
        "One path for agents that know handoffs as a tool. Every answer has the same shape, \
         errors included, and a success is always `200`.",
    ),
    (
        "acp_send",
        "Name 1 to 64 agents, `coordinator`, or `*` for everyone. Only coordinators \
         broadcast with a priority below `high`.",
    ),
    (
        "acp_query",
        "An agent sees what it sent and received; coordinators and operators see \
         everything.",
    ),
    ("show_message", "Shows the message and how far it is with each recipient."),
    (
        "acp_respond",
        "The answer goes to the sender and to the agents in `to`, and stays in the thread.",
    ),
    ("read_message", "The sender sees that it was read. Reading a message twice changes nothing."),
    (
        "acp_inbox",
        "Shows the messages that you have not read yet, newest first, your notices, and the \
         handoffs that wait for you. Messages that it shows count as delivered. Pass `until` \
         of the notices as `read_until` in the next call: those notices, and the messages \
         that the server sent you, count as read then; messages of agents stay until you read \
         them. With `Accept: text/plain` the inbox is a text for a model, in which the words \
         of senders are marked as data.",
    ),
    (
        "acp_status",
        "Tells how many messages, notices and handoffs wait for you, and how many messages you \
         may still send in this minute and hour.",
    ),
    (
        "list_notices",
        "One item for each handoff, after what you have read. A notice stays until you say that \
         you have read it. What the server sends you as a message is in your inbox.",
    ),
    (
        "read_notices",
        "Answers with the notices after that cursor. An older cursor changes nothing.",
    ),
    ("mute_notices", "The kinds are replaced as a whole; an empty list mutes nothing."),
    (
        "follow_events",
        "Server-sent events of your teamspace. Send the last id as `Last-Event-ID` to \
         resume without a gap.",
    ),
    (
        "list_agents",
        "Narrow the list by kind, presence, and whether customers may choose the agent.",
    ),
    ("show_agent", "Returns kind, profile, roles and, for a human, presence."),
    ("register_agent", "A kind cannot change later. The profile is replaced as a whole."),
    (
        "set_roles",
        "The roles are replaced as a whole. An agent without roles may do all that the \
         rules allow.",
    ),
    (
        "set_wake",
        "The server calls this URL when the agent gets a critical message. The answer has \
         the secret with which the calls are signed. `null` removes the URL.",
    ),
    (
        "set_presence",
        "`available` people are offered what waits in their queues. Without a connection, \
         presence lasts 15 minutes.",
    ),
    (
        "set_endpoint",
        "The server posts the turns of a conversation to this URL while the worker holds \
         it. The answer has the secret with which they are signed. `null` removes the URL.",
    ),
    ("list_tokens", "Shows who each token stands for, its roles, and when it ends."),
    (
        "issue_token",
        "The secret is in the answer and never shown again. An agent that is new is \
         registered.",
    ),
    (
        "revoke_token",
        "Requests with the token fail from now on, and its open streams end within a \
         second.",
    ),
    (
        "show_teamspace",
        "Returns the name, the settings, what follows from them, and the revision for the \
         next change.",
    ),
    (
        "configure_teamspace",
        "What is left out goes back to its default. With `revision` the change is refused \
         if another change came first.",
    ),
    ("list_teamspaces", "For an operator of the default teamspace. Shows names only."),
    (
        "create_teamspace",
        "For an operator of the default teamspace, who does not become a member. The token \
         in the answer is shown once.",
    ),
    (
        "show_usage",
        "Agents see their own share. Operators also see that of the teamspace, and the members \
         that use most; those of the server name any `teamspace`.",
    ),
    (
        "set_quotas",
        "For an operator of the default teamspace. Quotas that are not named go back to those of \
         the server; 0 is no limit.",
    ),
    ("purge_messages", "Up to 200 messages at a time. Ask again while `has_more` is `true`."),
    (
        "list_outbox",
        "Lists calls to other systems that are still to be made, with their tries and the \
         last error.",
    ),
    (
        "revive_outbox",
        "Effects that were given up are tried again from the beginning: all of them, or the one \
         that `only` names.",
    ),
    (
        "declare_fork",
        "Only while the ledger lacks entries that a checkpoint vouches for. It is then \
         writable again, and the loss is on record.",
    ),
    (
        "health",
        "Answers as long as the process runs. Use `/readyz` to decide whether to send \
         requests.",
    ),
    (
        "ready",
        "Answers `200` when the store can be read and written to and the server is not stopping, \
         and `503` or `507` otherwise.",
    ),
    (
        "metrics",
        "OpenMetrics text. The counters add up all teamspaces, so from another machine it takes \
         the token of a server operator, unless the setting `metrics` says otherwise. The names \
         are explained in docs/operations.md.",
    ),
    (
        "add_checkpoint",
        "The witness protocol of C2SP, `tlog-witness`. The body is `old` and the size of the last \
         checkpoint here, the hashes of a consistency proof in base64, each on a line, a blank \
         line, and the signed note. The answer is a signature line. A `409` with a size means that \
         the last checkpoint has that size, or another root. Without the setting \
         `witness.origins` the answer is `404`.",
    ),
    (
        "witness_key",
        "The verifier key, as `ledger.witness_key` takes it. `404` if the server is no witness.",
    ),
    (
        "openapi",
        "OpenAPI 3.1, made from the types that read the requests. The schemas say what is \
         enforced.",
    ),
    ("package_schema", "The package as the gate reads it when a handoff is accepted."),
    ("offer_schema", "An offer that can be proposed. A draft may leave out what is required here."),
    ("aaep_schemas", "Made from the tables of the reader that checks AAEP messages."),
    ("docs", "Plain HTML without scripts, so that it reads in any browser."),
];
