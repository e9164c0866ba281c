//! A handoff walked through all its states by the command line, and its story: without a server,
//! through the control socket, and over the network. All three give the same output.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::shell::{Transcript, split, tasuki};
use crate::server::Server;

/// The caller and the command. `$1` is the first created handoff or message, and so on; `%dave` is
/// Dave's token.
const SCRIPT: &str = r#"
operator  token create --agent alice
operator  token create --agent bob --kind worker
operator  token create --agent carol --role coordinator --role executor --expires-in 90d
operator  agent register night-shift --kind queue --name "Night shift" --capability triage --language de
operator  agent list
operator  agent show night-shift
operator  agent show night-shift --json
operator  agent register dana --kind human --name Dana --icon D --color #2f6fde --user-selectable --capacity 2 --skill billing=4 --team Care
operator  agent presence dana available
operator  agent presence dana asleep
operator  agent presence bob away
operator  agent list --presence available --selectable --kind human
operator  agent endpoint bob --url https://agents.example/turns --json
operator  agent presence dana offline
operator  token create --agent dave
operator  token list --json
operator  token revoke %dave
operator  token list
operator  agent roles carol
alice     handoff initiate --to bob --title Mend --work-status review --test-status failing --dry-run
alice     handoff list
alice     handoff draft --title "Mend the retry logic"
alice     handoff initiate $1
alice     handoff draft $1 --file offer.json --to bob --reason "Bob knows the gateway"
alice     handoff show $1
bob       handoff show $1
bob       handoff list
alice     handoff initiate $1
alice     handoff draft $1 --to carol
alice     handoff accept $1
bob       handoff accept $1 --notes "gladly"
bob       handoff activate $1
bob       handoff complete $1 --notes "merged"
alice     handoff close $1 --notes "thanks"
alice     handoff close $1
alice     handoff show $1
alice     handoff initiate --file offer.json --to carol --priority high --classification restricted --sensitivity high --requires-verifier --requires-evidence --sla proposed=10m --artifact report=https://files.example/r.pdf,optional --ref ticket=PAY-311 --constraint "no downtime" --risk "double charges" --question "which gateway?" --assumption "v2 is live" --work-status review --percent 40 --completed-step "found the cause" --branch retry --test-status failing
alice     handoff show $2
bob       handoff initiate --file offer.json --to carol
operator  agent roles night-shift --role reviewer
alice     handoff delegate $1 --to bob
carol     handoff reject $2 --reason capacity_unavailable --detail "two releases today" --suggested-fix "try again on Monday"
alice     handoff counter $2
alice     handoff counter $2 --to bob
bob       handoff initiate --file offer.json --to carol --json
carol     handoff accept $3 --json
carol     handoff activate $3 --percent 50 --json
carol     handoff reject $3 --reason capability_mismatch --detail "this is COBOL"
bob       handoff show $3
bob       handoff initiate --file offer.json --to alice --return
carol     handoff close $3
operator  handoff close $4 --notes "cancelled by the customer"
alice     handoff show $4
alice     handoff show $4 --json
alice     handoff list
alice     handoff list --status rejected --from bob --limit 1
alice     handoff list --task PAY-311 --status draft --json
alice     message send --to bob --to coordinator --type knowledge.query --topic retries --payload @question.json
alice     message send --to nobody --type status.update
alice     message send --to bob --type task.offer
bob       inbox
bob       message respond $5 --type knowledge.response --payload [1]
bob       message respond $5 --type knowledge.response --priority high --payload @answer.json
bob       message read $5
bob       inbox
bob       inbox --status read --json
alice     inbox
alice     message show $6
alice     message list --type knowledge.query
alice     message list --agent bob --status read --json
alice     handoff initiate --to night-shift --task PAY-312 --title "Watch it" --criterion "Nobody is charged twice for a week" --summary "The retries are mended." --next-step "Read the log"
"#;

/// A file with flags on top.
const OFFER: &str = r#"{
  "task": {
    "task_id": "PAY-311",
    "title": "Mend the retry logic",
    "success_criteria": ["Every retry is idempotent", "The tests cover a timeout"]
  },
  "context": { "summary": "Two customers were charged twice." },
  "work_state": { "status": "in_progress", "next_step": "Read client.rs from line 80" }
}"#;

/// Tokens by their bearer.
type Tokens = BTreeMap<String, String>;

/// How a caller identifies itself, given the tokens that were printed so far.
type Identify = Box<dyn Fn(&str, &Tokens) -> Vec<String>>;

#[test]
fn without_a_server() {
    let (folder, operator) = prepared();
    walk(folder.path(), by_folder(folder.path()), &operator);
}

#[test]
fn through_the_control_socket() {
    let (folder, operator) = prepared();
    let _server = Server::start_on(&folder.path().join("data"), |_| {});
    walk(folder.path(), by_folder(folder.path()), &operator);
}

#[test]
fn over_the_network() {
    let (folder, operator) = prepared();
    let server = Server::start_on(&folder.path().join("data"), |_| {});
    let url = server.url.clone();
    let identify = move |who: &str, tokens: &Tokens| {
        ["--server", &url, "--token", &tokens[who]].map(str::to_owned).to_vec()
    };
    walk(folder.path(), Box::new(identify), &operator);
}

/// A folder with an offer in it, a ledger that a server will not take for new, and an operator.
fn prepared() -> (TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("offer.json"), OFFER).expect("a file");
    for (name, payload) in [("question", r#"{"ask": "why?"}"#), ("answer", r#"{"say": "because"}"#)]
    {
        std::fs::write(folder.path().join(format!("{name}.json")), payload).expect("a file");
    }
    let first = split("token create --agent local --kind operator --data data --init");
    let made = tasuki(folder.path(), &first, &[], "");
    (folder, made.stdout.trim().to_owned())
}

fn by_folder(folder: &Path) -> Identify {
    let data = folder.join("data").to_str().expect("a path that is text").to_owned();
    Box::new(move |who, _| match who {
        "operator" => ["--data", &data].map(str::to_owned).to_vec(),
        agent => ["--data", &data, "--as", agent].map(str::to_owned).to_vec(),
    })
}

/// Plays the script. All ways are compared with one snapshot.
fn walk(folder: &Path, identify: Identify, operator: &str) {
    let mut transcript = Transcript::default();
    let mut handoffs: Vec<String> = Vec::new();
    let mut tokens = Tokens::from([("operator".to_owned(), operator.to_owned())]);
    let mut token_ids = Tokens::new();
    for line in SCRIPT.lines().filter(|line| !line.is_empty()) {
        let (who, command) = line.split_once(' ').expect("a caller and a command");
        let mut typed = command.trim().to_owned();
        for (number, id) in (1..).zip(&handoffs) {
            typed = typed.replace(&format!("${number}"), id);
        }
        for (bearer, id) in &token_ids {
            typed = typed.replace(&format!("%{bearer}"), id);
        }
        let mut arguments = split(&typed);
        arguments.extend(identify(who, &tokens));
        let outcome = tasuki(folder, &arguments, &[], "");
        transcript.add(&format!("{who}: tasuki {}", command.trim()), &outcome);
        handoffs.extend(new_handoff(&outcome.stdout).filter(|id| !handoffs.contains(id)));
        if let [_, "create", "--agent", bearer, ..] = *typed.split(' ').collect::<Vec<_>>() {
            tokens.insert(bearer.to_owned(), outcome.stdout.trim().to_owned());
        }
        token_ids.extend(listed_tokens(&outcome.stdout));
    }
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("walk", transcript.text);
    });
}

/// The handoff that an action printed, as text or as JSON.
fn new_handoff(stdout: &str) -> Option<String> {
    let id = match serde_json::from_str::<Value>(stdout) {
        Ok(answer) => answer["handoff_id"].as_str()?.to_owned(),
        Err(_) => stdout.trim().to_owned(),
    };
    id.parse::<protocol::ids::HandoffId>().is_ok().then_some(id)
}

/// The tokens of a list as JSON: bearers and ids.
fn listed_tokens(stdout: &str) -> Vec<(String, String)> {
    let answer: Value = serde_json::from_str(stdout).unwrap_or(Value::Null);
    let items = answer["items"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    items.filter_map(|item| Some((text(&item["agent"])?, text(&item["token_id"])?))).collect()
}
