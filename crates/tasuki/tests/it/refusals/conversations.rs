//! Refusals for conversations. `caller` is the customer of one that alice opened and bob holds.

pub const CONVERSATIONS: &str = r#"
a conversation without an agent | alice | POST /v1/conversations |                                | 422 schema_invalid agent
one for an unknown agent        | alice | POST /v1/conversations | agent = "mallory"              | 422 unknown_agent agent
one for a system agent          | alice | POST /v1/conversations | agent = "router"               | 422 schema_invalid agent
one whose supervisor is unknown | alice | POST /v1/conversations | topology = {"kind": "supervisor", "supervisor": "mallory", "workers": ["bob"]} | 422 unknown_agent topology.supervisor
one whose first is unknown      | alice | POST /v1/conversations | topology = {"kind": "swarm", "members": ["mallory"], "default_agent": "mallory"} | 422 unknown_agent topology.default_agent
one by a customer               | customer | POST /v1/conversations | agent = "bob"               | 403 not_allowed
one with no hops                | alice | POST /v1/conversations | agent = "bob" ; hops_max = 0   | 422 schema_invalid hops_max
one with an unknown field       | alice | POST /v1/conversations | colour = "red"                 | 422 schema_invalid colour
a customer's name of two lines  | alice | POST /v1/conversations | agent = "bob" ; customer = {"name": "a\nb"} | 422 schema_invalid customer.name
a swarm without its default     | alice | POST /v1/conversations | topology = {"kind": "swarm", "members": ["bob"], "default_agent": "carol"} | 422 schema_invalid topology.default_agent
an unknown topology             | alice | POST /v1/conversations | topology = {"kind": "ring"}    | 422 schema_invalid topology…
a message without parts         | caller | POST {CHAT}/messages |                                 | 422 schema_invalid parts
a message of no parts           | caller | POST {CHAT}/messages | parts = []                      | 422 schema_invalid parts
a message of nothing            | caller | POST {CHAT}/messages | parts = [{"type": "text", "text": " "}] | 422 schema_invalid parts[0].text
a part of another type          | caller | POST {CHAT}/messages | parts = [{"type": "video"}]     | 422 schema_invalid parts[0]…
a file outside its folder       | caller | POST {CHAT}/messages | parts = [{"type": "attachment", "name": "../a", "media_type": "a/b", "data": "aGk="}] | 422 schema_invalid parts[0].name
a file that is no base64        | caller | POST {CHAT}/messages | parts = [{"type": "attachment", "name": "a", "media_type": "a/b", "data": "!"}] | 422 schema_invalid parts[0].data
a file with another hash        | caller | POST {CHAT}/messages | parts = [{"type": "attachment", "name": "a", "media_type": "a/b", "data": "aGk=", "sha256": "00"}] | 422 schema_invalid parts[0].sha256
an answer to what is not there  | caller | POST {CHAT}/messages | parts = [{"type": "text", "text": "x"}] ; in_reply_to = 9 | 422 schema_invalid in_reply_to
speaking without an epoch       | bob   | POST {CHAT}/messages | parts = [{"type": "text", "text": "x"}] | 422 epoch_required epoch
speaking as a stranger          | carol | POST {CHAT}/messages | parts = [{"type": "text", "text": "x"}] ; epoch = 1 | 404 not_found
speaking as another customer    | customer | POST {CHAT}/messages | parts = [{"type": "text", "text": "x"}] | 404 not_found
speaking from elsewhere         | olga  | POST {CHAT}/messages | parts = [{"type": "text", "text": "x"}] ; epoch = 1 | 404 not_found
speaking as an operator         | operator | POST {CHAT}/messages | parts = [{"type": "text", "text": "x"}] | 403 not_allowed
handing on without an epoch     | bob   | POST {CHAT}/commands | goto = "carol"                   | 422 epoch_required epoch
handing on for an old epoch     | bob   | POST {CHAT}/commands | goto = "carol" ; epoch = 7       | 409 epoch_outdated
handing on what another holds   | alice | POST {CHAT}/commands | goto = "carol" ; epoch = 1       | 409 not_holder
handing on without a target     | bob   | POST {CHAT}/commands | epoch = 1                        | 422 schema_invalid goto
handing on to oneself           | bob   | POST {CHAT}/commands | goto = "bob" ; epoch = 1         | 422 schema_invalid goto
handing on to a system agent    | bob   | POST {CHAT}/commands | goto = "router" ; epoch = 1      | 422 schema_invalid goto
sharing too much                | bob   | POST {CHAT}/commands | goto = "carol" ; epoch = 1 ; update.a = text(16384) | 422 schema_invalid update
choosing an agent not on offer  | caller | PUT {CHAT}/agent | - kind ; agent_id = "carol"                  | 422 agent_not_selectable agent_id
choosing an unknown agent       | caller | PUT {CHAT}/agent | - kind ; agent_id = "mallory"                | 422 unknown_agent agent_id
choosing as an agent            | bob   | PUT {CHAT}/agent | - kind ; agent_id = "carol"                   | 403 not_allowed
calls in another form           | bob   | POST {CHAT}/tool-calls | form = "xml" ; turn = {} ; epoch = 1 | 422 schema_invalid form
calls of the user               | bob   | POST {CHAT}/tool-calls | form = "openai" ; turn = {"role": "user", "content": "x"} ; epoch = 1 | 422 schema_invalid turn.role
calls of a turn that is a text  | bob   | POST {CHAT}/tool-calls | form = "openai" ; turn = "x" ; epoch = 1 | 422 schema_invalid turn
calls without an id             | bob   | POST {CHAT}/tool-calls | form = "openai" ; turn = {"role": "assistant", "tool_calls": [{"id": "", "function": {"name": "a", "arguments": "{}"}}]} ; epoch = 1 | 422 schema_invalid turn.tool_calls[0].id
calls of anthropic as openai    | bob   | POST {CHAT}/tool-calls | form = "openai" ; turn = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "a", "input": {}}]} ; epoch = 1 | 422 schema_invalid turn.content[0].type
calls of openai as anthropic    | bob   | POST {CHAT}/tool-calls | form = "anthropic" ; turn = {"role": "assistant", "content": "One moment", "tool_calls": [{"id": "c1", "function": {"name": "a", "arguments": "{}"}}]} ; epoch = 1 | 422 schema_invalid turn.tool_calls
calls without a name            | bob   | POST {CHAT}/tool-calls | form = "anthropic" ; turn = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "", "input": {}}]} ; epoch = 1 | 422 schema_invalid turn.content[0].name
a person with an empty summary  | bob   | POST {CHAT}/transfers | epoch = 1 ; context = {"summary": ""} | 422 schema_invalid context.summary
a person at an address of none  | bob   | POST {CHAT}/transfers | epoch = 1 ; context = {"voice": {"sipUri": "http://x", "callerId": "1", "codec": "opus", "dtmfSupported": true}} | 422 schema_invalid context.voice.sipUri
a person with a listed attribute | bob  | POST {CHAT}/transfers | epoch = 1 ; context = {"custom_attributes": {"a": []}} | 422 schema_invalid context.custom_attributes.a
a token for a customer          | bob   | POST {CHAT}/tokens |                                    | 403 not_allowed
closing as the opening agent    | alice | POST {CHAT}/close |                                     | 403 not_allowed
closing with a field            | caller | POST {CHAT}/close | why = "x"                          | 422 schema_invalid why
messages after nothing          | caller | GET {CHAT}/messages?after=x |                          | 400 cursor_invalid after
detecting in another form       | bob   | POST /v1/handoffs/detect | form = "xml" ; messages = [] | 422 schema_invalid form
detecting in no list            | bob   | POST /v1/handoffs/detect | messages = "x"               | 422 schema_invalid messages
detecting in a text             | bob   | POST /v1/handoffs/detect | messages = ["x"]             | 422 schema_invalid messages[0]
detecting among no speakers     | bob   | POST /v1/handoffs/detect | messages = [{"role": "person", "content": "x"}] | 422 schema_invalid messages[0].role
detecting as a customer         | caller | POST /v1/handoffs/detect | messages = []               | 403 not_allowed
tools in another format         | bob   | GET /v1/agents/bob/handoff-tools?format=xml |           | 422 schema_invalid format
tools of an unknown agent       | bob   | GET /v1/agents/mallory/handoff-tools |                  | 404 not_found
conversations of no status      | bob   | GET /v1/conversations?status=lost |                     | 422 schema_invalid status
conversations of a customer     | caller | GET /v1/conversations |                                | 403 not_allowed
handoffs of a customer          | caller | GET /v1/handoffs |                                     | 403 not_allowed
erasing what is not there       | operator | POST {CHAT}/erase | position = 99 ; reason = "asked" | 422 schema_invalid position
erasing as a coordinator        | coordinator | POST {CHAT}/erase | position = 1 ; reason = "asked" | 403 not_allowed
"#;
