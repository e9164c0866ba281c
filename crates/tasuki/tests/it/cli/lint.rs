//! Checks of an offer before it is proposed.

use super::shell::{split, tasuki};

/// An offline check reports a bad offer as a finding; a server refuses it.
#[test]
fn a_bad_offer_is_found_by_a_check_and_refused_by_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let run = |line: &str| tasuki(folder.path(), &split(line), &[], "");
    let offer = crate::server::offer("T-1", "bob").to_string();
    std::fs::write(folder.path().join("good.json"), offer).unwrap();
    std::fs::write(folder.path().join("bad.json"), r#"{ "to_agent": "bob" }"#).unwrap();
    for (name, path, hidden) in [
        ("summary", "/context/summary", "a\u{202b}b"),
        ("reason", "/reason", "a\u{e0069}b"),
        ("task", "/task/task_id", "T\u{b}1"),
    ] {
        let mut offer = crate::server::offer("T-1", "bob");
        offer["reason"] = "a reason".into();
        *offer.pointer_mut(path).expect(path) = hidden.into();
        std::fs::write(folder.path().join(format!("{name}.json")), offer.to_string()).unwrap();
    }
    for agent in ["alice", "bob"] {
        assert_eq!(run(&format!("token create --agent {agent} --init")).code, 0);
    }
    let cases = [
        ("handoff lint good.json", 0),
        ("handoff lint bad.json", 1),
        ("handoff lint bad.json --json", 1),
        ("handoff lint summary.json", 1),
        ("handoff lint reason.json", 1),
        ("handoff lint task.json", 1),
        ("handoff initiate --as alice --file summary.json --dry-run", 3),
        ("handoff initiate --as alice --file good.json --dry-run", 0),
        ("handoff initiate --as alice --file bad.json --dry-run", 3),
    ];
    for (typed, code) in cases {
        let outcome = run(typed);
        assert_eq!(outcome.code, code, "{typed}: {}", outcome.stderr);
    }
    let on_two_lines = ["handoff", "list", "--as", "a\nb"].map(str::to_owned);
    let outcome = tasuki(folder.path(), &on_two_lines, &[], "");
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--as: expected text on one line"), "{}", outcome.stderr);
}
