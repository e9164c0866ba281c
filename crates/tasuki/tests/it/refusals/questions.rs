//! Refusals for questions to humans.

pub const QUESTIONS: &str = r#"
a question without a text       | alice | POST /v1/questions | to = "bob"                          | 422 schema_invalid text
a question with a blank text    | alice | POST /v1/questions | text = " "                          | 422 schema_invalid text
a question that is too long     | alice | POST /v1/questions | text = text(8193)                   | 422 schema_invalid text
a question to an unknown agent  | alice | POST /v1/questions | text = "Go on?" ; to = "mallory"    | 422 unknown_agent to
a question to a worker          | alice | POST /v1/questions | text = "Go on?" ; to = "bob"        | 422 schema_invalid to
a question of an operator       | operator | POST /v1/questions | text = "Go on?" ; to = "bob"     | 403 not_allowed
a question of a customer        | customer | POST /v1/questions | text = "Go on?" ; to = "bob"     | 403 not_allowed
an unknown kind of answer       | alice | POST /v1/questions | text = "Go on?" ; wants = "maybe"   | 422 schema_invalid wants
too many options                | alice | POST /v1/questions | text = "Go on?" ; options = list(33) | 422 schema_invalid options
an option of two lines          | alice | POST /v1/questions | text = "Go on?" ; options = ["a\nb"] | 422 schema_invalid options[0]
arguments that are a list       | alice | POST /v1/questions | text = "Go on?" ; arguments = []    | 422 schema_invalid arguments
arguments that are too large    | alice | POST /v1/questions | text = "Go on?" ; arguments.a = text(16384) | 422 schema_invalid arguments
a timeout of 800 hours          | alice | POST /v1/questions | text = "Go on?" ; timeout = "800h"  | 422 schema_invalid timeout
a default that is a text        | alice | POST /v1/questions | text = "Go on?" ; default = "yes"   | 422 schema_invalid default
too many workers                | alice | POST /v1/questions | text = "Go on?" ; workers = list(17) | 422 schema_invalid workers
a question with another field   | alice | POST /v1/questions | text = "Go on?" ; colour = "red"    | 422 schema_invalid colour
an answer without a hash        | alice | POST /v1/questions/{UNKNOWN}/answer | decision = "approve" | 422 schema_invalid hash
a withdrawal of nothing         | alice | POST /v1/questions/{UNKNOWN}/withdraw |                  | 404 not_found
a claim of a bad id             | alice | POST /v1/questions/{MALFORMED}/claim |                   | 404 not_found
a lease of a day                | alice | POST /v1/questions/{UNKNOWN}/claim | lease = "24h"       | 422 schema_invalid lease
finishing without an epoch      | alice | POST /v1/questions/{UNKNOWN}/finish |                    | 422 schema_invalid epoch
erasing as an agent             | alice | POST /v1/questions/{UNKNOWN}/erase | position = 1 ; reason = "x" | 403 not_allowed
a wait of a minute              | alice | GET /v1/questions/{UNKNOWN}?wait=60s |                   | 422 schema_invalid wait
questions of no status          | alice | GET /v1/questions?status=lost |                          | 422 schema_invalid status
what waits for another          | alice | GET /v1/questions?waiting_for=bob |                      | 422 schema_invalid waiting_for
questions from nowhere          | alice | GET /v1/questions?cursor=x |                             | 400 cursor_invalid cursor
a tool in another format        | alice | GET /v1/questions/tool?format=xml |                      | 422 schema_invalid format
tool calls in another form      | alice | POST /v1/questions/tool_calls | form = "xml" ; turn = {} ; reference = "r" | 422 schema_invalid form
a turn that is no message       | alice | POST /v1/questions/tool_calls | form = "openai" ; turn = {} ; reference = "r" | 422 schema_invalid turn…
tool calls without a reference  | alice | POST /v1/questions/tool_calls | form = "openai" ; turn = {} | 422 schema_invalid reference
tool calls of too many workers  | alice | POST /v1/questions/tool_calls | form = "openai" ; turn = {} ; reference = "r" ; workers = list(17) | 422 schema_invalid workers
tool calls with a default       | alice | POST /v1/questions/tool_calls | form = "openai" ; turn = {} ; reference = "r" ; default.decision = "approve" | 422 schema_invalid default
"#;
