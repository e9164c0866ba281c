//! How commands end: exit codes that scripts rely on, an error and a hint on stderr, and nothing on
//! stdout that a script could take for data.

use std::path::Path;

use super::shell::{Outcome, Transcript, split, tasuki};
use crate::server::Server;

/// What is typed in an empty folder, and the exit code.
const ENDINGS: &str = r#"
1  handoff initiate --as alice --file missing.json
1  handoff initiate --as alice --file broken.json
1  agent list --server ftp://127.0.0.1
1  handoff list --data elsewhere
1  token list --data elsewhere
1  agent list --server https://127.0.0.1:1
1  agent list --server https://127.0.0.1:1 --ca-cert broken.json
2
2  handof list
2  handoff initiate --colour red
2  handoff reject 1 --detail no --reason bored
2  handoff list --status done
2  handoff list --limit many
2  token create
2  token create --agent alice --kind root
2  token create --agent alice --role boss
2  token create --agent alice --expires-in 90
2  token create --agent alice --expires-in 0d
2  serve --config unknown.toml
2  serve --tls-cert cert.pem
2  serve --log-level loud
3  token create --agent Alice
3  token create --agent alice --kind human
3  agent show nobody
3  agent show "no body/../x?y"
3  handoff list --as nobody
3  handoff list --token tasuki_00
3  handoff list --limit 0
3  handoff list --cursor x
3  handoff show 01938c2e-0000-7000-8000-000000000001 --as alice
3  handoff show "1 2" --as alice
3  handoff initiate --as alice
3  handoff initiate --as alice --file good.json --to nobody
3  handoff initiate --as alice --file good.json --to alice
3  handoff initiate --file good.json --to alice
3  token revoke 01938c2e-0000-7000-8000-000000000001
3  agent list --teamspace "My Team"
4  agent list --server http://127.0.0.1:1
4  handoff watch
4  chat --new
"#;

#[test]
fn every_ending_has_its_code_and_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file("broken.json", "{");
    file("unknown.toml", "[limits]\nstream = 1\n");
    file("good.json", &crate::server::offer("T-1", "bob").to_string());
    assert_eq!(run(folder.path(), "token create --agent alice").code, 0);
    let mut transcript = Transcript::default();
    for line in ENDINGS.lines().filter(|line| !line.is_empty()) {
        let (code, typed) = line.split_once("  ").unwrap_or((line, ""));
        let outcome = run(folder.path(), typed);
        assert_eq!(outcome.code.to_string(), code, "{typed}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{typed}");
        assert!(!outcome.stderr.is_empty(), "{typed} ends without a word");
        transcript.add(&format!("tasuki {typed}"), &outcome);
    }
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("endings", transcript.text);
    });
}

#[test]
fn unknown_settings_in_the_environment_are_usage_errors() {
    let folder = tempfile::tempdir().unwrap();
    let environment = [("TASUKI_LISTN", "127.0.0.1:0")];
    let outcome = tasuki(folder.path(), &split("serve"), &environment, "");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("TASUKI_LISTN: no such setting"), "{}", outcome.stderr);
}

#[test]
fn an_export_is_verified_whatever_folder_is_configured() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "token create --agent alice").code, 0);
    assert_eq!(run(folder.path(), "audit export --out ledger.jsonl").code, 0);
    let environment = [("TASUKI_DATA", "elsewhere")];
    for typed in ["audit verify --export ledger.jsonl", "audit tail --export ledger.jsonl"] {
        let outcome = tasuki(folder.path(), &split(typed), &environment, "");
        assert_eq!(outcome.code, 0, "{typed}: {}", outcome.stderr);
    }
}

#[test]
fn data_that_could_not_be_written_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = std::process::Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["token", "create", "--agent", "alice"])
        .current_dir(folder.path())
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.starts_with("error: cannot write to standard output: "), "{said}");
    assert!(run(folder.path(), "token list").stdout.contains("alice"), "it was made all the same");
}

/// Whoever adds agents before the first start still needs somebody who may do more.
#[test]
fn a_server_without_an_operator_makes_one_and_only_one() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "token create --agent alice").code, 0);
    for _ in 0..2 {
        drop(Server::start_on(&folder.path().join("tasuki-data"), |_| {}));
        let listed = run(folder.path(), "token list --json").stdout;
        assert_eq!(listed.matches(r#""bearer":"operator""#).count(), 1, "{listed}");
    }
}

#[test]
fn what_is_not_given_of_a_draft_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for agent in ["alice", "bob"] {
        assert_eq!(run(folder.path(), &format!("token create --agent {agent}")).code, 0);
    }
    let as_alice = |typed: &str| {
        let outcome = run(folder.path(), &format!("{typed} --as alice"));
        assert_eq!(outcome.code, 0, "{typed}: {}", outcome.stderr);
        outcome.stdout.trim_end().to_owned()
    };
    let id = as_alice("handoff draft --to bob --task DR-1 --title Mend");
    as_alice(&format!("handoff draft {id} --summary Half --title Repair"));
    as_alice(&format!("handoff initiate {id} --next-step Read --criterion Green"));
    let shown = as_alice(&format!("handoff show {id}"));
    for kept in ["DR-1", "Repair", "Half", "Read", "Green"] {
        assert!(shown.contains(kept), "{kept}: {shown}");
    }
}

#[test]
fn a_doctor_who_is_given_a_server_looks_at_that_one() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("somewhere"), |_| {});
    let outcome = run(folder.path(), &format!("doctor --server {}", server.url));
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("running and ready"), "{}", outcome.stdout);
    assert_eq!(run(folder.path(), "doctor --server http://127.0.0.1:1").code, 1);
}

#[test]
fn a_folder_has_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("tasuki-data");
    let _server = Server::start_on(&data, |_| {});
    let second = run(folder.path(), "serve --listen 127.0.0.1:0");
    assert_eq!((second.code, second.stdout.as_str()), (5, ""), "{}", second.stderr);
    assert!(second.stderr.contains("hint: another server has this folder"), "{}", second.stderr);
    // Whoever cannot find the socket must not become a second writer.
    std::fs::remove_file(data.join("control.sock")).unwrap();
    let lost = run(folder.path(), "agent list");
    assert_eq!((lost.code, lost.stdout.as_str()), (5, ""), "{}", lost.stderr);
}

#[test]
fn a_new_token_is_all_there_is_on_stdout() {
    let folder = tempfile::tempdir().unwrap();
    let alone = run(folder.path(), "token create --agent alice");
    let server = Server::start_on(&folder.path().join("tasuki-data"), |_| {});
    let beside = run(folder.path(), "token create --agent bob --kind human --role reviewer");
    for issued in [alone, beside] {
        assert_eq!((issued.code, issued.stderr.as_str()), (0, ""));
        let secret = issued.stdout.strip_prefix("tasuki_").and_then(|rest| rest.strip_suffix('\n'));
        let secret = secret.unwrap_or_else(|| panic!("{:?} is no token", issued.stdout));
        assert!(secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let as_bearer = format!("agent list --server {} --token tasuki_{secret}", server.url);
        assert_eq!(run(folder.path(), &as_bearer).code, 0);
    }
}

#[test]
fn an_offer_can_come_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    for agent in ["alice", "bob"] {
        assert_eq!(run(folder.path(), &format!("token create --agent {agent}")).code, 0);
    }
    let offer = crate::server::offer("T-1", "bob").to_string();
    let typed = split("handoff initiate --as alice --file -");
    let outcome = tasuki(folder.path(), &typed, &[], &offer);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, "is now proposed\n"));
}

#[test]
fn flags_beat_the_environment_and_the_environment_beats_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for data in ["from-file", "from-environment", "from-flag"] {
        let made = format!("agent register in-{data} --data {data}");
        assert_eq!(run(folder.path(), &made).code, 0);
    }
    std::fs::write(folder.path().join("tasuki.toml"), "data = 'from-file'\n").unwrap();
    let environment = [("TASUKI_DATA", "from-environment")];
    type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c str);
    let cases: [Case<'_>; 3] = [
        ("agent list", &[], "in-from-file"),
        ("agent list", &environment, "in-from-environment"),
        ("agent list --data from-flag", &environment, "in-from-flag"),
    ];
    for (typed, environment, expected) in cases {
        let listed = tasuki(folder.path(), &split(typed), environment, "");
        assert_eq!(listed.code, 0, "{typed}: {}", listed.stderr);
        assert!(listed.stdout.contains(expected), "{typed}: {}", listed.stdout);
    }
}

#[test]
fn the_doctor_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let mut transcript = Transcript::default();
    transcript.name(folder.path().to_str().unwrap(), "[folder]");
    let mut look = |what: &str, typed: &str| {
        let outcome = run(folder.path(), typed);
        transcript.add(&format!("tasuki {typed}   # {what}"), &outcome);
    };
    look("nothing is there", "doctor");
    run(folder.path(), "token create --agent root --kind operator");
    look("a folder without a server", "doctor");
    let server = Server::start_on(&folder.path().join("tasuki-data"), |_| {});
    look("a server runs", "doctor --json");
    assert_eq!(server.stop(), Some(0));
    let key = folder.path().join("tasuki-data/ledger.key");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(key, open).unwrap();
    look("others can read the key", "doctor");
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("doctor", transcript.text);
    });
}

fn run(folder: &Path, line: &str) -> Outcome {
    tasuki(folder, &split(line), &[], "")
}
