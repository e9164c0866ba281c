//! A handoff walked through all its states by the command line, and its story told: without a
//! server, through the control socket, and over the network. All three see the same.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::shell::{Transcript, split, tasuki};
use crate::server::Server;

/// Who types what. `$1` is the first handoff that was made, and so on.
const SCRIPT: &str = r#"
operator  token create --agent alice
operator  token create --agent bob --kind worker
operator  token create --agent carol --role coordinator --expires-in 90d
operator  agent register night-shift --kind queue --name "Night shift" --capability triage --language de
operator  agent list
operator  agent show night-shift
operator  agent show night-shift --json
operator  token list
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
carol     handoff show $1
alice     handoff initiate --file offer.json --to carol
bob       handoff initiate --file offer.json --to carol
carol     handoff reject $2 --reason capacity_unavailable --detail "two releases today" --suggested-fix "try again on Monday"
bob       handoff initiate --file offer.json --to carol --json
carol     handoff accept $3 --json
carol     handoff activate $3 --json
carol     handoff reject $3 --reason capability_mismatch --detail "this is COBOL"
bob       handoff show $3
bob       handoff initiate --file offer.json --to alice --return
carol     handoff close $4 --notes "cancelled by the customer"
alice     handoff show $4
alice     handoff show $4 --json
alice     handoff list
alice     handoff list --status rejected --from bob --limit 1
alice     handoff list --task PAY-311 --status draft --json
operator  token revoke $4
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

/// A way to the ledger: how each caller says who it is.
struct Way {
    folder: PathBuf,
    identify: Box<dyn Fn(&str) -> Vec<String>>,
}

#[test]
fn without_a_server() {
    let folder = prepared();
    let data = data(folder.path());
    let way = Way { folder: folder.path().to_owned(), identify: Box::new(by_folder(data)) };
    insta_walk(&walk(&way));
}

#[test]
fn through_the_control_socket() {
    let folder = prepared();
    let data = data(folder.path());
    let _server = Server::start_on(Path::new(&data), |_| {});
    let way = Way { folder: folder.path().to_owned(), identify: Box::new(by_folder(data)) };
    insta_walk(&walk(&way));
}

#[test]
fn over_the_network() {
    let folder = prepared();
    let server = Server::start_on(Path::new(&data(folder.path())), |_| {});
    let url = server.url.clone();
    let operator = server.token("local", &["--kind", "operator"]);
    let path = folder.path().to_owned();
    let identify = move |who: &str| {
        let token = match who {
            "operator" => operator.clone(),
            // The script has made them by now; this one more is not shown anywhere.
            agent => token_of(&path, &server, agent),
        };
        ["--server", &url, "--token", &token].map(str::to_owned).to_vec()
    };
    let way = Way { folder: folder.path().to_owned(), identify: Box::new(identify) };
    insta_walk(&walk(&way));
}

/// A folder with an offer in it, and a ledger that a server will not take for new.
fn prepared() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("offer.json"), OFFER).expect("a file");
    let first = ["token", "create", "--agent", "local", "--kind", "operator", "--data"];
    let mut arguments = first.map(str::to_owned).to_vec();
    arguments.push(data(folder.path()));
    assert_eq!(tasuki(folder.path(), &arguments, &[], "").code, 0);
    folder
}

fn data(folder: &Path) -> String {
    folder.join("data").to_str().expect("a path that is text").to_owned()
}

fn by_folder(data: String) -> impl Fn(&str) -> Vec<String> {
    move |who| {
        let mut arguments = vec!["--data".to_owned(), data.clone()];
        if who != "operator" {
            arguments.extend(["--as".to_owned(), who.to_owned()]);
        }
        arguments
    }
}

/// A token for an agent, kept in a file so that each agent has one.
fn token_of(folder: &Path, server: &Server, agent: &str) -> String {
    let file = folder.join(format!("{agent}.token"));
    std::fs::read_to_string(&file).unwrap_or_else(|_| {
        let role: &[&str] = if agent == "carol" { &["--role", "coordinator"] } else { &[] };
        let token = server.token(agent, role);
        std::fs::write(&file, &token).expect("a file");
        token
    })
}

fn walk(way: &Way) -> String {
    let mut transcript = Transcript::default();
    let mut handoffs: Vec<String> = Vec::new();
    for line in SCRIPT.lines().filter(|line| !line.is_empty()) {
        let (who, command) = line.split_once(' ').expect("somebody types something");
        let mut typed = command.trim().to_owned();
        for (number, id) in (1..).zip(&handoffs) {
            typed = typed.replace(&format!("${number}"), id);
        }
        let mut arguments = split(&typed);
        arguments.extend((way.identify)(who));
        let outcome = tasuki(&way.folder, &arguments, &[], "");
        transcript.add(&format!("{who}: tasuki {}", command.trim()), &outcome);
        handoffs.extend(new_handoff(&outcome.stdout).filter(|id| !handoffs.contains(id)));
    }
    transcript.text
}

/// The handoff that an action printed, as text or as JSON.
fn new_handoff(stdout: &str) -> Option<String> {
    let id = match serde_json::from_str::<serde_json::Value>(stdout) {
        Ok(answer) => answer["handoff_id"].as_str()?.to_owned(),
        Err(_) => stdout.trim().to_owned(),
    };
    id.parse::<protocol::ids::HandoffId>().is_ok().then_some(id)
}

/// All three ways are held against one snapshot.
fn insta_walk(text: &str) {
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("walk", text);
    });
}
