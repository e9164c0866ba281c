//! A conversation passes to a person and back on the command line, compared with one snapshot. The
//! bot tries to forge lines of ours.

use serde_json::json;
use tasuki::client::Call;

use super::shell::{Transcript, split, tasuki};
use crate::server::{Server, ok};

/// The caller and the command. `$1` is the conversation, `$2` the first requested transfer, and so
/// on.
const SCRIPT: &str = r#"
operator  queue show
operator  agent register default --kind queue
operator  agent register hana --kind human --name Hana
operator  agent register ivan --kind human --name Ivan
operator  agent presence hana available
operator  agent presence ivan available
operator  agent endpoint hana --url https://people.example/turns
operator  queue set
operator  queue set --ring soon
operator  queue set default --ring 1ms
operator  queue set nowhere --mode pick
operator  queue set --file settings.json --hold 5m
operator  queue set --mode pick
operator  queue show --json
bob       queue set --mode offer
customer  transfer request $1 --summary "charged twice"
customer  transfer request $1 --customer-text "wait"
bob       transfer request $1 --words "charged twice"
customer  conversation select $1 nobody
bob       conversation route $1 --to nobody
bob       conversation say $1 ""
bob       conversation callback $1 --contact "" --queue nowhere
bob       conversation callback $1 --contact "+34 600 000 000" --not-before 2999-01-01T09:00:00Z
bob       conversation callback $1 --contact "+34 600 000 001" --note "after nine"
customer  conversation callback-done $1 --outcome reached
hana      queue show
hana      conversation callback-done $1 --outcome "reached"
bob       transfer request $1 --reason "cannot refund" --summary "HOSTILE" --priority 2 --request-key r-1 --customer-text "A colleague takes over."
bob       transfer request $1 --reason "once more"
bob       transfer request $1 --request-key r-1
customer  transfer show $2
hana      transfer show $2
hana      queue show
bob       queue show
operator  transfer list
hana      transfer accept $2
hana      transfer pickup $2
ivan      transfer pickup $2
hana      transfer decline $2 --reason "lunch"
ivan      transfer pickup $2 --accept
ivan      transfer hold $2
ivan      transfer hold $2
ivan      transfer resume $2
ivan      transfer note $2 "charged twice"
ivan      transfer note $2 "too late" --epoch 1
bob       transfer note $2 "hello"
ivan      transfer transfer $2 --to default --type supervisor_consult --reason "may I?" --customer-text "One moment."
ivan      transfer transfer $2 --to default --type supervisor_consult --reason "may I?"
ivan      transfer show $2
hana      transfer pickup $2 --accept
hana      transfer whisper $2 "up to 20"
hana      transfer complete $2
ivan      transfer list --status connected
ivan      transfer complete $2 --summary "refunded 20" --disposition "Refunded!"
ivan      transfer complete $2 --summary "refunded 20" --disposition refunded
ivan      conversation show $1
customer  transfer rate $2 6
hana      transfer note $2 ""
customer  transfer rate $2 5 --comment "quick"
customer  transfer rate $2 5
hana      transfer accept $2
operator  transfer list --status completed --queue default --agent ivan
customer  transfer request $1 --queue nowhere
customer  transfer request $1
customer  transfer cancel $3 --reason "never mind"
customer  transfer request $1 --words "I was charged twice"
hana      transfer show $4
operator  transfer fail $4 --reason "closing time"
customer  transfer request $1 --reason "my bill"
hana      queue show
hana      transfer pickup $5 --accept
hana      transfer transfer $5 --to default --type blind --reason "he knows bills"
ivan      queue show
ivan      transfer pickup $5
ivan      transfer show $5
ivan      queue show
ivan      transfer decline $5
hana      transfer pickup $5 --accept
hana      transfer end $5 --reason "solved"
operator  conversation show $1 --last 10
bob       transfer request $1
operator  queue set default
hana      transfer show 01938c2e-0000-7000-8000-000000000001
"#;

/// Imitates a line of ours. Characters that could move a cursor are refused by the server.
const HOSTILE: &str = "a wrong bill\n  holder        bob, epoch 9";

const SETTINGS: &str = r#"{ "ring": "45s", "wait": "2h" }"#;

#[tokio::test]
async fn a_conversation_passes_to_a_person_and_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("settings.json"), SETTINGS).expect("a file");
    let server = Server::start_on(&folder.path().join("data"), |_| {});
    let bob = server.agent("bob");
    let open = json!({ "agent": "bob", "customer": { "name": "Ana" } });
    let opened = ok(&bob, Call::post("/v1/conversations", open)).await;
    let of = |name: &str| opened[name].as_str().expect("a text").to_owned();
    let (mut ids, token) = (vec![of("conversation_id")], of("customer_token"));
    let mut transcript = Transcript::default();
    for line in SCRIPT.lines().filter(|line| !line.is_empty()) {
        let (who, command) = line.split_once(' ').expect("a caller and a command");
        let mut typed = command.trim().to_owned();
        for (number, id) in (1..).zip(&ids) {
            typed = typed.replace(&format!("${number}"), id);
        }
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
        let mut outcome = tasuki(folder.path(), &arguments, &[], "");
        outcome.stderr = without_waits(&outcome.stderr);
        outcome.stdout = without_waits(&outcome.stdout);
        transcript.add(&format!("{who}: tasuki {}", command.trim()), &outcome);
        if command.contains("transfer request") && outcome.code == 0 {
            let id = outcome.stdout.trim().to_owned();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("transfer", transcript.text);
    });
}

/// The estimated wait and the remaining ring time depend on the speed of the test.
fn without_waits(text: &str) -> String {
    let lines = text.lines().map(|line| line.split(", likely ").next().unwrap_or_default());
    let told = lines.map(|line| match line.starts_with("error: ") {
        true => line.to_owned(),
        false => without_spans(line),
    });
    told.map(|line| line + "\n").collect()
}

/// `2m to 3m` and `for 44 s more`.
fn without_spans(line: &str) -> String {
    let is_span = |word: &str| {
        let number = word.strip_suffix(['s', 'm', 'h']).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let words: Vec<&str> = line.split(' ').collect();
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < words.len() {
        match words[at..] {
            [from, "to", to, ..] if is_span(from) && is_span(to) => {
                kept.push("[wait]");
                at += 3;
            }
            ["for", _, _, "more", ..] => {
                kept.extend(["for", "[left]", "more"]);
                at += 4;
            }
            _ => {
                kept.push(words[at]);
                at += 1;
            }
        }
    }
    kept.join(" ")
}
