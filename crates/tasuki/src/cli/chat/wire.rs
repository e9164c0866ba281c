//! The connection of a chat: a client that retries after a break.

use anyhow::Result;
use engine::ports::clock::{Clock, SystemClock};
use engine::ports::ids::{Ids, RandomIds};
use protocol::time::{Span, Time};
use serde_json::Value;
use tokio::sync::watch;

use crate::client::{Answer, Call, Client, Refused};
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

    /// The answer, or the refusal as an error.
    pub async fn ask(&self, call: Call) -> Result<Value> {
        self.answer(call).await?.success()
    }

    /// Like `ask`, but prints a refusal, and the chat goes on.
    pub async fn try_to(&self, call: Call) -> Result<Option<Value>> {
        let answer = self.answer(call).await?;
        let closed = closed_queue(&answer.body, SystemClock.now());
        match answer.success() {
            Ok(answer) => Ok(Some(answer)),
            Err(error) => {
                let Some(refused) = error.downcast_ref::<Refused>() else { return Err(error) };
                let (detail, code) = (&refused.detail, &refused.code);
                let told = closed.unwrap_or_else(|| format!("error: {detail} ({code})"));
                output::remark(&output::clean(&told));
                Ok(None)
            }
        }
    }

    /// Retries until there is an answer. Every change has an idempotency key, so that it takes
    /// effect once however often it is sent.
    async fn answer(&self, mut call: Call) -> Result<Answer> {
        if call.method != "GET" {
            call.key = Some(RandomIds.uuid(SystemClock.now()).to_string());
        }
        let mut n_tries = 0;
        loop {
            let answered = self.client.call(call.clone()).await;
            let is_done = answered.as_ref().is_ok_and(is_final);
            if is_done && n_tries > 0 {
                output::remark("the server is back");
            }
            if is_done || n_tries >= TRIES_MAX {
                return answered;
            }
            if n_tries == 0 {
                output::remark("the server does not answer; trying again");
            }
            n_tries += 1;
            let mut interrupts = self.interrupts.clone();
            tokio::select! {
                () = SystemClock.sleep(TRY_AGAIN) => {}
                _ = interrupts.wait_for(|n_pressed| *n_pressed > 0) => return answered,
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

/// Whether a retry would be answered in the same way.
fn is_final(answer: &Answer) -> bool {
    let passing = ["", "stopping", "overloaded", "unknown_outcome", "rate_limited"];
    answer.status < 300 || !passing.contains(&answer.body["code"].as_str().unwrap_or_default())
}

/// The refusal of a queue that is closed, in words for customers, too.
fn closed_queue(problem: &Value, now: Time) -> Option<String> {
    if problem["code"] != "queue_closed" {
        return None;
    }
    let opens_at = problem["opens_at"].as_str().and_then(|at| at.parse::<Time>().ok());
    let again =
        opens_at.map(|at| format!("; it opens again {}, at {at}", output::relative(at, now)));
    Some(format!("the queue is closed, so no person can be asked{}", again.unwrap_or_default()))
}

/// Waits until the next poll.
pub async fn pause() {
    SystemClock.sleep(LOOK_EVERY).await;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_closed_queue_is_told_with_the_time_at_which_it_opens() {
        let now = "2026-01-01T00:00:00.000Z".parse::<Time>().unwrap();
        let cases = [
            (
                json!({ "code": "queue_closed", "opens_at": "2026-01-01T09:00:00.000Z" }),
                Some(
                    "the queue is closed, so no person can be asked; it opens again in 9 h, at \
                     2026-01-01T09:00:00.000Z",
                ),
            ),
            (
                json!({ "code": "queue_closed", "opens_at": null }),
                Some("the queue is closed, so no person can be asked"),
            ),
            (json!({ "code": "wrong_state" }), None),
        ];
        for (problem, expected) in cases {
            assert_eq!(closed_queue(&problem, now).as_deref(), expected, "{problem}");
        }
    }
}
