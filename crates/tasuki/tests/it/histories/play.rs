//! Plays a script of turns in one form, as a server does: reads each turn, decides, lets the
//! ordinary tools run, and adds the answers to the history.

use std::fs;
use std::path::Path;

use protocol::tools::Form;
use protocol::tools::answers::{Answers, Ending, Refusal, ToolAnswer};
use protocol::tools::calls::{Request, calls};
use protocol::tools::definitions::{HandoffTools, Target};
use protocol::tools::history::{HandBack, hand_back, join};
use serde_json::Value;

pub struct Script {
    pub name: String,
    pub script: Value,
}

/// All of them, in order.
pub fn scripts() -> Vec<Script> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/histories/turns");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| Script {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        script: serde_json::from_slice(&fs::read(&path).unwrap()).unwrap(),
    };
    let mut scripts: Vec<Script> = files.map(read).collect();
    scripts.sort_by(|a, b| a.name.cmp(&b.name));
    scripts
}

/// The history after the last step.
pub fn play(form: Form, script: &Value) -> Vec<Value> {
    let ids = script["targets"].as_array().unwrap().iter();
    let target = |id: &Value| Target {
        id: id.as_str().unwrap().parse().unwrap(),
        name: String::new(),
        description: "Knows about it.".to_owned(),
    };
    let tools = HandoffTools::new(ids.map(target).collect()).unwrap();
    let mut history = Vec::new();
    for step in script["steps"].as_array().unwrap() {
        if let Some(said) = step.get("say") {
            join(form, &mut history, vec![said[form.as_str()].clone()]);
        } else if let Some(back) = step.get("back") {
            let id = |name: &str| back[name].as_str().unwrap().parse().unwrap();
            let back = HandBack {
                from: id("from"),
                to: id("to"),
                call_id: back["call_id"].as_str().unwrap().to_owned(),
                summary: back["summary"].as_str().map(str::to_owned),
            };
            let messages = hand_back(form, &back, history.last()).unwrap();
            join(form, &mut history, messages);
        } else {
            answer(form, script, step, &tools, &mut history);
        }
    }
    history
}

fn answer(
    form: Form,
    script: &Value,
    step: &Value,
    tools: &HandoffTools,
    history: &mut Vec<Value>,
) {
    let turn = &step["turn"][form.as_str()];
    let found = calls(form, turn, tools).unwrap();
    let ids: Vec<String> = found.iter().map(|call| call.call_id.clone()).collect();
    let mut answers = Answers::decide(found, |request| judge(script, tools, request));
    for (name, ending) in [("ran", Ending::Success), ("failed", Ending::Error)] {
        for (index, text) in step[name].as_object().into_iter().flatten() {
            let id = &ids[index.parse::<usize>().unwrap()];
            answers.ran(id, text.as_str().unwrap().to_owned(), ending).unwrap();
        }
    }
    if let Some(reason) = step["not_run"].as_str() {
        answers.will_not_run(reason);
    }
    let shown: Vec<String> = answers.each().map(|(_, answer)| shown(answer)).collect();
    let expected: Vec<&str> =
        step["answers"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert_eq!(shown, expected, "{form:?}: {}", script["about"]);
    join(form, history, vec![turn.clone()]);
    join(form, history, answers.messages(form, turn));
    let own = step["own"][form.as_str()].as_array().cloned().unwrap_or_default();
    assert_eq!(answers.waiting().next().is_some(), !own.is_empty());
    join(form, history, own);
}

fn judge(script: &Value, tools: &HandoffTools, request: &Request) -> Result<Target, Refusal> {
    let is_system =
        script["system"].as_array().unwrap().iter().any(|id| *id == request.target.as_str());
    if is_system {
        return Err(Refusal::SystemAgent);
    }
    if let Some(reason) = script["denied"][&request.target].as_str() {
        return Err(Refusal::Denied { code: "denied", reason: reason.to_owned() });
    }
    tools.target(&request.target).cloned().ok_or(Refusal::UnknownAgent)
}

fn shown(answer: Option<&ToolAnswer>) -> String {
    match answer {
        None => "waiting".to_owned(),
        Some(ToolAnswer::Accepted { to }) => format!("accepted {to}"),
        Some(ToolAnswer::Waits { queue }) => format!("waits {queue}"),
        Some(ToolAnswer::Redirected { to, .. }) => format!("redirected {}", to.holder()),
        Some(ToolAnswer::Refused { refusal, .. }) => format!("refused {}", refusal.code()),
        Some(ToolAnswer::Ran { ending: Ending::Success, .. }) => "ran".to_owned(),
        Some(ToolAnswer::Ran { ending: Ending::Error, .. }) => "failed".to_owned(),
        Some(ToolAnswer::NotRun { .. }) => "not_run".to_owned(),
    }
}
