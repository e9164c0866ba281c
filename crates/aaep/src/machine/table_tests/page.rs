//! `docs/aaep-rules.md` is generated from the rules and from the broken sequences. This compares
//! them; `UPDATE_DOCS=1 cargo test -p tasuki-aaep` rewrites it.

use std::path::Path;

use super::broken::{refused, rows};
use crate::machine::{CALLS_MAX, CONSENTS_MAX, OUTPUTS_MAX, QUESTIONS_MAX, REFUSED_MAX, rules};

const PAGE: &str = "docs/aaep-rules.md";

#[test]
fn the_page_of_rules_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let text = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &text).expect("the page is written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(committed, text, "{PAGE}; UPDATE_DOCS=1 writes it anew");
}

fn page() -> String {
    let mut text = HEAD.to_owned();
    for (name, rule) in rules::ALL {
        let row = rows().find(|row| row.rule == *name).expect("every rule has a row");
        let flaw = refused(&row);
        let (number, words, sequence) = (rule.number, rule.words, row.sequence);
        let refusal = format!("`{}`: expected {}", flaw.field, flaw.expected);
        text.push_str(&format!("| {number} | {words} | `{sequence}` | {refusal} |\n"));
    }
    let limits = [
        (CALLS_MAX, "open calls"),
        (OUTPUTS_MAX, "open outputs"),
        (QUESTIONS_MAX, "open questions"),
        (CONSENTS_MAX, "confirmations that wait for an answer or for their call"),
        (
            REFUSED_MAX,
            "refused calls and actions that are remembered; then the oldest is forgotten",
        ),
    ];
    text.push_str(LIMITS_HEAD);
    for (limit, what) in limits {
        text.push_str(&format!("| {limit} | {what} |\n"));
    }
    text + DECISIONS
}

const HEAD: &str = r"# The rules of a session

Made from the code; a test keeps it true. `UPDATE_DOCS=1 cargo test -p tasuki-aaep page` writes it anew.

An agent announces its work as a session of AAEP events. Every event is checked against all that came before it, in this
order: its place between start and end, the envelope, its urgency, then what its type says. One that breaks a rule is
refused as `protocol_violation` with the number of the rule, the field and what was expected, and the session is as it was: the
right event can follow. The number is the section of the AAEP specification that the rule comes from.

The examples are sequences whose last step is refused. `state a>b` is `state.changed`, `call` and `return` are `tool.invoked` and
`tool.completed` (`c1` is a `tool_call_id`), `chunk` is `output.streaming` with its position and text, `confirm` and `ask` are
`awaiting.confirmation` and `awaiting.clarification` (`t1` is a `reply_token`); `accept`, `reject`, `answer` and `elapse` are what
others do. `hash=` is `extensions.tasuki.action_hash`, and `call=` is `extensions.tasuki.tool_call_id` on a confirmation.

| rule | what it says | refused | with |
|---|---|---|---|
";

const LIMITS_HEAD: &str = r"
## Limits

A session keeps what its rules need, and no more than this.

| at most | |
|---|---|
";

const DECISIONS: &str = r"
## Where the words leave room

- **Every end closes what is open.** The specification makes no exception for errors and cancellations: a call that was given up
  returns with `timeout` (4.3.2), and an output ends with a chunk that completes it, which may be
  empty (4.5.4). So a listener hears how each of them ended.
- **Only a successful end needs its questions settled.** An error or a cancellation withdraws them, and their tokens are void.
- **Leaving `awaiting_input` for `thinking` or `deciding` withdraws the questions that wait.** What they asked for is then treated
  as refused: it can be asked for again, with a new token.
- **After an accept the action is called** before the session completes. After a confirmation with a
  `tool_call_id` or an `action_hash`, that is the call it names. Without them, it is an irreversible
  call if the confirmation said so, and any call if not.
- **After a reject something tells of it** before the session completes: a change of state, a chunk, another question or a handoff.
  Progress and tool calls do not.
- **Implied states add up** until the next `state.changed`: when a tool returns while a chunk is sent, both `calling_tool` and
  `writing_output` may be left.
- **A tool returns before `calling_tool` is left.** If one of several calls has returned since the state changed, the others may
  go on. `awaiting_input` and `handing_off` may be entered while a call is open.
- **A call with an id returns with it**; one without returns without. The two never pair.
- **Chunks without an `output_id` make up one output** of their own, whatever other outputs there are.
- **Two confirmations ask for the same action** if they name the same call or the same hash or, where one of them has no hash, use
  the same words.

## Where ours is stricter

- Whether a reply is in time is decided by our clock, from when the question reached us.
- An irreversible action never defaults to accept, even at low risk. An action that takes effort to reverse does not at medium and
  high risk.
- A default never allows an irreversible call, and neither does an accept of what was said to be `reversible`, or `irreversible: false`.
- The last word counts: a reject, a timeout or a withdrawal takes back an earlier accept of the same action that was not used yet.
- A reject is always allowed, whatever `allowed_replies` says.
- If no connected listener could have answered, a timeout is a reject whatever the default says.
- One accept allows one irreversible call; calls that can be undone do not use it up. If the confirmation carries `action_hash`, the call must carry the same (`binding: strong`); if it
  carries `tool_call_id`, the call must have that id. Without a hash the binding is `weak`, and a setting refuses it.
";
