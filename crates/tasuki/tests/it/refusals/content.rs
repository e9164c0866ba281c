//! Refusals for the content of a request: types, fields, values, and conflicts with the ledger.

pub const TYPES: &str = r#"
to_agent is a number            | alice | initiate           | to_agent = 5                       | 422 schema_invalid to_agent
to_agent is in capitals         | alice | initiate           | to_agent = "Bob"                   | 422 schema_invalid to_agent
to_agent has a look-alike       | alice | initiate           | to_agent = "b\u043eb"              | 422 schema_invalid to_agent
to_agent is empty               | alice | initiate           | to_agent = ""                      | 422 schema_invalid to_agent
to_agent is too long            | alice | initiate           | to_agent = text(65)                | 422 schema_invalid to_agent
task is text                    | alice | initiate           | task = "T-1"                       | 422 schema_invalid task
task is a list of its fields    | alice | initiate           | task = ["T-1", "Mend it"]          | 422 schema_invalid task
context is an empty list        | alice | draft              | context = []                       | 422 schema_invalid context
title is a number               | alice | initiate           | task.title = 5                     | 422 schema_invalid task.title
criteria are one text           | alice | initiate           | task.success_criteria = "done"     | 422 schema_invalid task.success_criteria
a criterion is a number         | alice | initiate           | task.success_criteria = ["a", 5]   | 422 schema_invalid task.success_criteria[1]
criteria are null               | alice | initiate           | task.success_criteria = null       | 422 schema_invalid task.success_criteria
priority is unknown             | alice | initiate           | task.priority = "urgent"           | 422 schema_invalid task.priority
return is text                  | alice | initiate           | return = "yes"                     | 422 schema_invalid return
percent is text                 | alice | initiate           | work_state.percent_complete = "50" | 422 schema_invalid work_state.percent_complete
status of work is unknown       | alice | draft              | work_state.status = "nearly"       | 422 schema_invalid work_state.status
deadline is no time             | alice | initiate           | deadline = "tomorrow"              | 422 schema_invalid deadline
deadline is a number            | alice | initiate           | deadline = 1893456000              | 422 schema_invalid deadline
deadline is after the last day  | alice | initiate           | deadline = "9999-12-31T12:00:00Z"  | 422 schema_invalid deadline
deadline is before 1970         | alice | draft              | deadline = "1969-12-31T23:59:59Z"  | 422 schema_invalid deadline
classification is unknown       | alice | initiate           | policy = {"classification":"top"}  | 422 schema_invalid policy.classification
reason for a reject is unknown  | bob   | reject PROPOSED    | reason = "bored"                   | 422 schema_invalid reason
detail is a list                | bob   | reject PROPOSED    | detail = ["no"]                    | 422 schema_invalid detail
notes are a number              | bob   | accept PROPOSED    | notes = 5                          | 422 schema_invalid notes
a next step that is blank       | bob   | activate ACCEPTED  | work_state_update = {"next_step":" "} | 422 schema_invalid work_state_update.next_step
work_state_update is text       | bob   | activate ACCEPTED  | work_state_update = "x"            | 422 schema_invalid work_state_update
final_artifacts are an object   | bob   | complete ACTIVATED | final_artifacts = {}               | 422 schema_invalid final_artifacts
closure_notes are true          | bob   | close COMPLETED    | closure_notes = true               | 422 schema_invalid closure_notes
"#;

pub const FIELDS: &str = r#"
no target                       | alice | initiate           | - to_agent                         | 422 schema_invalid to_agent
no task                         | alice | initiate           | - task                             | 422 schema_invalid task
no task id                      | alice | initiate           | - task.task_id                     | 422 schema_invalid task.task_id
no title                        | alice | initiate           | - task.title                       | 422 schema_invalid task.title
no criteria                     | alice | initiate           | - task.success_criteria            | 422 schema_invalid task.success_criteria
no summary                      | alice | initiate           | - context.summary                  | 422 schema_invalid context.summary
no next step                    | alice | initiate           | - work_state                       | 422 schema_invalid work_state.next_step
nothing at all                  | alice | initiate           | - to_agent ; - task ; - context ; - work_state | 422 schema_invalid to_agent
no reason for a reject          | bob   | reject PROPOSED    | - reason                           | 422 schema_invalid reason
no detail for a reject          | bob   | reject PROPOSED    | - detail                           | 422 schema_invalid detail
an artifact without a reference | alice | draft              | artifacts = [{"artifact_id":"a"}]  | 422 schema_invalid artifacts[0].ref
an unknown field                | alice | initiate           | colour = "red"                     | 422 schema_invalid colour
an unknown field of a draft     | alice | draft              | task.owner = "bob"                 | 422 schema_invalid task.owner
an unknown field of accept      | bob   | accept PROPOSED    | sure = true                        | 422 schema_invalid sure
an unknown field of close       | bob   | close COMPLETED    | force = true                       | 422 schema_invalid force
the state from outside          | alice | initiate           | status = "accepted"                | 422 schema_invalid status
the hash from outside           | alice | initiate           | package_hash = "00"                | 422 schema_invalid package_hash
the chain from outside          | alice | initiate           | provenance = {"handoff_chain":[]}  | 422 schema_invalid provenance.handoff_chain
the session from outside        | alice | initiate           | provenance = {"origin_session":""} | 422 schema_invalid provenance.origin_session
an actor from outside           | bob   | accept PROPOSED    | actor = "alice"                    | 422 schema_invalid actor
from is another agent           | alice | initiate           | from = "bob"                       | 403 identity_mismatch from
from_agent is another agent     | alice | draft              | from_agent = "bob"                 | 403 identity_mismatch from_agent
from is the caller, in capitals | alice | initiate           | from = "Alice"                     | 403 identity_mismatch from
from is no text                 | alice | initiate           | from = {"agent":"alice"}           | 403 identity_mismatch from
from_agent of who accepts       | bob   | accept PROPOSED    | from_agent = "alice"               | 403 identity_mismatch from_agent
an operator claims to be alice  | operator | close COMPLETED | from = "alice"                     | 403 identity_mismatch from
"#;

pub const VALUES: &str = r#"
title is blank                  | alice | initiate           | task.title = "  "                  | 422 schema_invalid task.title
title shows nothing             | alice | initiate           | task.title = "\u3164\u200b"         | 422 schema_invalid task.title
summary shows nothing           | alice | initiate           | context.summary = "\u200d"         | 422 schema_invalid context.summary
a criterion shows nothing       | alice | initiate           | task.success_criteria = ["a", "\u2060"] | 422 schema_invalid task.success_criteria[1]
detail shows nothing            | bob   | reject PROPOSED    | detail = "\u00ad\ufe0f"            | 422 schema_invalid detail
title has two lines             | alice | initiate           | task.title = "a\nb"                | 422 schema_invalid task.title
title is too long               | alice | draft              | task.title = text(301)             | 422 schema_invalid task.title
task id begins with a space     | alice | initiate           | task.task_id = " T"                | 422 schema_invalid task.task_id
task id is too long             | alice | initiate           | task.task_id = text(201)           | 422 schema_invalid task.task_id
thread id is empty              | alice | draft              | thread_id = ""                     | 422 schema_invalid thread_id
a criterion is blank            | alice | initiate           | task.success_criteria = ["a", " "] | 422 schema_invalid task.success_criteria[1]
summary is blank                | alice | initiate           | context.summary = "\n"             | 422 schema_invalid context.summary
next step is blank              | alice | initiate           | work_state.next_step = ""          | 422 schema_invalid work_state.next_step
percent is over 100             | alice | initiate           | work_state.percent_complete = 101  | 422 schema_invalid work_state.percent_complete
percent is under 0              | alice | draft              | work_state.percent_complete = -0.5 | 422 schema_invalid work_state.percent_complete
percent of an update            | bob   | activate ACCEPTED  | work_state_update = {"percent_complete":101} | 422 schema_invalid work_state_update.percent_complete
deadline is over                | alice | initiate           | deadline = "2020-01-01T00:00:00Z"  | 422 schema_invalid deadline
deadline of the task is over    | alice | initiate           | task.deadline = "2020-01-01T00:00:00Z" | 422 schema_invalid task.deadline
reason is too long              | alice | initiate           | reason = text(16385)               | 422 schema_invalid reason
notes are too long              | bob   | accept PROPOSED    | notes = text(16385)                | 422 schema_invalid notes
detail is blank                 | bob   | reject PROPOSED    | detail = " "                       | 422 schema_invalid detail
detail is too long              | bob   | reject PROPOSED    | detail = text(16385)               | 422 schema_invalid detail
suggested fix is too long       | bob   | reject PROPOSED    | suggested_fix = text(16385)        | 422 schema_invalid suggested_fix
completion notes are too long   | bob   | complete ACTIVATED | completion_notes = text(16385)     | 422 schema_invalid completion_notes
closure notes are too long      | bob   | close COMPLETED    | closure_notes = text(16385)        | 422 schema_invalid closure_notes
artifact without a name         | alice | draft              | artifacts = [{"artifact_id":" ","ref":{"type":"file","path":"/a"}}] | 422 schema_invalid artifacts[0].artifact_id
artifact without a path         | alice | draft              | artifacts = [{"artifact_id":"a","ref":{"type":"file","path":""}}] | 422 schema_invalid artifacts[0].ref.path
artifact of an unknown kind     | alice | draft              | artifacts = [{"artifact_id":"a","ref":{"type":"disk","path":"/a"}}] | 422 schema_invalid artifacts[0].ref.type
artifacts of one name           | alice | initiate           | artifacts = [{"artifact_id":"a","ref":{"type":"file","path":"/a"}},{"artifact_id":"a","ref":{"type":"file","path":"/b"}}] | 422 schema_invalid artifacts[1].artifact_id
sha256 is too short             | alice | initiate           | artifacts = [{"artifact_id":"a","ref":{"type":"file","path":"/a","sha256":"00"}}] | 422 schema_invalid artifacts[0].ref.sha256
sha256 is in capitals           | alice | initiate           | artifacts = [{"artifact_id":"a","ref":{"type":"file","path":"/a","sha256":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}}] | 422 schema_invalid artifacts[0].ref.sha256
size is negative                | alice | draft              | artifacts = [{"artifact_id":"a","ref":{"type":"file","path":"/a","size_bytes":-1}}] | 422 schema_invalid artifacts[0].ref.size_bytes
final artifacts of one name     | bob   | complete ACTIVATED | final_artifacts = [{"artifact_id":"a","ref":{"type":"url","path":"x"}},{"artifact_id":"a","ref":{"type":"url","path":"y"}}] | 422 schema_invalid final_artifacts[1].artifact_id
"#;

pub const FACTS: &str = r#"
task with an invisible twin      | alice | initiate           | task.task_id = "PAY\u200b"          | 422 schema_invalid task.task_id
target is unknown               | alice | initiate           | to_agent = "nobody"                | 422 unknown_agent to_agent
target is a customer            | alice | initiate           | to_agent = "zoe"                   | 422 unknown_agent to_agent
target is an operator           | alice | initiate           | to_agent = "root"                  | 422 unknown_agent to_agent
target is of another teamspace  | alice | initiate           | to_agent = "olga"                  | 422 unknown_agent to_agent
target is a system agent        | alice | initiate           | to_agent = "router"                | 422 schema_invalid to_agent
target is the sender            | alice | initiate           | to_agent = "alice"                 | 409 ownership_conflict
task has an active handoff      | alice | initiate           | task.task_id = "PROPOSED"          | 409 ownership_conflict
task is worked on               | alice | initiate           | task.task_id = "ACTIVATED" ; to_agent = "carol" | 409 ownership_conflict
target has owned the task       | bob   | initiate           | task.task_id = "OWNED" ; to_agent = "alice" | 409 ownership_conflict
sender has never owned the task | carol | initiate           | task.task_id = "OWNED" ; to_agent = "bob" | 409 ownership_conflict
a return of what was never had  | alice | initiate           | return = true                      | 409 ownership_conflict
a return to a stranger          | bob   | initiate           | task.task_id = "OWNED" ; to_agent = "carol" ; return = true | 409 ownership_conflict
a draft to an unknown agent     | alice | initiate DRAFT     | to_agent = "nobody"                | 422 unknown_agent to_agent
a draft for a task in motion    | alice | initiate DRAFT     | task.task_id = "PROPOSED"          | 409 ownership_conflict
key of another request          | alice | initiate           | @idempotency-key: used-key         | 422 idempotency_key_reused Idempotency-Key
key of another action           | alice | draft              | @idempotency-key: used-key ; task.task_id = "KEYED" | 422 idempotency_key_reused Idempotency-Key
"#;

pub const TRUST: &str = r#"
a policy contradicts itself     | alice | initiate           | policy = {"requires_human_approval":true,"human_gate":"none"} | 422 policy_violation policy.human_gate
restricted, and for the team    | alice | initiate           | policy = {"classification":"restricted","visibility":"team"} | 422 policy_violation policy.visibility
the target is ruled out         | alice | initiate           | policy = {"export_restrictions":["agent:bob"]} | 422 policy_violation policy.export_restrictions[0]
a restriction is blank          | alice | initiate           | policy = {"export_restrictions":[" "]} | 422 schema_invalid policy.export_restrictions[0]
visibility is unknown           | alice | initiate           | policy = {"visibility":"public"}   | 422 schema_invalid policy.visibility
sensitivity is unknown          | alice | initiate           | policy = {"sensitivity":"extreme"} | 422 schema_invalid policy.sensitivity
the human gate is unknown       | alice | initiate           | policy = {"human_gate":"maybe"}    | 422 schema_invalid policy.human_gate
a limit is too short            | alice | initiate           | sla = {"proposed":"0s"}            | 422 schema_invalid sla.proposed
a limit is too long             | alice | initiate           | sla = {"activated":"366d"}         | 422 schema_invalid sla.activated
a limit is no span              | alice | initiate           | sla = {"accepted":"soon"}          | 422 schema_invalid sla.accepted
a limit is a number             | alice | initiate           | sla = {"accepted":300}             | 422 schema_invalid sla.accepted
a limit of an unknown stage     | alice | initiate           | sla = {"closed":"5m"}              | 422 schema_invalid sla.closed
a warning after the limit       | alice | initiate           | sla = {"warn_percent":100}         | 422 schema_invalid sla.warn_percent
an artifact that is not there   | bob   | accept PROPOSED    | artifacts = ["tape"]               | 422 schema_invalid artifacts[0]
artifacts are one text          | bob   | accept PROPOSED    | artifacts = "tape"                 | 422 schema_invalid artifacts
an approval by an agent         | bob   | approve PROPOSED   |                                    | 403 not_allowed
an approval of no revision      | bob   | approve PROPOSED   | revision = 0                       | 422 schema_invalid revision
a refusal by an agent           | bob   | refuse PROPOSED    |                                    | 403 not_allowed
a refusal without a reason      | bob   | refuse PROPOSED    | - why                              | 422 schema_invalid why
a counter-offer by the target   | bob   | counter REJECTED   |                                    | 403 not_allowed
a counter-offer too early       | alice | counter PROPOSED   |                                    | 409 wrong_state
a counter-offer too late        | alice | counter CLOSED     |                                    | 409 wrong_state
a counter-offer to another      | alice | counter REJECTED   | to_agent = "carol"                 | 422 schema_invalid to_agent
a counter-offer of another task | alice | counter REJECTED   | task = {"task_id":"T-NEW"}         | 422 schema_invalid task.task_id
a counter-offer like the last   | alice | counter REJECTED   | - context                          | 422 schema_invalid body
taken back by the target        | bob   | withdraw PROPOSED  |                                    | 403 not_allowed
taken back too late             | alice | withdraw ACCEPTED  |                                    | 409 wrong_state
progress by the sender          | alice | progress ACTIVATED |                                    | 403 not_allowed
progress before the work        | bob   | progress ACCEPTED  |                                    | 409 wrong_state
progress that says nothing      | bob   | progress ACTIVATED | - percent                          | 422 schema_invalid body
progress with an empty plan     | bob   | progress ACTIVATED | - percent ; steps = []             | 422 schema_invalid body
progress beyond the end         | bob   | progress ACTIVATED | percent = 101                      | 422 schema_invalid percent
progress before the beginning   | bob   | progress ACTIVATED | percent = -1                       | 422 schema_invalid percent
progress of half a percent      | bob   | progress ACTIVATED | percent = 0.5                      | 422 schema_invalid percent
progress in words               | bob   | progress ACTIVATED | percent = "40"                     | 422 schema_invalid percent
progress with a blank note      | bob   | progress ACTIVATED | note = " \n"                       | 422 schema_invalid note
progress with a long note       | bob   | progress ACTIVATED | note = text(2049)                  | 422 schema_invalid note
progress blocked by nothing     | bob   | progress ACTIVATED | blocked_by = ""                    | 422 schema_invalid blocked_by
progress with too many steps    | bob   | progress ACTIVATED | steps = list(33)                   | 422 schema_invalid steps…
progress with a step of text    | bob   | progress ACTIVATED | steps = ["read"]                   | 422 schema_invalid steps[0]
progress with a blank step      | bob   | progress ACTIVATED | steps = [{"text":"\t"}]            | 422 schema_invalid steps[0].text
progress with a step in lines   | bob   | progress ACTIVATED | steps = [{"text":"a\nb"}]          | 422 schema_invalid steps[0].text
progress with an unknown field  | bob   | progress ACTIVATED | eta = "soon"                       | 422 schema_invalid eta
a recall by the target          | bob   | recall ACTIVATED   |                                    | 403 not_allowed
a recall before the acceptance  | alice | recall PROPOSED    |                                    | 409 wrong_state
a recall of what is done        | alice | recall COMPLETED   |                                    | 409 wrong_state
a recall without a reason       | alice | recall ACTIVATED   | - reason                           | 422 schema_invalid reason
a recall with a blank reason    | alice | recall ACTIVATED   | reason = " "                       | 422 schema_invalid reason
a discard of what was proposed  | alice | discard PROPOSED   |                                    | 409 wrong_state
a discard by the target         | bob   | discard PROPOSED   |                                    | 403 not_allowed
a discard with a number         | alice | discard DRAFT      | why = 5                            | 422 schema_invalid why
more time by the sender         | alice | extend_sla PROPOSED |                                   | 403 not_allowed
more time without a reason      | alice | extend_sla PROPOSED | - why                             | 422 schema_invalid why
more time until no time         | alice | extend_sla PROPOSED | due = "later"                     | 422 schema_invalid due
"#;
