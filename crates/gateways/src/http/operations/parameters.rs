//! What each parameter of a path, header or query means, where its schema does not say it.

pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

pub fn description_of(name: &str) -> Option<&'static str> {
    Some(match name {
        IDEMPOTENCY_KEY => {
            "A text of your choice for this request. If you send the request again with the same \
             key, it takes effect once, and you get the first answer."
        }
        "agent" => "The id of the agent.",
        "bundle" => "The id of the bundle, which the transfer names.",
        "conversation" => "The id of the conversation.",
        "file" => "The name of the file: `sha256:` and the SHA-256 of its bytes.",
        "graph" => "The id of the graph.",
        "handoff" => "The id of the handoff.",
        "index" => "The place of the attachment among the parts of the message, from 0.",
        "message" => "The id of the message.",
        "number" => "The number of the message in its conversation.",
        "question" => "The id of the question.",
        "queue" => "The id of the queue.",
        "reply_token" => "The token that the producer chose for its question.",
        "session" => "The id of the session.",
        "token" => "The id of the token, not its secret.",
        "transfer" => "The id of the transfer.",
        "upload" => "The id of the upload.",
        "webhook" => "The id of the webhook.",
        "cursor" => "`next_cursor` of the page before; the first page when absent.",
        "from_agent" => "Only those of this sender.",
        "holder" => "Only those that this agent or queue has.",
        "kind" => "Only agents of this kind.",
        "limit" => "The most items in a page.",
        "status" => "Only those with this status.",
        "subscription_id" => "The subscription on whose terms to listen.",
        "task_id" => "Only those of this task.",
        "thread_id" => "Only messages of this thread.",
        "to_agent" => "Only those for this target.",
        "topic" => "Only messages on this topic.",
        "type" => "Only messages of this type.",
        _ => return None,
    })
}
