//! What a chat goes over: a client that tries again after a break.

use anyhow::Result;
use engine::clock::{Clock, SystemClock};
use engine::ids::{Ids, RandomIds};
use protocol::time::Span;
use serde_json::Value;
use tokio::sync::watch;

use crate::client::{Call, Client, Refused};
use crate::output;

/// Chats are read by people: half a second is soon.
const LOOK_EVERY: Span = Span::from_millis(500);

/// A server that is restarted is back within seconds; one that is gone should be noticed.
const TRIES_MAX: u32 = 30;
const TRY_AGAIN: Span = Span::from_millis(1_000);

#[derive(Debug)]
pub struct Wire {
    pub client: Client,
    pub json: bool,
    /// Whoever types wants to leave, also while nobody answers.
    interrupts: watch::Receiver<u32>,
}

impl Wire {
    pub fn new(client: Client, json: bool, interrupts: &watch::Receiver<u32>) -> Self {
        Self { client, json, interrupts: interrupts.clone() }
    }

    /// Asks until there is an answer. Whatever changes something has a key, so that it takes effect
    /// once however often it is sent.
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

    /// Asks; a refusal is said, and the chat goes on.
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

/// What was answered; nothing if it was refused.
pub fn unless_refused<T>(answered: Result<T>) -> Result<Option<T>> {
    match answered {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.downcast_ref::<Refused>().is_some() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the same request may be answered in a moment.
fn is_passing(error: &anyhow::Error) -> bool {
    let passing = ["stopping", "overloaded", "unknown_outcome", "rate_limited"];
    let refused = error.downcast_ref::<Refused>();
    refused.is_none_or(|refused| passing.contains(&refused.code.as_str()))
}

/// Until it is time to look again.
pub async fn pause() {
    SystemClock.sleep(LOOK_EVERY).await;
}
