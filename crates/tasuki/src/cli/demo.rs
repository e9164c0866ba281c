//! Sample data for the first start: two agents with a task on its way from one to the other, and a
//! customer who talks to a bot while a person is there to take over.

use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use crate::client::{Call, Client, Identity};
use crate::demo_bot::{AGENT_NAME, DESCRIPTION};
use crate::output;
use crate::scripted::AGENT_ID;

pub async fn fill(client: &Client, url: &str) -> Result<()> {
    let bob = json!({ "kind": "worker", "profile": {
        "name": AGENT_NAME,
        "description": DESCRIPTION,
        "user_selectable": true,
    } });
    ok(client, Call::put("/v1/agents/bob", bob)).await?;
    token(client, "alice", "worker").await?;
    let bob = token(client, "bob", "worker").await?;
    let alice = client.clone().with_identity(as_agent("alice"));
    let offer = json!({
        "to_agent": "bob",
        "reason": "Reviews are Bob's speciality.",
        "task": {
            "task_id": "DEMO-1",
            "title": "Review the retry logic of the payment client",
            "success_criteria": ["Every retry is idempotent", "The tests cover a timeout"],
        },
        "context": { "summary": "Two customers were charged twice when the gateway timed out." },
        "work_state": { "status": "in_progress", "next_step": "Read client.rs from line 80" },
    });
    let answer = ok(&alice, Call::post("/v1/handoffs", offer)).await?;
    let id = answer["handoff_id"].as_str().unwrap_or_default();
    output::remark(&next_steps(url, id, &bob));
    let chat = open_chat(client).await?;
    output::remark(&chat.next_steps(url));
    output::remark(&listening_steps(url, &chat.hana));
    Ok(())
}

/// How to hear the scripted agent with a token, and what to ask it for.
fn listening_steps(url: &str, token: &str) -> String {
    let transfer = json!({ "kind": "user_input", "text": "Transfer 500 dollars" });
    let messages = format!("{url}/aaep/compat/{AGENT_ID}/messages");
    format!(
        "A scripted agent announces what it does. Listen, as Hana, in a terminal:\n\n  \
         tasuki aaep listen --server {url} --token {token}\n\n\
         and ask it for a transfer, in the next:\n\n  \
         curl {messages} --header 'Authorization: Bearer {token}' \\\n    \
         --data '{transfer}'\n\n\
         It asks before it transfers anything. Answer where you listen, with: accept 1\n"
    )
}

/// How programs of other vendors hear the scripted agent, where it is open to them.
pub fn compat_steps(url: &str) -> String {
    let at = format!("{url}/aaep/compat/{AGENT_ID}");
    let transfer = json!({ "kind": "user_input", "text": "Transfer 500 dollars" });
    let yes = json!({ "type": "confirmation.reply", "reply_token": "rpl_…", "decision": "accept" });
    format!(
        "A scripted agent announces what it does. Listen, without a token, and ask it for a \
         transfer:\n\n  \
         curl --no-buffer {at}/events\n  \
         curl {at}/messages --data '{transfer}'\n\n\
         It waits for an answer, with the reply_token that you hear:\n\n  \
         curl {at}/messages --data '{yes}'\n"
    )
}

async fn ok(client: &Client, call: Call) -> Result<Value> {
    client.call(call).await?.success()
}

async fn token(client: &Client, agent: &str, kind: &str) -> Result<String> {
    let bearer = json!({ "agent": agent, "kind": kind });
    let answer = ok(client, Call::post("/v1/tokens", bearer)).await?;
    Ok(answer["token"].as_str().unwrap_or_default().to_owned())
}

fn as_agent(agent: &str) -> Identity {
    Identity { act_as: Some(agent.to_owned()), ..Identity::default() }
}

fn next_steps(url: &str, id: &str, bob: &str) -> String {
    format!(
        "Alice has proposed a task to Bob. Be Bob, in another terminal:\n\n  \
         export TASUKI_SERVER={url} TASUKI_TOKEN={bob}\n  \
         tasuki handoff show {id}\n  \
         tasuki handoff accept {id}\n  \
         tasuki handoff watch --after 0\n\n  \
         or: curl -H \"Authorization: Bearer $TASUKI_TOKEN\" {url}/v1/handoffs\n"
    )
}

/// The tokens of the first start are shown only once; the owner of the folder needs none.
pub fn steps_of_a_later_start(data: &Path) -> String {
    let data = in_a_shell(data);
    format!(
        "\nThe demo goes on. In other terminals, in the same folder, where TASUKI_TOKEN is not \
         set, be Bob, Hana, and a new customer:\n\n  \
         tasuki handoff list --data {data} --as bob\n  \
         tasuki chat --data {data} --as hana\n  \
         tasuki chat --data {data} --new --agent bob --customer-name Ana\n"
    )
}

/// A path as it is typed in a shell.
fn in_a_shell(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    match path.bytes().all(is_plain) {
        true => path.into_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

/// A customer's conversation with Bob, and Hana, who can take it over.
struct Chat {
    conversation: String,
    customer: String,
    hana: String,
}

async fn open_chat(client: &Client) -> Result<Chat> {
    ok(client, Call::put("/v1/agents/default", json!({ "kind": "queue" }))).await?;
    let hana = json!({ "kind": "human", "profile": { "name": "Hana" } });
    ok(client, Call::put("/v1/agents/hana", hana)).await?;
    let hana = token(client, "hana", "human").await?;
    let open = json!({ "agent": "bob", "customer": { "name": "Ana" } });
    let opened = ok(client, Call::post("/v1/conversations", open)).await?;
    let text = |name: &str| opened[name].as_str().unwrap_or_default().to_owned();
    Ok(Chat { conversation: text("conversation_id"), customer: text("customer_token"), hana })
}

impl Chat {
    fn next_steps(&self, url: &str) -> String {
        let Chat { conversation, customer, hana } = self;
        format!(
            "Ana talks to Bob, a bot. Be Hana, a person who can take over, in a terminal:\n\n  \
             tasuki chat --server {url} --token {hana}\n\n\
             and Ana, her customer, in the next. Ask Bob about your bill, then for a person:\n\n  \
             tasuki chat --server {url} --conversation {conversation} --token {customer}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_shown_as_it_is_typed() {
        for (path, expected) in [
            ("./tasuki-data", "./tasuki-data"),
            ("/srv/my data", "'/srv/my data'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(in_a_shell(Path::new(path)), expected);
        }
    }
}
