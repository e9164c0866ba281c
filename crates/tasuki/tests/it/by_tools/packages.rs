//! The packages of the providers take the history of a conversation that went to a person and came
//! back, in every form, as it is.

use std::fs;
use std::path::Path;

use protocol::tools::history_form::HistoryForm;
use serde_json::{Value, json};
use tasuki::client::Call;

use super::history::story;
use super::{called, turn};
use crate::histories::python;
use crate::server::ok;
use crate::transfers::{Desk, act};

/// Writes the history in each form. The query goes on after `form`.
async fn write(folder: &Path, name: &str, desk: &Desk, query: &str) -> usize {
    for form in HistoryForm::ALL {
        let path = desk.path(&format!("/history?form={}{query}", form.as_str()));
        let shown = ok(&desk.bob, Call::get(path)).await;
        let file = folder.join(format!("{name}.{}.json", form.as_str()));
        fs::write(file, shown["messages"].to_string()).expect("a file");
    }
    HistoryForm::ALL.len()
}

/// Twice to a person and back: with words of the bot before, and to another bot afterwards.
async fn long_story() -> Desk {
    let desk = Desk::open(json!({ "mode": "pick" })).await;
    let hana = desk.person("hana").await;
    let carol = desk.server.agent("carol");
    desk.say(&desk.bob, "Hello, I am Bob.", Some(1)).await;
    desk.say(&desk.customer, "my bill is wrong", None).await;
    let given = json!({ "reason": "angry", "context": "Two bills" });
    let asks = turn("openai", "I ask a colleague. ", "transfer_to_human", given);
    let body = json!({ "form": "openai", "turn": asks, "epoch": 1 });
    let done = ok(&desk.bob, called(&desk, body)).await;
    let transfer = json!({ "transfer_id": done["routed"]["transfer_id"] });
    act(&hana, &transfer, "pickup", json!({ "epoch": 2, "accept": true })).await;
    desk.say(&desk.customer, "hello?", None).await;
    let picture = json!({ "type": "attachment", "name": "bill.png", "media_type": "image/png",
                          "data": "iVBORw0KGgo=" });
    let says = json!({ "parts": [{ "type": "text", "text": "This one? " }, picture], "epoch": 3 });
    ok(&hana, Call::post(desk.path("/messages"), says)).await;
    let done = json!({ "epoch": 3, "to": "carol", "summary": "One bill was\n\"cancelled\"." });
    act(&hana, &transfer, "complete", done).await;
    desk.say(&carol, "Is there anything else?", Some(4)).await;
    let back = json!({ "goto": "bob", "epoch": 4, "parts": [{ "type": "text", "text": "Bye" }] });
    ok(&carol, Call::post(desk.path("/commands"), back)).await;
    let again = desk.request(&desk.customer, json!({ "reason": "and my refund?" })).await;
    act(&hana, &again, "pickup", json!({ "epoch": 6, "accept": true })).await;
    act(&hana, &again, "complete", json!({ "epoch": 7 })).await;
    desk
}

#[tokio::test]
async fn the_packages_take_each_history_after_a_person_gave_it_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut n_written = 0;
    let (desk, _) = story().await;
    n_written += write(folder.path(), "short", &desk, "").await;
    n_written += write(folder.path(), "short-cut", &desk, "&limit=2").await;
    let desk = long_story().await;
    n_written += write(folder.path(), "long", &desk, "").await;
    for limit in [1, 3, 5, 8] {
        n_written +=
            write(folder.path(), &format!("long-{limit}"), &desk, &format!("&limit={limit}")).await;
    }
    for (index, broken) in broken().iter().enumerate() {
        let file = folder.path().join(format!("broken-{index}.gemini.json"));
        fs::write(file, broken.to_string()).expect("a file");
    }
    let lines = python::run(&python::ready(), folder.path());
    let (taken, refused): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.ends_with(" ok"));
    let surprises: Vec<_> = refused.iter().filter(|line| !line.starts_with("broken")).collect();
    assert!(surprises.is_empty(), "{surprises:#?}");
    assert_eq!((taken.len(), refused.len()), (n_written, broken().len()), "{lines:#?}");
}

/// Histories that Gemini refuses. Those of the other forms are beside the tests of turns.
fn broken() -> Vec<Value> {
    let call = json!({ "functionCall": { "id": "c1", "name": "x", "args": {} } });
    let result =
        json!({ "functionResponse": { "id": "c1", "name": "x", "response": { "result": "y" } } });
    let user = |parts: Value| json!({ "role": "user", "parts": parts });
    let model = |parts: Value| json!({ "role": "model", "parts": parts });
    let hello = user(json!([{ "text": "hello" }]));
    vec![
        json!([user(json!("hello"))]),
        json!([user(json!([{ "content": "hello" }]))]),
        json!([
            hello,
            model(json!([{ "functionCall": { "id": "c1", "name": "x", "args": "{}" } }]))
        ]),
        json!([model(json!([{ "text": "hello" }]))]),
        json!([hello, hello]),
        json!([hello, model(json!([call])), hello]),
        json!([hello, model(json!([{ "text": "x" }])), user(json!([result]))]),
        json!([hello, model(json!([call])), user(json!([result, { "text": "and" }]))]),
    ]
}
