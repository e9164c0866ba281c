//! Refusals for messages. Those that get as far as the rules count against their sender's ten a
//! minute, so they come from several.

pub const MESSAGES: &str = r#"
a message without a type        | alice | POST /v1/acp/messages | to = ["bob"]                    | 422 schema_invalid type
a reserved type                 | alice | POST /v1/acp/messages | type = "task.offer"             | 422 schema_invalid type
an unknown type                 | alice | POST /v1/acp/messages | type = "gossip"                 | 422 schema_invalid type
a type that is a number         | alice | POST /v1/acp/messages | type = 5                        | 422 schema_invalid type
a type of the server            | bob   | POST /v1/acp/messages | to = ["alice"] ; type = "system.error" | 403 not_allowed
a message without a receiver    | alice | POST /v1/acp/messages | type = "status.update"          | 422 schema_invalid to
a message to an unknown agent   | alice | POST /v1/acp/messages | to = ["mallory"] ; type = "status.update" | 422 unknown_agent to
a message to the server         | alice | POST /v1/acp/messages | to = ["system"] ; type = "status.update" | 422 unknown_agent to
a message to 65                 | alice | POST /v1/acp/messages | to = list(65) ; type = "status.update" | 422 schema_invalid to
a recipient in capitals         | alice | POST /v1/acp/messages | to = ["Bob"]                    | 422 schema_invalid to[0]
recipients that are one text    | alice | POST /v1/acp/messages | to = "bob"                      | 422 schema_invalid to
everyone and one more           | alice | POST /v1/acp/messages | to = ["*", "bob"] ; type = "status.update" ; priority = "high" | 422 schema_invalid to
a broadcast without urgency     | bob   | POST /v1/acp/messages | to = ["*"] ; type = "status.update" | 403 not_allowed
a message of an operator        | operator | POST /v1/acp/messages | to = ["bob"] ; type = "status.update" | 403 not_allowed
a message in another's name     | alice | POST /v1/acp/messages | from = "bob"                    | 403 identity_mismatch from
an id from outside              | alice | POST /v1/acp/messages | id = "m1"                       | 422 schema_invalid id
a status from outside           | alice | POST /v1/acp/messages | status = "read"                 | 422 schema_invalid status
another protocol                | bob   | POST /v1/acp/messages | to = ["bob"] ; type = "status.update" ; protocol = "smtp" | 422 schema_invalid protocol
another major version           | bob   | POST /v1/acp/messages | to = ["bob"] ; type = "status.update" ; version = "2.0.0" | 422 schema_invalid version
an unknown priority             | alice | POST /v1/acp/messages | priority = "urgent"             | 422 schema_invalid priority
a sequence below zero           | alice | POST /v1/acp/messages | sequence = -1                   | 422 schema_invalid sequence
a message that is over          | bob   | POST /v1/acp/messages | to = ["bob"] ; type = "status.update" ; expires_at = "2020-01-01T00:00:00Z" | 422 schema_invalid expires_at
a payload that is a list        | alice | POST /v1/acp/messages | payload = []                    | 422 schema_invalid payload
a payload that is too large     | bob   | POST /v1/acp/messages | to = ["bob"] ; type = "status.update" ; payload.a = text(4089) | 413 payload_too_large payload
a context that is too large     | bob   | POST /v1/acp/messages | to = ["bob"] ; type = "status.update" ; context.session_id = text(4096) | 422 schema_invalid context
an unknown visibility           | alice | POST /v1/acp/messages | policy.visibility = "public"    | 422 schema_invalid policy.visibility
an answer to nothing            | alice | POST /v1/acp/messages/{UNKNOWN}/respond | type = "status.update" | 404 not_found
an answer to a bad id           | alice | POST /v1/acp/messages/{MALFORMED}/respond | type = "status.update" | 404 not_found
an answer by a stranger         | system | POST /v1/acp/messages/{MESSAGE}/respond | type = "status.update" | 404 not_found
an answer from elsewhere        | olga  | POST /v1/acp/messages/{MESSAGE}/respond | type = "status.update" | 404 not_found
an answer in another thread     | bob   | POST /v1/acp/messages/{MESSAGE}/respond | type = "status.update" ; thread_id = "x" | 422 schema_invalid thread_id
an answer to something else     | bob   | POST /v1/acp/messages/{MESSAGE}/respond | type = "status.update" ; reply_to = "01938c2e-0000-7000-8000-000000000001" | 422 schema_invalid reply_to
reading what one sent           | alice | POST /v1/acp/messages/{MESSAGE}/read |                  | 403 not_allowed
reading as a coordinator        | coordinator | POST /v1/acp/messages/{MESSAGE}/read |            | 403 not_allowed
reading as a stranger           | system | POST /v1/acp/messages/{MESSAGE}/read |                 | 404 not_found
reading with a field            | bob   | POST /v1/acp/messages/{MESSAGE}/read | why = "x"        | 422 schema_invalid why
looking as a stranger           | system | GET /v1/acp/messages/{MESSAGE} |                       | 404 not_found
looking from elsewhere          | olga  | GET /v1/acp/messages/{MESSAGE} |                        | 404 not_found
messages of no status           | alice | GET /v1/acp/messages?status=lost |                      | 422 schema_invalid status
messages of a reserved type     | alice | GET /v1/acp/messages?type=team.join |                   | 422 schema_invalid type
messages since no time          | alice | GET /v1/acp/messages?since=today |                      | 422 schema_invalid since
messages by an unknown name     | alice | GET /v1/acp/messages?colour=red |                       | 422 schema_invalid colour
an inbox of no rows             | alice | GET /v1/acp/inbox?limit=0 |                             | 422 schema_invalid limit
an inbox from nowhere           | alice | GET /v1/acp/inbox?cursor=x |                            | 400 cursor_invalid cursor
an inbox in another format      | alice | GET /v1/acp/inbox?format=xml |                          | 422 schema_invalid format
an inbox without a token        | nobody | GET /v1/acp/inbox |                                    | 401 unauthenticated
"#;
