//! `docs/tools.md` shows what the code does.

use std::fs;
use std::path::Path;

use protocol::tools::Form;
use protocol::tools::answers::{Answers, Ending, Refusal};
use protocol::tools::calls::calls;
use protocol::tools::check::Rule;
use protocol::tools::definitions::{HandoffTools, Target};
use protocol::tools::history::{HandBack, hand_back};
use serde_json::Value;

use crate::cli::shell::{Outcome, split, tasuki};

fn tasuki_in(folder: &Path, line: &str) -> Outcome {
    tasuki(folder, &split(line), &[], "")
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    fs::read_to_string(path).unwrap()
}

/// The fenced blocks of a language, in order.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let fences = page.split(&fence).skip(1);
    fences.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_examples_of_the_page_are_what_happens() {
    let page = page();
    // The output of the server, first and last, is compared where pages are run.
    let examples = blocks(&page, "json");
    let examples: Vec<Value> = examples[1..examples.len() - 1]
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect();
    let [turn, answered, back] = &examples[..] else { panic!("three examples") };

    let target = |id: &str, name: &str, description: &str| Target {
        id: id.parse().unwrap(),
        name: name.to_owned(),
        description: description.to_owned(),
    };
    let billing = target("billing", "Billing", "Refunds and invoices.");
    let tools = HandoffTools::new(vec![billing, target("tech", "", "")]).unwrap();

    let found = calls(Form::OpenAi, turn, &tools).unwrap();
    let mut answers = Answers::decide(found, |request| {
        tools.target(&request.target).cloned().ok_or(Refusal::UnknownAgent)
    });
    answers.ran("call_1", "42 EUR".to_owned(), Ending::Success).unwrap();
    assert_eq!(Value::from(answers.messages(Form::OpenAi, turn)), *answered);

    let returned = HandBack {
        from: "billing".parse().unwrap(),
        to: "triage".parse().unwrap(),
        call_id: "back_1".to_owned(),
        summary: Some("Refunded.".to_owned()),
    };
    assert_eq!(Value::from(hand_back(Form::Anthropic, &returned, None).unwrap()), *back);
}

#[test]
fn the_page_lists_every_rule_and_every_refusal() {
    let page = page();
    let malformed = "x".parse::<Form>().unwrap_err();
    let refusals = [
        Refusal::UnknownAgent,
        Refusal::SystemAgent,
        Refusal::Surplus { accepted: "y".to_owned() },
        Refusal::Unreadable(malformed),
        Refusal::Denied { code: "denied", reason: String::new() },
    ];
    let rules = Rule::ALL.iter().map(|rule| rule.code());
    for code in refusals.iter().map(Refusal::code).chain(rules) {
        assert!(page.contains(&format!("`{code}`")), "{code}");
    }
    for refusal in &refusals[..3] {
        assert!(page.contains(&refusal.text("x")), "{}", refusal.text("x"));
    }
}

#[test]
fn a_history_is_looked_at_without_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("good.json", r#"[{ "role": "user", "content": "Hi" }]"#);
    write("bad.json", r#"[{ "role": "user" }, 7]"#);
    write("list.json", r#"{ "history": [] }"#);
    let call = r#"{"type":"function_call","call_id":"c1","name":"transfer_to_x","arguments":"{}"}"#;
    write("response.json", &format!(r#"{{ "object": "response", "output": [{call}] }}"#));
    let cases = [
        ("handoff detect good.json", 0, "", "no handoffs in 1 message\n"),
        (
            "handoff detect --json good.json",
            0,
            "{\"form\":\"openai\",\"handoffs\":[],\"problems\":[]}\n",
            "",
        ),
        (
            "handoff detect --json response.json",
            1,
            concat!(
                r#"{"form":"responses","handoffs":[{"call_id":"c1","direction":"forth","#,
                r#""index":0,"outcome":"unanswered","to":"x"}],"problems":[{"detail":"expected "#,
                r#"a result for each call right after it: `c1`","index":0,"#,
                r#""rule":"unanswered","weight":"refused"}]}"#,
                "\n"
            ),
            "",
        ),
        (
            "handoff detect bad.json",
            2,
            "",
            "error: bad.json is no history of openai: [1]: expected an object\n",
        ),
        (
            "handoff detect list.json",
            2,
            "",
            "error: list.json: expected a list of messages, or an object with `messages`, \
             `input` or `output`\n",
        ),
    ];
    for (typed, code, stdout, stderr) in cases {
        let shown = tasuki_in(folder.path(), typed);
        let seen = (shown.code, shown.stdout.as_str(), shown.stderr.as_str());
        assert_eq!(seen, (code, stdout, stderr), "{typed}");
    }
    let unknown = tasuki_in(folder.path(), "handoff detect --form x good.json");
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("expected openai, responses, anthropic or langchain"));
}
