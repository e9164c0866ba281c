//! A recording that an agent announces at a server: with current times, and with questions that are
//! asked again.

use std::collections::HashMap;

use aaep::stamp::stamp;
use aaep::{CONTEXT, EXTENSION};
use anyhow::{Context, Result, bail};
use engine::ports::clock::{Clock, SystemClock};
use engine::ports::ids::{Ids, RandomIds};
use protocol::time::Time;
use serde_json::{Value, json};

use super::replay::{Recorded, ReplayedEvent, Speed};
use super::words::kind;
use crate::client::{Call, Client, Refused, percent_encode};
use crate::{exit_code, output};

/// How long one request waits for an answer.
const WAIT: &str = "20s";

/// Events that are sent together when there is no pause between them. The server takes 256.
const BATCH_EVENTS: usize = 64;

struct Producing {
    client: Client,
    agent: String,
    new_ids: bool,
    /// The new id for each id of the recording.
    names: HashMap<String, String>,
    /// Events of one session that were not sent yet.
    batch: Vec<Value>,
}

pub async fn run(
    client: Client,
    recording: Vec<Recorded>,
    speed: Speed,
    new_ids: bool,
) -> Result<u8> {
    let agent = crate::cli::own_name::own_name(&client).await?;
    let (names, batch) = (HashMap::new(), Vec::new());
    let mut producing = Producing { client, agent, new_ids, names, batch };
    let mut last: Option<Time> = None;
    let mut n_events = 0;
    for Recorded { at, said } in recording {
        // Recorded answers are skipped: the questions are answered again.
        let ReplayedEvent::Event { event, .. } = said else { continue };
        let pause = last.map(|last| at.since(last)).filter(|pause| pause.as_millis() > 0);
        if let (Some(pause), Speed::Times(_)) = (pause, speed) {
            producing.send().await?;
            speed.wait(pause).await;
        }
        last = Some(at);
        producing.add(event).await?;
        n_events += 1;
    }
    producing.send().await?;
    output::remark(&format!("{n_events} events announced"));
    Ok(exit_code::OK)
}

impl Producing {
    async fn add(&mut self, event: Value) -> Result<()> {
        let event = self.made_new(event);
        let is_same = self.batch.first().is_none_or(|it| it["session_id"] == event["session_id"]);
        if !is_same || self.batch.len() >= BATCH_EVENTS {
            self.send().await?;
        }
        if kind(&event) == "session.started" {
            let id = event["session_id"].as_str().unwrap_or_default();
            output::line(&output::clean(id));
        }
        let is_question =
            matches!(kind(&event), "awaiting.confirmation" | "awaiting.clarification");
        self.batch.push(event);
        if is_question {
            let event = self.batch.last().cloned().unwrap_or(Value::Null);
            self.send().await?;
            self.wait_for_answer(&event).await?;
        }
        Ok(())
    }

    /// The same event, with this agent and the current time.
    fn made_new(&mut self, mut event: Value) -> Value {
        event["producer"]["agent_id"] = self.agent.as_str().into();
        event["timestamp"] = stamp(SystemClock.now()).into();
        if !self.new_ids {
            return event;
        }
        for (field, prefix) in
            [("session_id", "sess_"), ("event_id", "evt_"), ("reply_token", "rpl_")]
        {
            if let Some(id) = event[field].as_str().map(str::to_owned) {
                let new = || format!("{prefix}{}", RandomIds.uuid(SystemClock.now()).simple());
                event[field] = self.names.entry(id).or_insert_with(new).as_str().into();
            }
        }
        // A new session is not linked to what the recorded session was linked to.
        let own = event.get_mut("extensions").and_then(|all| all.get_mut(EXTENSION));
        if let Some(own) = own.and_then(Value::as_object_mut) {
            own.remove("conversation_id");
            own.remove("parent_session_id");
        }
        event
    }

    async fn send(&mut self) -> Result<()> {
        let events = std::mem::take(&mut self.batch);
        let Some(first) = events.first().cloned() else { return Ok(()) };
        let sent = self.client.call(Call::post("/aaep/v1/events", Value::from(events))).await?;
        let Err(error) = sent.success() else { return Ok(()) };
        if error.downcast_ref::<Refused>().is_some() {
            self.cancel(&first).await;
        }
        Err(error).context("the recording does not fit any more")
    }

    /// Ends a session that cannot go on, in place of the first event that was not recorded. If that
    /// is refused too, the session stays as it is.
    async fn cancel(&self, first: &Value) {
        let mut cancelled = json!({
            "@context": CONTEXT,
            "type": "aaep:agent.session.cancelled",
            "event_id": format!("evt_{}", RandomIds.uuid(SystemClock.now()).simple()),
            "session_id": first["session_id"],
            "timestamp": stamp(SystemClock.now()),
            "producer": first["producer"],
            "cancelled_by": "producer",
            "summary_normal": "The replay ended: the recording went on in another way.",
        });
        if first["sequence_number"].is_u64() {
            cancelled["sequence_number"] = first["sequence_number"].clone();
        }
        let _ = self.client.call(Call::post("/aaep/v1/events", cancelled)).await;
    }

    async fn wait_for_answer(&self, question: &Value) -> Result<()> {
        let text = |name: &str| percent_encode(question[name].as_str().unwrap_or_default());
        let (session, token) = (text("session_id"), text("reply_token"));
        let path = format!("/aaep/v1/sessions/{session}/decisions/{token}?wait={WAIT}");
        output::remark("a question waits for its answer");
        loop {
            let decision = self.client.call(Call::get(path.as_str())).await?.success()?;
            let word = |name: &str| decision[name].as_str().map(output::clean);
            match word("status").as_deref() {
                Some("open") => {}
                Some(status) => {
                    let answer = word("decision").map(|it| format!(": {it}")).unwrap_or_default();
                    output::remark(&format!("{status}{answer}"));
                    return Ok(());
                }
                None => bail!("expected the result of the question"),
            }
        }
    }
}
