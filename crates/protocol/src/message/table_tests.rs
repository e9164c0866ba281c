//! The rules of a message as tables: a script of commands on the left, the results on the right of
//! `=>`. A send is `caller send m1 field=value …`, a `status.update` unless it says otherwise. The
//! directory has alice, bob, carol and dora, who is a coordinator.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::command::{Command, Outgoing, PAYLOAD_BYTES_MAX};
use super::state::Message;
use super::thread::{MESSAGES_MAX, RECENT_MAX};
use crate::caller::{Caller, Principal, Role};
use crate::canonical;
use crate::ids::{AgentId, MessageId, TeamspaceId};
use crate::ledger::{Stream, Subject};
use crate::rejection::Rejection;
use crate::step::{self, Context, Directory, Facts, HoldState, Holds, State};
use crate::time::{Span, Time};

const DIRECTORY: [&str; 4] = ["alice", "bob", "carol", "dora"];
const WAKEABLE: [&str; 2] = ["bob", "carol"];

#[test]
fn a_message_moves_from_pending_to_an_end() {
    check(&[
        "alice send m1 to=bob,carol => bob:pending carol:pending",
        "bob deliver m1 => bob:delivered carol:pending",
        "bob deliver m1 => nothing",
        "bob read m1 => bob:read carol:pending",
        "bob read m1 => nothing",
        "carol read m1 => bob:read carol:read",
        "carol deliver m1 => nothing",
        "alice read m1 => not_allowed",
        "dora read m1 => not_allowed",
        "mallory read m1 => not_found",
        "bob read m2 => not_found",
        "alice send m1 to=bob => already_exists",
    ]);
}

#[test]
fn who_may_send_what_to_whom() {
    check(&[
        "operator send m1 to=bob => not_allowed",
        "customer send m1 to=bob => not_allowed",
        "coordinator send m1 to=bob => not_allowed",
        "system send m1 to=bob type=system.error => bob:pending",
        "alice send m2 to=bob type=system.error => not_allowed",
        "alice send m2 to=bob type=system.ack => not_allowed",
        "alice send m2 to=bob type=handoff.accept => bob:pending",
        "alice send m3 to=bob type=none => schema_invalid",
        "alice send m3 to= => schema_invalid",
        "alice send m3 to=nobody => unknown_agent",
        "alice send m3 to=system => unknown_agent",
        "alice send m3 to=bob,bob => bob:pending",
        "alice send m4 to=*,bob priority=high => schema_invalid",
        "alice send m4 to=* => not_allowed",
        "alice send m4 to=* priority=high => bob:pending carol:pending dora:pending",
        "dora send m5 to=* => alice:pending bob:pending carol:pending",
    ]);
}

#[test]
fn the_form_of_a_message() {
    check(&[
        "alice send m1 to=bob protocol=smtp => schema_invalid",
        "alice send m1 to=bob version=2.0.0 => schema_invalid",
        "alice send m1 to=bob version=1 => schema_invalid",
        "alice send m1 to=bob protocol=acp version=1.4.0 => bob:pending",
        "alice send m2 to=bob expires_at=2020-01-01T00:00:00Z => schema_invalid",
    ]);
    for kind in ["task.offer", "team.join", "nonsense"] {
        let outgoing = json!({ "to": ["bob"], "type": kind });
        let error = serde_json::from_value::<Outgoing>(outgoing).unwrap_err().to_string();
        let word = if kind == "nonsense" { "no such type" } else { "reserved" };
        assert!(error.contains(word), "{error}");
    }
}

/// The limit applies to the canonical form, however the sender wrote it.
#[test]
fn a_payload_has_4096_bytes_and_not_one_more() {
    for (n_bytes, expected) in [(4_096, "bob:pending"), (4_097, "payload_too_large")] {
        let mut payload = json!({ "b": "", "a": 1.0e2 });
        let rest = n_bytes - canonical::canonical(&payload).len();
        payload["b"] = "x".repeat(rest).into();
        assert_eq!(canonical::canonical(&payload).len(), n_bytes);
        let line = format!("alice send m1 to=bob payload={payload}");
        assert_eq!(World::new().line(&line), expected);
    }
    assert_eq!(PAYLOAD_BYTES_MAX, 4_096);
}

#[test]
fn the_coordinators_share_a_mailbox() {
    check(&[
        "alice send m1 to=coordinator type=status.blocked => coordinator:pending",
        "bob read m1 => not_found",
        "coordinator read m1 => not_found",
        "operator deliver m1 => coordinator:delivered",
        "dora read m1 => coordinator:read",
        "alice send m2 to=coordinator,dora type=status.blocked => coordinator:pending dora:pending",
        "dora read m2 => coordinator:read dora:read",
    ]);
}

#[test]
fn an_answer_stays_in_its_thread() {
    check(&[
        "alice send m1 to=bob type=knowledge.query thread_id=t => bob:pending",
        "bob answer m1 m2 type=knowledge.response => alice:pending",
        "bob answer m1 m3 to=carol type=knowledge.response => alice:pending carol:pending",
        "bob answer m1 m4 type=knowledge.response thread_id=other => schema_invalid",
        "carol answer m1 m4 type=knowledge.response => not_found",
        "bob answer m9 m4 to=alice type=knowledge.response => not_found",
        "system send m5 to=bob type=system.error => bob:pending",
        "bob answer m5 m6 type=status.update => schema_invalid",
        "bob answer m5 m6 to=carol => carol:pending",
    ]);
}

/// Among the messages of one sender in one thread, and after what is answered.
#[test]
fn a_sequence_only_grows() {
    check(&[
        "alice send m1 to=bob thread_id=t sequence=5 => bob:pending",
        "alice send m2 to=carol thread_id=t sequence=5 => sequence_out_of_order",
        "alice send m2 to=bob thread_id=t => bob:pending",
        "alice send m3 to=bob thread_id=t sequence=4 => sequence_out_of_order",
        "alice send m3 to=bob thread_id=u sequence=1 => bob:pending",
        "bob send m4 to=alice thread_id=t sequence=1 => alice:pending",
        "bob answer m1 m5 sequence=5 => sequence_out_of_order",
        "bob answer m1 m5 priority=low => alice:pending",
        "bob answer m1 m6 sequence=6 => alice:pending",
        "bob answer m1 m7 sequence=6 => sequence_out_of_order",
        "bob answer m2 m7 sequence=7 => alice:pending",
        "alice answer m7 m8 sequence=7 => sequence_out_of_order",
        "alice answer m4 m8 sequence=6 => bob:pending",
        "alice answer m7 m9 sequence=8 => bob:pending",
    ]);
}

/// A caller that knows the name of a thread learns no sequence of it and takes none away.
#[test]
fn an_outsider_neither_learns_nor_uses_up_a_sequence() {
    check(&[
        "alice send m1 to=bob thread_id=t sequence=5 => bob:pending",
        "carol send m2 to=dora thread_id=t sequence=1 => dora:pending",
        "carol answer m1 m3 to=dora sequence=1 => not_found",
        "carol send m3 to=dora thread_id=t sequence=9007199254740991 => dora:pending",
        "bob answer m1 m4 sequence=6 => alice:pending",
        "alice send m5 to=bob thread_id=t sequence=6 => bob:pending",
    ]);
}

/// What a refusal names is the caller's own, or of the message that it answers.
#[test]
fn a_refused_sequence_names_the_one_to_pass() {
    let mut world = World::new();
    for (line, expected) in [
        ("alice send m1 to=bob thread_id=t sequence=5", None),
        ("bob send m2 to=alice thread_id=t sequence=3", None),
        ("bob send m3 to=alice thread_id=t sequence=2", Some(3)),
        ("bob answer m1 m3 sequence=2", Some(5)),
        ("bob answer m1 m3 sequence=9", None),
        ("bob answer m1 m4 sequence=2", Some(9)),
    ] {
        let result = world.line(line);
        assert_eq!(result == "sequence_out_of_order", expected.is_some(), "{line}: {result}");
        let last = match world.refused.take() {
            Some(Rejection::SequenceOutOfOrder { last, .. }) => Some(last),
            Some(_) | None => None,
        };
        assert_eq!(last, expected, "{line}");
    }
}

#[test]
fn a_loop_comes_to_an_end() {
    let mut world = World::new();
    let mut n_sent = 0;
    while n_sent < MESSAGES_MAX {
        n_sent += 1;
        let line = format!("alice send m{n_sent} to=bob thread_id=t");
        assert_eq!(world.line(&line), "bob:pending", "{n_sent}");
        if (n_sent as usize).is_multiple_of(RECENT_MAX) {
            assert_eq!(world.line(&line.replace("send m", "send m9")), "loop_guard");
            world.now = world.now.plus(Span::from_minutes(10));
        }
    }
    world.now = world.now.plus(Span::from_hours(1_000));
    let more = "alice send m999 to=bob thread_id=t";
    assert_eq!(world.line(more), "loop_guard");
    let notice = more.replace("alice", "system") + " type=system.error";
    assert_eq!(world.line(&notice), "bob:pending");
    // The others of the thread count for themselves.
    assert_eq!(world.line("bob send m1000 to=alice thread_id=t"), "alice:pending");
}

/// The thread of a handoff has a name that its id gives away.
#[test]
fn an_outsider_cannot_fill_a_thread() {
    let mut world = World::new();
    let thread = "thread_id=thread-01938c2e-0000-7000-8000-000000000001";
    for number in 0..RECENT_MAX {
        let line = format!("carol send m{number} to=dora {thread}");
        assert_eq!(world.line(&line), "dora:pending");
    }
    assert_eq!(world.line(&format!("carol send m900 to=dora {thread}")), "loop_guard");
    assert_eq!(world.line(&format!("alice send m901 to=bob {thread}")), "bob:pending");
    assert_eq!(world.line(&format!("bob send m902 to=alice {thread}")), "alice:pending");
}

/// An exchange of two ends after twice what one of them may send, at the latest.
#[test]
fn an_exchange_of_two_comes_to_an_end() {
    let mut world = World::new();
    let mut n_sent = 0;
    loop {
        n_sent += 1;
        let (from, to) = if n_sent % 2 == 1 { ("alice", "bob") } else { ("bob", "alice") };
        match &*world.line(&format!("{from} send m{n_sent} to={to} thread_id=t")) {
            "loop_guard" => break,
            sent => assert_eq!(sent, format!("{to}:pending")),
        }
    }
    assert_eq!(n_sent, 2 * RECENT_MAX + 1);
}

#[test]
fn what_is_not_read_in_time_expires() {
    check(&[
        "alice send m1 to=bob,carol,dora expires_at=2026-02-21T14:10:00Z => \
         bob:pending carol:pending dora:pending",
        "bob read m1 => bob:read carol:pending dora:pending",
        "carol deliver m1 => bob:read carol:delivered dora:pending",
        "system elapse m1 => nothing",
        "later 10",
        "alice elapse m1 => not_allowed",
        "system elapse m1 => bob:read carol:expired dora:expired",
        "system elapse m1 => nothing",
        "carol read m1 => nothing",
    ]);
}

/// Bob and carol have wake URLs. A message that was seen wakes no one, and a failed wake call
/// leaves it in the inbox.
#[test]
fn a_critical_message_wakes_whoever_can_be_called() {
    check(&[
        "alice send m1 to=bob priority=high => bob:pending",
        "system woken m1 bob => nothing",
        "alice send m2 to=bob,carol,dora,coordinator priority=critical => \
         bob:pending carol:pending coordinator:pending dora:pending | wake/bob wake/carol",
        "bob woken m2 bob => not_allowed",
        "operator failed m2 bob => not_allowed",
        "system woken m2 dora => nothing",
        "system woken m2 bob => bob:pending carol:pending coordinator:pending dora:pending \
         | wake/carol",
        "system woken m2 bob => nothing",
        "system failed m2 bob => nothing",
        "system failed m2 carol => bob:pending carol:failed coordinator:pending dora:pending",
        "system failed m2 carol => nothing",
        "carol deliver m2 => nothing",
        "carol read m2 => bob:pending carol:read coordinator:pending dora:pending",
        "alice send m3 to=* priority=critical => \
         bob:pending carol:pending dora:pending | wake/bob wake/carol",
        "bob deliver m3 => bob:delivered carol:pending dora:pending | wake/carol",
        "system failed m3 bob => nothing",
        "carol read m3 => bob:delivered carol:read dora:pending",
        "system woken m3 carol => nothing",
    ]);
}

#[test]
fn nobody_is_called_for_what_is_over() {
    check(&[
        "alice send m1 to=bob,carol priority=critical expires_at=2026-02-21T14:10:00Z => \
         bob:pending carol:pending | wake/bob wake/carol",
        "system failed m1 bob => bob:failed carol:pending | wake/carol",
        "later 10",
        "system elapse m1 => bob:failed carol:expired",
        "system woken m1 carol => nothing",
        "alice send m2 to=bob priority=critical => bob:pending | wake/bob",
        "system purge m2 => purged",
        "system woken m2 bob => nothing",
    ]);
}

/// After that no caller finds it, and nothing can be sent or answered under its id.
#[test]
fn what_was_kept_long_enough_is_purged_for_everybody() {
    check(&[
        "alice send m1 to=bob expires_at=2026-02-21T14:10:00Z payload={\"a\":1} => bob:pending",
        "alice purge m1 => not_allowed",
        "dora purge m1 => not_allowed",
        "customer purge m1 => not_allowed",
        "operator purge m1 => purged",
        "operator purge m1 => not_found",
        "bob read m1 => not_found",
        "bob deliver m1 => not_found",
        "bob answer m1 m2 type=status.update => not_found",
        "alice send m1 to=bob => already_exists",
        "system send m1 to=bob => already_exists",
        "later 10",
        "system elapse m1 => nothing",
        "alice send m3 to=bob => bob:pending",
        "bob read m3 => bob:read",
        "system purge m3 => purged",
        "operator purge m9 => not_found",
    ]);
}

fn check(script: &[&str]) {
    let mut world = World::new();
    for line in script {
        match line.split_once(" => ") {
            Some((asked, expected)) => assert_eq!(world.line(asked), expected, "{asked}"),
            None => {
                let minutes = line.strip_prefix("later ").expect("a line of the script");
                world.now = world.now.plus(Span::from_minutes(minutes.parse().unwrap()));
            }
        }
    }
}

struct World {
    now: Time,
    messages: BTreeMap<MessageId, Message>,
    holds: BTreeMap<String, HoldState>,
    refused: Option<Rejection>,
}

impl World {
    fn new() -> Self {
        let now = "2026-02-21T14:00:00Z".parse().unwrap();
        Self { now, messages: BTreeMap::new(), holds: BTreeMap::new(), refused: None }
    }

    /// Runs one line; returns the status of each recipient, or the code of the rejection.
    fn line(&mut self, line: &str) -> String {
        let mut words = line.splitn(3, ' ');
        let (who, verb, rest) =
            (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let (id, command) = match verb {
            "send" => (message_id(name), Command::Send(Box::new(outgoing(rest)))),
            "answer" => {
                let (own, rest) = rest.split_once(' ').unwrap();
                let answered = self.messages.get(&message_id(name));
                let outgoing = match answered {
                    Some(answered) => outgoing(rest).answering(answered),
                    None => Outgoing { reply_to: Some(message_id(name)), ..outgoing(rest) },
                };
                (message_id(own), Command::Send(Box::new(outgoing)))
            }
            "deliver" => (message_id(name), Command::Deliver),
            "read" => (message_id(name), Command::Read),
            "elapse" => {
                let message = &self.messages[&message_id(name)];
                let due = message.sent.expires_at.expect("it expires");
                (message_id(name), Command::Elapse { due })
            }
            "woken" => (message_id(name), Command::Woken { agent: agent(rest) }),
            "failed" => {
                let detail = "é".repeat(1_000);
                (message_id(name), Command::NotWoken { agent: agent(rest), detail })
            }
            "purge" => {
                let erase = step::Command::Erase { position: 1, reason: "old".to_owned() };
                return self.submit(who, message_id(name), erase);
            }
            other => panic!("no such verb: {other}"),
        };
        self.submit(who, id, step::Command::Message(command))
    }

    fn submit(&mut self, who: &str, id: MessageId, command: step::Command) -> String {
        let caller = caller(who);
        let needs = step::needs(None, &command);
        let directory = match needs.directory {
            Some(Directory::Named(names)) => {
                names.into_iter().filter(|name| DIRECTORY.contains(&name.as_str())).collect()
            }
            Some(Directory::Everyone) => DIRECTORY.map(agent).to_vec(),
            None => Vec::new(),
        };
        let message = needs.message.and_then(|id| self.messages.get(&id).cloned());
        let wakeable = if needs.wakes { WAKEABLE.map(agent).to_vec() } else { Vec::new() };
        let stream = Stream { teamspace: caller.teamspace.clone(), subject: Subject::Message(id) };
        let keys = step::holds(&caller, &stream, None, &command);
        let taken = keys.into_iter().filter_map(|key| self.holds.get_key_value(&key));
        let taken = taken.map(|(key, hold)| (key.clone(), hold.clone())).collect();
        let holds = Holds { taken, ..Holds::default() };
        let facts = Facts { directory, wakeable, holds, message, ..Facts::default() };
        let context = Context { caller: &caller, now: self.now, facts: &facts };
        let state = self.messages.get(&id).cloned().map(State::Message);
        let change = match step::step(&stream, state.as_ref(), &command, context) {
            Ok(change) if change.events.is_empty() => return "nothing".to_owned(),
            Ok(change) => change,
            Err(rejection) => {
                let code = rejection.code().to_owned();
                self.refused = Some(rejection);
                return code;
            }
        };
        for write in change.holds {
            assert_eq!(&write.expected, facts.holds.get(&write.key));
            self.holds.insert(write.key, write.next);
        }
        let State::Message(message) = change.state else { panic!("a message stays one") };
        if message.purged {
            assert!(message.sent.payload.is_empty() && message.deadlines().is_empty());
            assert_eq!(change.erase, Some(1));
            self.messages.insert(id, message);
            return "purged".to_owned();
        }
        let places = message.recipients.iter().map(|(name, status)| format!("{name}:{status}"));
        let shown: Vec<_> = places.collect();
        let effects: Vec<_> = message.effects().into_iter().map(|effect| effect.name).collect();
        for effect in &effects {
            let work = step::work(&State::Message(message.clone()), effect, None);
            assert!(matches!(work, Some(step::Work::Wake(_))), "{effect}: {work:?}");
        }
        self.messages.insert(id, message);
        match effects.is_empty() {
            true => shown.join(" "),
            false => format!("{} | {}", shown.join(" "), effects.join(" ")),
        }
    }
}

/// `to` is a list, `type` may be `none`, and a value that parses as JSON is JSON.
fn outgoing(text: &str) -> Outgoing {
    let mut message = json!({ "type": "status.update" });
    for field in text.split_whitespace() {
        let (name, value) = field.split_once('=').expect("field=value");
        message[name] = match name {
            "to" => value.split(',').filter(|name| !name.is_empty()).collect(),
            "type" if value == "none" => Value::Null,
            "sequence" | "payload" => serde_json::from_str(value).expect("JSON"),
            _ => value.into(),
        };
    }
    serde_json::from_value(message).expect("a message")
}

fn message_id(name: &str) -> MessageId {
    let number: u32 = name.strip_prefix('m').expect("m1").parse().expect("a number");
    format!("01938c2e-0000-7000-8000-{number:012}").parse().expect("a UUID")
}

fn agent(name: &str) -> AgentId {
    name.parse().expect("a name")
}

fn caller(who: &str) -> Caller {
    let principal = match who {
        "operator" => Principal::Operator(agent("root")),
        "customer" => Principal::Customer(agent("eve")),
        "system" => Principal::System,
        name => Principal::Agent(agent(name)),
    };
    let roles = if who == "dora" { BTreeSet::from([Role::Coordinator]) } else { BTreeSet::new() };
    let teamspace = TeamspaceId::default_teamspace();
    Caller { teamspace, principal, roles, session: "test".to_owned() }
}
