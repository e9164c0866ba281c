//! Which endpoints are called: the warning for one that never is, and what `--dev` allows.

use serde_json::{Value, json};
use tasuki::client::Call;

use super::{Chat, say, text, texts};
use crate::receiver::{Answer, Receiver};
use crate::server::{Server, ok};

/// A caller that sets a URL that is never called is warned, and told which setting allows it.
#[tokio::test]
async fn an_endpoint_that_is_never_called_is_pointed_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start_on(&folder.path().join("data"), |_| {});
    let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
    server.agent("bob");
    let not_https = "its URL is not https";
    let not_public = "its URL leads to an address that is not public";
    for (path, url, expected) in [
        ("endpoint", "http://127.0.0.1:9/turns", Some(not_https)),
        ("endpoint", "http://bots.example/turns", Some(not_https)),
        ("endpoint", "https://127.0.0.1:9/turns", Some(not_public)),
        ("endpoint", "https://localhost:9/turns", Some(not_public)),
        ("endpoint", "https://[::1]:9/turns", Some(not_public)),
        ("endpoint", "https://10.1.2.3/turns", Some(not_public)),
        ("endpoint", "https://bots.example/turns", None),
        ("wake", "http://127.0.0.1:9/wake", Some(not_public)),
        ("wake", "http://bots.example/wake", None),
    ] {
        let set = Call::put(format!("/v1/agents/bob/{path}"), json!({ "url": url }));
        let set = ok(&operator, set).await;
        assert!(set["secret"].is_string(), "{url}: it is saved");
        let Some(expected) = expected else {
            assert_eq!(set["warnings"], Value::Null, "{url}");
            continue;
        };
        assert_eq!(set["warnings"][0]["field"], "url", "{url}: {set}");
        let detail = set["warnings"][0]["detail"].as_str().expect("a text");
        assert!(detail.contains(expected), "{url}: {detail}");
        assert!(detail.contains("messages.wake_private_addresses"), "{url}: {detail}");
        assert!(detail.contains("--dev"), "{url}: {detail}");
    }
}

/// A bot in development on this machine needs no other setting and no restart.
#[tokio::test]
async fn with_dev_or_demo_bots_on_this_machine_are_told_their_turns() {
    for flag in ["--dev", "--demo"] {
        let folder = tempfile::tempdir().expect("a folder");
        let change = |command: &mut std::process::Command| {
            command.arg(flag);
        };
        let server = Server::start_on(&folder.path().join("data"), change);
        let receiver = Receiver::answering(&[Answer::Says(text("hello"))]).await;
        let operator = server.with_token(&server.token("root", &["--kind", "operator"]));
        for private in ["http://10.1.2.3/turns", "http://bots.example.invalid/turns"] {
            server.agent("robin");
            let set = Call::put("/v1/agents/robin/endpoint", json!({ "url": private }));
            let set = ok(&operator, set).await;
            let is_known = private.contains("10.1.2.3");
            assert_eq!(set["warnings"].is_array(), is_known, "{private}: only this machine");
        }
        let set = Call::put("/v1/agents/robin/endpoint", json!({ "url": receiver.url }));
        let set = ok(&operator, set).await;
        assert_eq!(set["warnings"], Value::Null, "{flag}");
        let open = json!({ "agent": "robin" });
        let opened = ok(&server.agent("shop"), Call::post("/v1/conversations", open)).await;
        let customer = server.with_token(opened["customer_token"].as_str().expect("a token"));
        let id = opened["conversation_id"].as_str().expect("an id");
        let path = format!("/v1/conversations/{id}/messages");
        say(&Chat { customer, path }, "hello?").await;
        assert_eq!(texts(&receiver.called(1).await[0]), ["hello?"], "{flag}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["serve", "--dev", "--listen", "0.0.0.0:0", "--data"])
        .arg(folder.path().join("data"))
        .output()
        .expect("the executable runs");
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("--dev: expected a loopback address to listen on"), "{said}");
    assert!(!folder.path().join("data").exists(), "nothing was made");
}
