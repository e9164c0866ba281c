//! The connection of a chat: a client that retries after a break.

use anyhow::Result;
use engine::clock::{Clock, SystemClock};
use engine::ids::{Ids, RandomIds};
use protocol::time::Span;
use serde_json::Value;
use tokio::sync::watch;

use crate::client::{Call, Client, Refused};
use crate::output;

/// Chats are read by people: half a second is fast enough.
const LOOK_EVERY: Span = Span::from_millis(500);

/// A server that restarts is back within seconds; a server that is gone should be noticed.
const TRIES_MAX: u32 = 30;
const TRY_AGAIN: Span = Span::from_millis(1_000);

#[derive(Debug)]
pub struct Wire {
    pub client: Client,
    pub json: bool,
    /// Presses of Ctrl-C: the person can leave even while the server does not answer.
    interrupts: watch::Receiver<u32>,
}

impl Wire {
    pub fn new(client: Client, json: bool, interrupts: &watch::Receiver<u32>) -> Self {
        Self { client, json, interrupts: interrupts.clone() }
    }

    /// Retries until there is an answer. Every change has an idempotency key, so that it takes
    /// effect once however often it is sent.
    pub async fn ask(&self, mut call: Call) -> Result<Value> {
        if call.method != "GET" {
            call.key = Some(RandomIds.uuid(SystemClock.now()).to_string());
        }
        let mut n_tries = 0;
        loop {
            let answer = self.client.call(call.clone()).await;
            let error = match answer.and_then(|answer| answer.success()) {
                Ok(answer) if n_tries == 0 => return Ok(answer),
                Ok(answer) => {
                    output::remark("the server is back");
                    return Ok(answer);
                }
                Err(error) if !is_passing(&error) || n_tries >= TRIES_MAX => return Err(error),
                Err(error) => error,
            };
            if n_tries == 0 {
                output::remark("the server does not answer; trying again");
            }
            n_tries += 1;
            let mut interrupts = self.interrupts.clone();
            tokio::select! {
                () = SystemClock.sleep(TRY_AGAIN) => {}
                _ = interrupts.wait_for(|n_pressed| *n_pressed > 0) => return Err(error),
            }
        }
    }

    /// Like `ask`, but prints a refusal, and the chat goes on.
    pub async fn try_to(&self, call: Call) -> Result<Option<Value>> {
        match self.ask(call).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) => {
                let Some(refused) = error.downcast_ref::<Refused>() else { return Err(error) };
                let (detail, code) = (&refused.detail, &refused.code);
                output::remark(&output::clean(&format!("error: {detail} ({code})")));
                Ok(None)
            }
        }
    }
}

/// The answer; `None` if the request was refused.
pub fn unless_refused<T>(answered: Result<T>) -> Result<Option<T>> {
    match answered {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.downcast_ref::<Refused>().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether a retry may succeed in a moment.
fn is_passing(error: &anyhow::Error) -> bool {
    let passing = ["stopping", "overloaded", "unknown_outcome", "rate_limited"];
    let refused = error.downcast_ref::<Refused>();
    refused.is_none_or(|refused| passing.contains(&refused.code.as_str()))
}

/// Waits until the next poll.
pub async fn pause() {
    SystemClock.sleep(LOOK_EVERY).await;
}
