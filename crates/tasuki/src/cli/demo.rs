//! Something to look at on the first start: two agents and a task on its way from one to the other.

use anyhow::Result;
use serde_json::json;

use crate::client::{Call, Client, Identity};
use crate::output;

pub async fn fill(client: &Client, url: &str) -> Result<()> {
    let mut tokens = Vec::new();
    for agent in ["alice", "bob"] {
        let call = Call::post("/v1/tokens", json!({ "agent": agent }));
        let answer = client.call(call).await?.success()?;
        tokens.push(answer["token"].as_str().unwrap_or_default().to_owned());
    }
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
    let answer = alice.call(Call::post("/v1/handoffs", offer)).await?.success()?;
    let id = answer["handoff_id"].as_str().unwrap_or_default();
    output::remark(&next_steps(url, id, &tokens[1]));
    Ok(())
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
