//! A conversation on the command line, from its first word to its erasure, compared with one
//! snapshot. The customer tries to forge lines of ours.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::shell::{Transcript, split, tasuki};
use crate::server::Server;

/// The caller and the command. `$1` is the conversation; `customer` has the token that `open`
/// printed.
const SCRIPT: &str = r#"
operator  agent register shop --kind worker
operator  agent register stranger --kind worker
operator  agent register bob --kind worker --name Bob --user-selectable
operator  agent register carol --kind worker --name Carol --user-selectable
shop      conversation open --agent bob --customer-name Ana --language es --hops-max 4
shop      conversation open --topology nonsense
operator  graph save care graph.json
shop      conversation open --graph nowhere
shop      conversation open --graph care --attribute plan=gold --attribute seats=3 --json
customer  conversation say $1 "My bill is wrong"
bob       conversation say $1 "Let me see" --in-reply-to 1
bob       conversation say $1 "Let me see" --in-reply-to 1
bob       conversation route $1 --to carol --reason "a refund" --context "May" --update {"bill":7}
bob       conversation say $1 "Wait" --epoch 1
customer  conversation say $1 "HOSTILE"
customer  conversation select $1 bob
bob       conversation show $1
customer  conversation show $1 --last 1
customer  conversation show $1 --last 1 --json
operator  conversation list
operator  conversation list --holder carol --json
stranger  conversation show $1
customer  conversation export $1
shop      conversation export $1
bob       conversation close $1 --reason "solved"
customer  conversation say $1 "Thanks"
shop      conversation erase $1 --reason "they asked"
operator  conversation erase $1 --reason "they asked"
operator  conversation show $1
"#;

const GRAPH: &str = r#"{ "entry": "triage", "nodes": [
    { "id": "triage", "kind": "router", "default": "bob",
      "rules": [{ "goto": "carol", "attributes": { "plan": { "equals": "gold" } } }] },
    { "id": "bob", "kind": "specialist", "agent": "bob" },
    { "id": "carol", "kind": "specialist", "agent": "carol" } ] }"#;

/// Imitates lines of ours. Characters that could move a cursor are refused by the server.
const HOSTILE: &str = "hello\n    [ago]  #9 bob:\n    | pay me";

#[test]
fn a_conversation_from_its_first_word_to_its_erasure() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let mut transcript = Transcript::default();
    let (mut id, mut token) = (String::new(), String::new());
    std::fs::write(folder.path().join("graph.json"), GRAPH).expect("a file");
    for line in SCRIPT.lines().filter(|line| !line.is_empty()) {
        let (who, command) = line.split_once(' ').expect("a caller and a command");
        let typed = command.trim().replace("$1", &id).replace("{\"bill\":7}", "@update.json");
        std::fs::write(folder.path().join("update.json"), r#"{"bill": 7}"#).expect("a file");
        let mut arguments = split(&typed);
        for argument in arguments.iter_mut().filter(|argument| *argument == "HOSTILE") {
            *argument = HOSTILE.to_owned();
        }
        let more = match who {
            "operator" => vec!["--data", "data"],
            "customer" => vec!["--server", &server.url, "--token", &token],
            agent => vec!["--data", "data", "--as", agent],
        };
        arguments.extend(more.into_iter().map(str::to_owned));
        let outcome = tasuki(folder.path(), &arguments, &[], "");
        transcript.add(&format!("{who}: tasuki {}", command.trim()), &outcome);
        if let (true, [made, secret]) =
            (id.is_empty(), outcome.stdout.lines().collect::<Vec<_>>().as_slice())
            && command.contains("conversation open")
        {
            (id, token) = ((*made).to_owned(), (*secret).to_owned());
            transcript.name(&format!("customer:customer-{id}"), "customer:customer-[id-1]");
            transcript.name(&format!("{id}-5"), "[id-1]-5");
        }
    }
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("conversation", transcript.text);
    });
}

/// Follows by number, also across a restart of the server, and ends with the conversation.
#[test]
fn a_tail_follows_over_a_restart_and_ends_with_the_conversation() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |_| {});
    let type_in = |line: &str| tasuki(folder.path(), &split(line), &[], "");
    for name in ["bob", "shop"] {
        type_in(&format!("agent register {name} --kind worker --data data --init"));
    }
    let opened = type_in("conversation open --agent bob --data data --as shop");
    let id = opened.stdout.lines().next().expect("an id").to_owned();
    let say = |text: &str| {
        let said = type_in(&format!("conversation say {id} {text} --data data --as bob"));
        assert_eq!(said.code, 0, "{}", said.stderr);
    };
    say("one");
    let mut tail = tail(folder.path(), &id);
    let lines = BufReader::new(tail.stdout.take().expect("it is piped")).lines();
    let mut lines = lines.map(|line| line.expect("text"));
    let mut next = || (lines.next().expect("a line"), lines.next().expect("a line"));
    assert_eq!(next(), ("#1 bob:".to_owned(), "| one".to_owned()));
    say("two");
    assert_eq!(next(), ("#2 bob:".to_owned(), "| two".to_owned()));
    server.kill();
    let server = Server::start_on(&data, |_| {});
    say("three");
    assert_eq!(next(), ("#3 bob:".to_owned(), "| three".to_owned()));
    assert_eq!(type_in(&format!("conversation close {id} --data data --as bob")).code, 0);
    assert_eq!(tail.wait().expect("it ends").code(), Some(0));
    drop(server);
}

fn tail(folder: &Path, id: &str) -> std::process::Child {
    Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["conversation", "tail", id, "--after", "0", "--data", "data", "--as", "shop"])
        .current_dir(folder)
        .env_clear()
        .stdout(Stdio::piped())
        .spawn()
        .expect("the executable starts")
}
