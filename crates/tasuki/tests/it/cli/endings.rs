//! How commands end: exit codes that scripts rely on, an error and a hint on stderr, and nothing on
//! stdout that a script could take for data.

use std::path::Path;

use super::chat::Terminal;
use super::shell::{Outcome, Transcript, split, tasuki};
use crate::server::Server;

/// The commands, typed in an empty folder, and their exit codes.
const ENDINGS: &str = r#"
2  handoff list --data elsewhere
2  token list --data elsewhere
2  token create --agent alice --data elsewhere
2  agent register alice --data elsewhere
2  teamspace create other --operator ruth --data elsewhere
2
2  handoff initiate --as alice --file missing.json
2  handoff initiate --as alice --file broken.json
2  handoff initiate --as alice --file list.json
2  handoff lint missing.json
2  handoff detect broken.json
2  agent list --server ftp://127.0.0.1
2  agent list --server nonsense
2  agent list --server http://127.0.0.1:99999
2  agent list --server http://127.0.0.1:abc
2  agent list --server http://127.0.0.1:
2  agent list --server http://127.0.0.1:7420/v1
2  agent list --server http://
2  agent list --server https://127.0.0.1:1
2  agent list --server https://127.0.0.1:1 --ca-cert broken.json
2  agent list --server https://127.0.0.1:1 --ca-cert missing.pem
2  message send --as alice --to bob --type status.update --payload [1]
2  message send --as alice --to bob --type foo.bar
2  message send --as alice --to bob --type system.ack
2  conversation open --as alice --topology nonsense
2  handoff initiate --as alice --sla soon
2  handoff initiate --as alice --sla proposed=5h --sla proposed=2m
2  handoff initiate --as alice --artifact report
2  handoff initiate --as alice --ref PAY-311
2  audit verify --checkpoint missing.txt
2  audit verify --export missing.jsonl
2  audit tail --export missing.jsonl
2  audit verify --data elsewhere
2  audit tail --data elsewhere
2  audit export --data elsewhere
2  agent register Bad
2  handoff initiate --as alice --export-restriction foo
2  transfer list --status foo
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
2  serve --listen nope
2  serve --listen 127.0.0.1:0 --tls-cert missing.pem --tls-key missing.key
2  serve --listen 127.0.0.1:0 --tls-cert broken.json --tls-key broken.json
2  serve --listen 0.0.0.0:0 --dev
2  serve --listen 0.0.0.0:0 --aaep-compat scripted
2  serve --config outside.toml
2  serve --listen 127.0.0.1:0 --data beside --witness beside/kept
3  token create --agent Alice
3  token create --agent alice --kind human
3  teamspace create "My Team" --operator ruth
3  usage --of default --set nonsense=5
3  queue set alice --mode pick
3  agent show nobody
3  agent show "no body/../x?y"
3  handoff list --as nobody
3  handoff list --token tasuki_00
3  handoff list --limit 0
3  handoff list --cursor x
3  handoff show 01938c2e-0000-7000-8000-000000000001 --as alice
3  handoff show "1 2" --as alice
3  handoff initiate --as alice
3  handoff initiate --as alice --to bob
3  handoff initiate --as alice --to bob --task T-1 --title Mend --criterion Done
3  handoff initiate --as alice --to bob --task T-1 --title Mend --criterion Done --summary S --next-step N --percent 101
3  handoff initiate --as alice --file good.json --to nobody
3  handoff initiate --as alice --file good.json --to alice
3  handoff initiate --file good.json --to alice
3  token revoke 01938c2e-0000-7000-8000-000000000001
3  agent list --teamspace "My Team"
3  agent list --teamspace nope
3  transfer rate 01938c2e-0000-7000-8000-000000000001 9
3  transfer note 01938c2e-0000-7000-8000-000000000001 "" --as alice
3  aaep erase nope --reason why
3  message show 01938c2e-0000-7000-8000-000000000001
3  graph show nowhere
3  handoff list --as alice --token TOKEN-OF-BOB
3  agent list --teamspace other --token TOKEN-OF-BOB
3  agent register alice --kind queue
4  agent list --server http://127.0.0.1:1
4  handoff watch
4  chat --new
"#;

#[test]
fn every_ending_has_its_code_and_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file("broken.json", "{");
    file("list.json", "[]");
    file("outside.toml", "listen = \"0.0.0.0:0\"\ndev = true\n");
    file("unknown.toml", "[limits]\nstream = 1\n");
    file("good.json", &crate::server::offer("T-1", "bob").to_string());
    assert_eq!(run(folder.path(), "token create --agent alice --init").code, 0);
    let bob = run(folder.path(), "token create --agent bob").stdout;
    let mut transcript = Transcript::default();
    for line in ENDINGS.lines().filter(|line| !line.is_empty()) {
        let (code, typed) = line.split_once("  ").unwrap_or((line, ""));
        let outcome = run(folder.path(), &typed.replace("TOKEN-OF-BOB", bob.trim_end()));
        assert_eq!(outcome.code.to_string(), code, "{typed}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{typed}");
        assert!(!outcome.stderr.is_empty(), "{typed} ends without a word");
        transcript.add(&format!("tasuki {typed}"), &outcome);
    }
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("endings", transcript.text);
    });
}

/// A flag and a variable, two flags, and two variables; through a socket, and without a server.
#[test]
fn two_identities_that_differ_are_refused_and_both_are_named() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "token create --agent alice --init").code, 0);
    let bob = run(folder.path(), "token create --agent bob").stdout.trim_end().to_owned();
    let check = || {
        let by_flag = format!("--token {bob}");
        let by_variable = ("TASUKI_TOKEN", bob.as_str());
        type Case<'c> = (&'c str, &'c str, Vec<(&'c str, &'c str)>, &'c str);
        let cases: [Case<'_>; 6] = [
            (
                "--as alice",
                "",
                vec![by_variable],
                "--as says `alice`, and the token in TASUKI_TOKEN",
            ),
            ("--as alice", &by_flag, vec![], "--as says `alice`, and the token in --token"),
            (
                "",
                &by_flag,
                vec![("TASUKI_AS", "alice")],
                "TASUKI_AS says `alice`, and the token in",
            ),
            ("--teamspace other", &by_flag, vec![], "--teamspace says `other`, and the token in"),
            ("--as bob", &by_flag, vec![], ""),
            ("--as bob --teamspace default", "", vec![by_variable], ""),
        ];
        for (typed, more, environment, expected) in cases {
            for command in ["handoff list", "inbox", "agent show bob", "handoff draft --title X"] {
                let typed = split(&format!("{command} {typed} {more}"));
                let outcome = tasuki(folder.path(), &typed, &environment, "");
                let code = if expected.is_empty() { 0 } else { 3 };
                assert_eq!(outcome.code, code, "{typed:?}: {}", outcome.stderr);
                assert!(outcome.stderr.contains(expected), "{typed:?}: {}", outcome.stderr);
                if code == 3 {
                    assert!(outcome.stderr.contains("is that of agent:bob"), "{}", outcome.stderr);
                }
            }
        }
    };
    check();
    let _server = Server::start_on(&folder.path().join("tasuki-data"), |_| {});
    check();
}

/// A removal must be requested by a flag.
#[test]
fn a_verb_without_a_flag_shows_what_is_set_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let typed = |line: &str| {
        let outcome = run(folder.path(), line);
        assert_eq!(outcome.code, 0, "{line}: {}", outcome.stderr);
        outcome.stdout + &outcome.stderr
    };
    typed("agent register bob --name Bob --capability triage --skill billing=4 --init");
    typed("agent register hana --kind human --capacity 2 --user-selectable");
    typed("agent presence hana busy");
    typed("agent roles bob --role reviewer");
    typed("agent endpoint bob --url https://bots.example/turns");
    typed("agent wake bob --url https://bots.example/wake");
    for _ in 0..2 {
        assert!(typed("agent roles bob").contains("reviewer"));
        assert_eq!(typed("agent endpoint bob"), "https://bots.example/turns\n");
        assert_eq!(typed("agent wake bob"), "https://bots.example/wake\n");
        assert!(typed("agent presence hana").contains("busy"));
        let bob = typed("agent register bob --team Care");
        assert!(bob.contains("Bob") && bob.contains("triage"), "{bob}");
        let hana = typed("agent register hana --json");
        for kept in [r#""kind":"human""#, r#""capacity":2"#, r#""user_selectable":true"#] {
            assert!(hana.contains(kept), "{kept}: {hana}");
        }
    }
    assert!(!typed("agent roles bob --remove").contains("reviewer"));
    assert!(typed("agent endpoint bob --remove").contains("not called any more"));
    assert!(typed("agent endpoint bob").contains("no URL is set for bob, or you may not see it"));
    assert!(typed("agent wake bob --remove").contains("not called any more"));
    assert!(typed("agent wake bob").contains("no URL"));
    let hana = typed("agent register hana --user-selectable false --json");
    assert!(!hana.contains("user_selectable"), "{hana}");
    assert!(!typed("agent register bob --replace").contains("triage"));
}

#[test]
fn the_default_teamspace_is_there_before_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "agent register rosa --teamspace red --init").code, 0);
    for (teamspace, code) in [("default", 0), ("red", 0), ("blue", 3)] {
        let listed = run(folder.path(), &format!("agent list --teamspace {teamspace}"));
        assert_eq!(listed.code, code, "{teamspace}: {}", listed.stderr);
    }
}

/// A token may carry roles that the directory does not have.
#[test]
fn members_are_shown_with_the_roles_of_their_tokens() {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "token create --agent alice --role coordinator --role reviewer --init",
        "token create --agent bob",
        "agent roles bob --role executor",
    ] {
        assert_eq!(run(folder.path(), line).code, 0, "{line}");
    }
    let shown = run(folder.path(), "teamspace members");
    let rows: Vec<Vec<_>> =
        shown.stdout.lines().map(|row| row.split_whitespace().collect()).collect();
    assert!(rows.contains(&vec!["alice", "worker", "–", "coordinator,", "reviewer"]), "{rows:?}");
    assert!(rows.contains(&vec!["bob", "worker", "executor", "–"]), "{rows:?}");
    let alone = run(folder.path(), "agent roles alice").stdout;
    let alone: Vec<_> = alone.lines().last().unwrap_or_default().split_whitespace().collect();
    assert_eq!(alone, ["alice", "worker", "–", "coordinator,", "reviewer"]);
    for command in ["teamspace members", "agent roles alice"] {
        let as_bob = run(folder.path(), &format!("{command} --as bob"));
        assert!(as_bob.stderr.contains("shown to operators"), "{}", as_bob.stderr);
    }
}

#[test]
fn watching_shows_titles_and_refuses_what_there_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("tasuki-data"), |_| {});
    let [_, bob] = ["alice", "bob"].map(|agent| {
        let made = run(folder.path(), &format!("token create --agent {agent}"));
        assert_eq!(made.code, 0);
        made.stdout
    });
    let url = server.url.as_str();
    let cases = [
        (
            "token create --agent zoe --token BOB",
            "only an operator may do this\n\
             hint: the token in --token or TASUKI_TOKEN is not an operator's; ",
        ),
        (
            "handoff watch --kind handof",
            "--kind: expected the name of events, such as handoff.accepted, or a family, such as \
             handoff\n",
        ),
        ("handoff watch --after xyz", "--after: expected the cursor of an event that"),
        ("handoff watch nope", "[STREAM]: expected handoff/<id>, message/<id>, conversation/<id>"),
        ("handoff watch conversation/nope", "[STREAM]: expected handoff/<id>, message/<id>"),
        ("handoff watch 01938c2e-0000-7000-8000-000000000001", "no such handoff\n"),
        (
            "handoff watch --agent nobody",
            "--agent: no agent `nobody` in this teamspace\n\
             hint: `tasuki agent register NAME` adds an agent\n",
        ),
        (
            "aaep listen --as alice --session nope",
            "--session: no session `nope` in this teamspace\nhint: its events name it",
        ),
        ("aaep listen --as alice --conversation nope", "--conversation: no conversation `nope`"),
        ("aaep capture --as alice -o x --session nope", "--session: no session `nope`"),
        (
            "handoff list --as alice --server URL",
            "the server asks for a token\n\
             hint: give --token TOKEN; --as alone works only without --server\n",
        ),
    ];
    for (typed, expected) in cases {
        let typed = typed.replace("URL", url).replace("BOB", bob.trim_end());
        let refused = run(folder.path(), &typed);
        assert_eq!(refused.code, 3, "{typed}: {}", refused.stderr);
        let expected = format!("error: {expected}");
        assert!(refused.stderr.starts_with(&expected), "{typed}: {}", refused.stderr);
    }
    let offer = crate::server::offer("T-1", "bob").to_string();
    let made = tasuki(folder.path(), &split("handoff initiate --as alice --file -"), &[], &offer);
    let id = made.stdout.trim_end();
    assert_eq!(run(folder.path(), &format!("handoff accept {id} --as bob")).code, 0);
    let mut watching = Terminal::open(folder.path(), "handoff watch --after 0 --kind handoff");
    let offer: serde_json::Value = serde_json::from_str(&offer).unwrap();
    let title = offer["task"]["title"].as_str().unwrap();
    for event in ["handoff.proposed", "handoff.accepted"] {
        let line = watching.sees(event);
        assert!(line.contains(&format!("“{title}”  handoff/{id}")), "{line}");
        assert!(line.contains(" ago  ") || line.contains("now  "), "{line}");
    }
    drop(server);
}

/// The file exists, but the server may not read it.
#[test]
fn a_rejection_by_the_gate_is_told_with_what_can_be_done() {
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start_on(&folder.path().join("tasuki-data"), |_| {});
    for agent in ["alice", "bob"] {
        assert_eq!(run(folder.path(), &format!("token create --agent {agent}")).code, 0);
    }
    let report = folder.path().join("report.pdf");
    std::fs::write(&report, "a report").unwrap();
    let typed = format!(
        "handoff initiate --as alice --to bob --task T-1 --title Mend --criterion Done --summary S \
         --next-step N --artifact report={}",
        report.display()
    );
    let made = run(folder.path(), &typed);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let id = made.stdout.trim_end();
    let refused = run(folder.path(), &format!("handoff accept {id} --as bob"));
    let expected = "error: the gate rejected the handoff: artifact:report: it is not below a \
                    folder that may be looked into\n\
                    hint: the folders are `roots` under [artifacts] in the server's settings; ";
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.starts_with(expected), "{}", refused.stderr);
    let shown = run(folder.path(), &format!("handoff show {id} --as bob")).stdout;
    let expected = "[failed: it is not below a folder that may be looked into]";
    assert!(shown.contains(expected), "{shown}");
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
    assert_eq!(run(folder.path(), "token create --agent alice --init").code, 0);
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
        .args(["token", "create", "--agent", "alice", "--init"])
        .current_dir(folder.path())
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(1));
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.starts_with("error: cannot write to standard output: "), "{said}");
    assert!(run(folder.path(), "token list").stdout.contains("alice"), "it was made all the same");
}

/// A server whose agents were added before its first start still needs an operator.
#[test]
fn a_server_without_an_operator_makes_one_and_only_one() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "token create --agent alice --init").code, 0);
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
        assert_eq!(run(folder.path(), &format!("token create --agent {agent} --init")).code, 0);
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
fn a_folder_has_one_server() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("tasuki-data");
    let _server = Server::start_on(&data, |_| {});
    let second = run(folder.path(), "serve --listen 127.0.0.1:0");
    assert_eq!((second.code, second.stdout.as_str()), (5, ""), "{}", second.stderr);
    assert!(second.stderr.contains("hint: another server has this folder"), "{}", second.stderr);
    // A command that cannot find the socket must not become a second writer.
    std::fs::remove_file(data.join("control.sock")).unwrap();
    let lost = run(folder.path(), "agent list");
    assert_eq!((lost.code, lost.stdout.as_str()), (5, ""), "{}", lost.stderr);
}

#[test]
fn a_new_token_is_all_there_is_on_stdout() {
    let folder = tempfile::tempdir().unwrap();
    let alone = run(folder.path(), "token create --agent alice --init");
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
        assert_eq!(run(folder.path(), &format!("token create --agent {agent} --init")).code, 0);
    }
    let offer = crate::server::offer("T-1", "bob").to_string();
    let typed = split("handoff initiate --as alice --file -");
    let outcome = tasuki(folder.path(), &typed, &[], &offer);
    let expected = format!("Handoff {} is now proposed\n", outcome.stdout.trim());
    assert_eq!((outcome.code, outcome.stderr), (0, expected));
}

#[test]
fn flags_beat_the_environment_and_the_environment_beats_the_file() {
    let folder = tempfile::tempdir().unwrap();
    for data in ["from-file", "from-environment", "from-flag"] {
        let made = format!("agent register in-{data} --data {data} --init");
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

fn run(folder: &Path, line: &str) -> Outcome {
    tasuki(folder, &split(line), &[], "")
}
