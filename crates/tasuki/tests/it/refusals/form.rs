//! Refusals for the form of a request: its bytes, its caller, and its path.

pub const BODIES: &str = r#"
not JSON                        | alice | initiate           | raw to bob, please                 | 400 json_invalid body
JSON that breaks off            | alice | initiate           | raw {"to_agent":                   | 400 json_invalid to_agent
JSON and more                   | alice | initiate           | raw {} {}                          | 400 json_invalid body
a byte order mark               | alice | initiate           | hex efbbbf7b7d                     | 400 json_invalid body
not UTF-8                       | alice | initiate           | hex 7b2261223a22ff227d             | 400 json_invalid a
a list                          | alice | initiate           | raw [{"to_agent":"bob"}]           | 422 schema_invalid body
a text                          | alice | initiate           | raw "to bob"                       | 422 schema_invalid body
null                            | bob   | accept PROPOSED    | raw null                           | 422 schema_invalid body
a key twice                     | alice | initiate           | raw {"to_agent":"bob","to_agent":"carol"} | 400 json_invalid to_agent
a key twice, once escaped       | alice | draft              | raw {"task":{"title":"a","t\u0069tle":"b"}} | 400 json_invalid task.title
a number that would be rounded  | alice | initiate           | work_state.percent_complete = 9007199254740993 | 400 json_invalid work_state.percent_complete
a number beyond all doubles     | alice | draft              | raw {"work_state":{"percent_complete":1e999}} | 400 json_invalid work_state.percent_complete
NaN                             | alice | draft              | raw {"work_state":{"percent_complete":NaN}} | 400 json_invalid work_state.percent_complete
a bell                          | alice | initiate           | context.summary = "ring\u0007"     | 400 json_invalid context.summary
an escape sequence              | alice | initiate           | task.title = "\u001b[2J"           | 400 json_invalid task.title
text turned around              | alice | initiate           | task.title = "a\u202eb"            | 400 json_invalid task.title
invisible tags                  | bob   | accept PROPOSED    | notes = "\udb40\udc41"             | 400 json_invalid notes
half a character                | bob   | accept PROPOSED    | raw {"notes":"\ud800"}             | 400 json_invalid notes
a key turned around             | alice | draft              | raw {"task":{"a\u2066":1}}         | 400 json_invalid task
a long text                     | alice | initiate           | context.summary = text(262145)     | 400 json_invalid context.summary
a long list                     | alice | initiate           | task.success_criteria = list(1001) | 400 json_invalid task.success_criteria
many keys                       | alice | initiate           | context = keys(257)                | 400 json_invalid context
deep nesting                    | alice | initiate           | context.summary = nest(40)         | 400 json_invalid context.summary[0][0]…
very deep nesting               | alice | draft              | context.summary = nest(20000)      | 400 json_invalid context.summary[0][0]…
a huge body                     | alice | initiate           | context.summary = text(1100000)    | 413 body_too_large body
another content type            | alice | initiate           | @content-type: text/plain          | 415 unsupported_media_type content-type
a form                          | bob   | accept PROPOSED    | @content-type: application/x-www-form-urlencoded ; raw notes=ok | 415 unsupported_media_type content-type
no content type                 | alice | draft              | @content-type:-                    | 415 unsupported_media_type content-type
nearly the content type         | alice | initiate           | @content-type: application/jsonx   | 415 unsupported_media_type content-type
two content types               | alice | initiate           | @content-type+: text/plain         | 415 unsupported_media_type content-type
one content type twice          | bob   | accept PROPOSED    | @content-type+: application/json   | 415 unsupported_media_type content-type
a compressed body               | alice | initiate           | @content-encoding: gzip            | 415 unsupported_media_type content-encoding
a dry run of nothing            | alice | POST /v1/handoffs?dry_run=true | hex -                  | 422 schema_invalid body
an empty key                    | alice | initiate           | @idempotency-key:                  | 422 schema_invalid Idempotency-Key
a key with a space              | alice | initiate           | @idempotency-key: my key           | 422 schema_invalid Idempotency-Key
a key that is too long          | alice | initiate           | @idempotency-key: text(201)        | 422 schema_invalid Idempotency-Key
a key with an accent            | bob   | accept PROPOSED    | @idempotency-key: clé              | 422 schema_invalid Idempotency-Key
an empty session                | alice | initiate           | @tasuki-session:                   | 422 schema_invalid tasuki-session
a session that is too long      | alice | initiate           | @tasuki-session: text(201)         | 422 schema_invalid tasuki-session
a session with an accent        | bob   | accept PROPOSED    | @tasuki-session: café              | 422 schema_invalid tasuki-session
"#;

pub const CALLERS: &str = r#"
no token                        | nobody  | initiate         |                                    | 401 unauthenticated
no token, for a list            | nobody  | query            |                                    | 401 unauthenticated
no token, for an action         | nobody  | accept PROPOSED  |                                    | 401 unauthenticated
no token comes before the body  | nobody  | initiate         | raw {"to_agent"                    | 401 unauthenticated
a token that never was          | garbage | initiate         |                                    | 401 unauthenticated
a token without its last digit  | cut     | draft            |                                    | 401 unauthenticated
a token of another scheme       | basic   | accept PROPOSED  |                                    | 401 unauthenticated
a token without a scheme        | bare    | query            |                                    | 401 unauthenticated
a revoked token                 | revoked | initiate         |                                    | 401 unauthenticated
a revoked token, for an agent   | revoked | GET /v1/agents   |                                    | 401 unauthenticated
an expired token                | expired | initiate         |                                    | 401 unauthenticated
an expired token, for the feed  | expired | GET /v1/events   |                                    | 401 unauthenticated
acting as an agent, by a header | nobody  | initiate         | @tasuki-act-as: alice              | 401 unauthenticated
two tokens                      | alice    | initiate        | @authorization: Bearer other       | 422 schema_invalid authorization
two keys                        | alice    | initiate        | @idempotency-key: a ; @idempotency-key+: b | 422 schema_invalid idempotency-key
a customer reads                | customer | query           |                                    | 403 not_allowed
a customer follows              | customer | GET /v1/events  |                                    | 403 not_allowed
a customer looks at an agent    | customer | GET /v1/agents/alice |                                | 403 not_allowed
an agent registers another      | alice    | PUT /v1/agents/mallory |                              | 403 not_allowed
an agent makes itself a queue   | alice    | PUT /v1/agents/alice | kind = "queue"                 | 403 not_allowed
a coordinator makes a token     | coordinator | POST /v1/tokens | agent = "alice"                  | 403 not_allowed
an agent makes a token          | alice    | POST /v1/tokens | agent = "alice"                    | 403 not_allowed
an agent lists tokens           | alice    | GET /v1/tokens  |                                    | 403 not_allowed
an agent revokes a token        | alice    | POST /v1/tokens/{TOKEN}/revoke |                     | 403 not_allowed
an agent erases                 | alice    | POST /v1/handoffs/{CLOSED}/erase | position = 1 ; reason = "x" | 403 not_allowed
a coordinator erases            | coordinator | POST /v1/handoffs/{CLOSED}/erase | position = 1 ; reason = "x" | 403 not_allowed
a system agent lists tokens     | system   | GET /v1/tokens  |                                    | 403 not_allowed
"#;

pub const PLACES: &str = r#"
a query without a token         | nobody   | GET /v1/handoffs/{PROPOSED}?x=1 |                    | 401 unauthenticated
a dry run of an accept          | bob      | POST /v1/handoffs/{PROPOSED}/accept?dry_run=true |   | 422 schema_invalid dry_run
a dry run of a draft            | alice    | POST /v1/handoffs/drafts?dry_run=true |              | 422 schema_invalid dry_run
a parameter where none is read  | alice    | GET /v1/handoffs/{PROPOSED}?x=1 |                    | 422 schema_invalid x
no such path                    | alice    | GET /v1/handoff |                                    | 404 not_found
no such path, and no token      | nobody   | GET /v2         |                                    | 404 not_found
a path with a slash too many    | alice    | GET /v1/handoffs/ |                                  | 404 not_found
a path that climbs              | alice    | GET /v1/handoffs/../tokens |                         | 404 not_found
no such action                  | bob      | POST /v1/handoffs/{PROPOSED}/explode |               | 404 not_found
the server's own action         | bob      | POST /v1/handoffs/{PROPOSED}/elapse |                | 404 not_found
a name that is no text          | alice    | GET /v1/agents/%FF |                                 | 404 not_found
a name that is none             | alice    | GET /v1/agents/A%20B |                               | 404 not_found
an agent of another teamspace   | alice    | GET /v1/agents/olga |                                | 404 not_found
an agent that does not exist    | alice    | GET /v1/agents/nobody |                              | 404 not_found
no handoff may be removed       | operator | DELETE /v1/handoffs/{CLOSED} |                       | 405 method_not_allowed
a list cannot be replaced       | alice    | PUT /v1/handoffs |                                   | 405 method_not_allowed
an action is not read           | bob      | GET /v1/handoffs/{PROPOSED}/accept |                 | 405 method_not_allowed
a made-up method                | alice    | BREW /v1/handoffs |                                  | 405 method_not_allowed
a limit of none                 | alice    | query           | limit = 0                          | 422 schema_invalid limit
a limit of too many             | alice    | query           | limit = 201                        | 422 schema_invalid limit
a negative limit                | alice    | query           | limit = -1                         | 422 schema_invalid limit
a limit in words                | alice    | query           | limit = "ten"                      | 422 schema_invalid limit
a cursor from nowhere           | alice    | query           | cursor = "next"                    | 400 cursor_invalid cursor
a negative cursor               | alice    | query           | cursor = "-5"                      | 400 cursor_invalid cursor
a status that is none           | alice    | query           | status = "done"                    | 422 schema_invalid status
a sender that is no name        | alice    | query           | from_agent = "A!"                  | 422 schema_invalid from_agent
an unknown filter               | alice    | query           | colour = "red"                     | 422 schema_invalid colour
a filter given twice            | alice    | GET /v1/handoffs?status=draft&status=closed |         | 422 schema_invalid status
a filter that must not be shown | alice    | GET /v1/handoffs?status=%0b     |                      | 422 schema_invalid status
a cursor for a history          | alice    | GET /v1/handoffs/{PROPOSED}/history?cursor=x |        | 400 cursor_invalid cursor
an unknown filter of a history  | alice    | GET /v1/handoffs/{PROPOSED}/history?kind=x |          | 422 schema_invalid kind
a cursor for agents             | alice    | GET /v1/agents?cursor=1e3 |                          | 400 cursor_invalid cursor
a place in words                | alice    | GET /v1/events?after=now |                           | 400 cursor_invalid after
a place beyond the newest       | alice    | GET /v1/events?after=1000000 |                       | 400 cursor_invalid after
the last place there can be     | alice    | GET /v1/events?after=18446744073709551615 |          | 400 cursor_invalid after
a place beyond all numbers      | alice    | GET /v1/events?after=18446744073709551616 |          | 400 cursor_invalid after
a bad Last-Event-ID             | alice    | GET /v1/events  | @last-event-id: abc                | 400 cursor_invalid Last-Event-ID
a stream that is none           | alice    | GET /v1/events?stream=task/1 |                       | 422 schema_invalid stream
a stream of a bad id            | alice    | GET /v1/events?stream=handoff/1 |                    | 422 schema_invalid stream
an agent that is no name        | alice    | GET /v1/events?agent=A |                             | 422 schema_invalid agent
an unknown filter of the feed   | alice    | GET /v1/events?teamspace=other |                     | 422 schema_invalid teamspace
"#;

pub const MANAGING: &str = r#"
an agent without a kind         | operator | PUT /v1/agents/eve | - kind                          | 422 schema_invalid kind
an agent of an unknown kind     | operator | PUT /v1/agents/eve | kind = "robot"                  | 422 schema_invalid kind
an operator is no agent         | operator | PUT /v1/agents/eve | kind = "operator"               | 422 schema_invalid kind
an agent with an unknown field  | operator | PUT /v1/agents/eve | secret = "x"                    | 422 schema_invalid secret
a profile with an unknown field | operator | PUT /v1/agents/eve | profile = {"smell":"x"}         | 422 schema_invalid profile.smell
an icon that is too long        | operator | PUT /v1/agents/eve | profile.icon = text(9)          | 422 schema_invalid profile.icon
a color by its name             | operator | PUT /v1/agents/eve | profile = {"color":"red"}       | 422 schema_invalid profile.color
more than anybody can hold      | operator | PUT /v1/agents/eve | profile = {"capacity":65}       | 422 schema_invalid profile.capacity
a capacity below nothing        | operator | PUT /v1/agents/eve | profile = {"capacity":-1}       | 422 schema_invalid profile.capacity
a name that is a number         | operator | PUT /v1/agents/eve | profile = {"name":5}            | 422 schema_invalid profile.name
a name of two lines             | operator | PUT /v1/agents/eve | profile = {"name":"Hx\n* Hana"} | 422 schema_invalid profile.name
a name with a mark of direction | operator | PUT /v1/agents/eve | profile = {"name":"a\u061cb"}   | 422 schema_invalid profile.name
a name with hidden characters   | operator | PUT /v1/agents/eve | profile = {"name":"E\u200bve"}  | 422 schema_invalid profile.name
a name that cannot be seen      | operator | PUT /v1/agents/eve | profile = {"name":"\u3164"}     | 422 schema_invalid profile.name
a name like the server's        | operator | PUT /v1/agents/eve | profile = {"name":"T\u0430suki"} | 422 schema_invalid profile.name
the server's own name           | operator | PUT /v1/agents/system | kind = "worker"              | 422 schema_invalid agent
the coordinators' address       | operator | PUT /v1/agents/coordinator | kind = "worker"         | 422 schema_invalid agent
a name that reads as the server | operator | PUT /v1/agents/tasuki-help | kind = "worker"         | 422 schema_invalid agent
a name of blanks                | operator | PUT /v1/agents/eve | profile = {"name":"  "}          | 422 schema_invalid profile.name
a name that is too long         | operator | PUT /v1/agents/eve | profile.name = text(2001)       | 422 schema_invalid profile.name
a profile that is a list        | operator | PUT /v1/agents/eve | profile = ["Eve"]               | 422 schema_invalid profile
too many capabilities           | operator | PUT /v1/agents/eve | profile.capabilities = list(65) | 422 schema_invalid profile.capabilities
a description that is too long  | operator | PUT /v1/agents/eve | profile.description = text(2001) | 422 schema_invalid profile.description
an agent that changes its kind  | operator | PUT /v1/agents/alice | kind = "queue"                | 409 already_exists
an agent of a bad name          | operator | PUT /v1/agents/Eve |                                 | 422 schema_invalid agent
a token without an agent        | operator | POST /v1/tokens    |                                 | 422 schema_invalid agent
a token for a bad name          | operator | POST /v1/tokens    | agent = "Eve"                   | 422 schema_invalid agent
a token of an unknown kind      | operator | POST /v1/tokens    | agent = "eve" ; kind = "root"   | 422 schema_invalid kind
a token with an unknown role    | operator | POST /v1/tokens    | agent = "eve" ; roles = ["boss"] | 422 schema_invalid roles[0]
a token that is over            | operator | POST /v1/tokens    | agent = "eve" ; expires_at = "2020-01-01T00:00:00Z" | 422 schema_invalid expires_at
a token for another teamspace   | operator | POST /v1/tokens    | agent = "eve" ; teamspace = "other" | 422 schema_invalid teamspace
a token of another kind         | operator | POST /v1/tokens    | agent = "alice" ; kind = "human" | 409 already_exists kind
no token of that id             | operator | POST /v1/tokens/{UNKNOWN}/revoke |                   | 404 not_found
a bad id of a token             | operator | POST /v1/tokens/{MALFORMED}/revoke |                 | 404 not_found
a token of another teamspace    | operator | POST /v1/tokens/{OTHERS_TOKEN}/revoke |              | 404 not_found
erasing what is not final       | operator | POST /v1/handoffs/{COMPLETED}/erase | position = 1 ; reason = "x" | 409 wrong_state
erasing what is another's       | operator | POST /v1/handoffs/{OTHERS}/erase | position = 1 ; reason = "x" | 404 not_found
erasing before the beginning    | operator | POST /v1/handoffs/{CLOSED}/erase | position = 0 ; reason = "x" | 422 schema_invalid position
erasing after the end           | operator | POST /v1/handoffs/{CLOSED}/erase | position = 99 ; reason = "x" | 422 schema_invalid position
erasing half an entry           | operator | POST /v1/handoffs/{CLOSED}/erase | position = 1.5 ; reason = "x" | 422 schema_invalid position
erasing without a reason        | operator | POST /v1/handoffs/{CLOSED}/erase | position = 1         | 422 schema_invalid reason
erasing for a blank reason      | operator | POST /v1/handoffs/{CLOSED}/erase | position = 1 ; reason = " " | 422 schema_invalid reason
erasing for a very long reason  | operator | POST /v1/handoffs/{CLOSED}/erase | position = 1 ; reason = text(16385) | 422 schema_invalid reason
a revocation with a field       | operator | POST /v1/tokens/{TOKEN}/revoke | why = "x"           | 422 schema_invalid why
"#;

pub const ACP: &str = r#"
no action                       | alice | ACP                |                                    | 422 schema_invalid action
an action that is no text       | alice | ACP                | action = 5                         | 422 schema_invalid action
an unknown action               | alice | ACP                | action = "explode"                 | 422 schema_invalid action
the server's own action         | alice | ACP                | action = "elapse"                  | 422 schema_invalid action
an action in capitals           | alice | ACP                | action = "ACCEPT"                  | 422 schema_invalid action
an accept of nothing            | bob   | ACP                | action = "accept"                  | 422 schema_invalid handoff_id
an id that is no text           | bob   | ACP                | action = "accept" ; handoff_id = 5 | 422 schema_invalid handoff_id
a limit that is a fraction      | alice | ACP                | action = "query" ; limit = 1.5     | 422 schema_invalid limit
a status that is a number       | alice | ACP                | action = "query" ; status = 5      | 422 schema_invalid status
a limit that is a text          | alice | ACP                | action = "query" ; limit = "10"    | 422 schema_invalid limit
a limit that is true            | alice | ACP                | action = "query" ; limit = true    | 422 schema_invalid limit
a dry run that is a text        | alice | initiate           | dry_run = "true"                   | 422 schema_invalid dry_run
a dry run that is a number      | alice | initiate           | dry_run = 1                        | 422 schema_invalid dry_run
a dry run that is a word        | alice | initiate           | dry_run = "yes"                    | 422 schema_invalid dry_run
a dry run that is a list        | alice | initiate           | dry_run = []                       | 422 schema_invalid dry_run
a dry run that is null          | alice | initiate           | dry_run = null                     | 422 schema_invalid dry_run
a dry run that is an object     | alice | initiate           | dry_run = {"yes":true}             | 422 schema_invalid dry_run
a dry run of a saved draft      | alice | initiate DRAFT     | dry_run = true                     | 422 schema_invalid dry_run
a dry run of an accept          | bob   | accept PROPOSED    | dry_run = true                     | 422 schema_invalid dry_run
a query by a status in a list   | alice | ACP                | action = "query" ; status = ["draft"] | 422 schema_invalid status
a query with a cursor of number | alice | ACP                | action = "query" ; cursor = 5      | 422 schema_invalid cursor
a query with a limit of true    | alice | ACP                | action = "query" ; limit = true    | 422 schema_invalid limit
"#;
