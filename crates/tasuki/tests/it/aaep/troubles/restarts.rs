//! The line or the server goes away while a question is open. Both sides reconnect over the same
//! line and resume: the answer counts, or the time has run out meanwhile.

use engine::ports::clock::{Clock, SystemClock};
use futures_util::future::join_all;
use protocol::time::Span;

use super::{Asked, LONG, is_on_record};
use crate::aaep::lines::branch::Branch;
use crate::aaep::lines::teller::Decided;
use crate::aaep::lines::{Line, Stage};

/// Long enough that all lines are at their question before the server goes.
const SECONDS_TO_ANSWER: u32 = 3;

impl Asked {
    /// Both sides come back. The agent, not sure what was recorded, asks again with the same bytes.
    async fn comes_back(mut self, branch: &Branch) -> Self {
        self.dana = self.dana.comes_back(branch).await;
        self.teller = self.stage.teller(branch).await;
        self.teller.tries(&self.sent).await.expect("what is recorded may be sent again");
        self
    }

    /// A connection has a new subscription now, and is asked on that. On other lines dana's token
    /// stays valid.
    async fn is_asked_again(&mut self) {
        if let Line::Connection(_) = self.stage.line {
            let was = self.question["reply_token"].clone();
            self.question = self.dana.hears_again(&self.sent["event_id"]).await;
            assert_ne!(self.question["reply_token"], was, "{:?}", self.stage.line);
            self.asked_on = self.dana.subscription().to_owned();
        }
    }
}

async fn asked_on_each_line(branch: &Branch, timeout_seconds: u32) -> Vec<Asked> {
    let asked = |line| Asked::open(branch, Stage::new(line), timeout_seconds);
    join_all(Line::ALL.map(asked)).await
}

#[tokio::test]
async fn a_question_outlives_a_line_that_breaks() {
    let branch = Branch::open().await;
    let asked = asked_on_each_line(&branch, LONG).await;
    are_answered(&branch, asked).await;
}

#[tokio::test]
async fn a_question_outlives_a_crash() {
    let mut branch = Branch::open().await;
    let asked = asked_on_each_line(&branch, LONG).await;
    branch.server.kill();
    branch.start_again();
    are_answered(&branch, asked).await;
}

#[tokio::test]
async fn a_question_outlives_a_stop() {
    let mut branch = Branch::open().await;
    let asked = asked_on_each_line(&branch, LONG).await;
    assert_eq!(branch.server.stop(), Some(0));
    branch.start_again();
    are_answered(&branch, asked).await;
}

async fn are_answered(branch: &Branch, asked: Vec<Asked>) {
    join_all(asked.into_iter().map(async |asked| {
        let mut asked = asked.comes_back(branch).await;
        asked.is_asked_again().await;
        asked.cannot_move_money().await;
        asked.is_open(branch, "nothing but a break").await;
        asked.answers("accept").await;
        assert_eq!(asked.decision().await, Decided::by("dana", "accept"), "{:?}", asked.stage);
        asked.answers("reject").await;
        asked.moves_money().await;
        is_on_record(branch, &asked.stage, &Decided::by("dana", "accept")).await;
    }))
    .await;
}

#[tokio::test]
async fn time_runs_while_the_server_is_down_and_runs_out_once() {
    let mut branch = Branch::open().await;
    let asked = asked_on_each_line(&branch, SECONDS_TO_ANSWER).await;
    join_all(asked.iter().map(|asked| asked.is_open(&branch, "nothing"))).await;
    branch.server.kill();
    SystemClock.sleep(Span::from_millis(i64::from(SECONDS_TO_ANSWER) * 1_000)).await;
    branch.start_again();
    let branch = &branch;
    join_all(asked.into_iter().map(async |asked| {
        let mut asked = asked.comes_back(branch).await;
        asked.answers("accept").await;
        assert_eq!(asked.decision().await, Decided::by_nobody(), "{:?}", asked.stage);
        asked.gives_up().await;
        is_on_record(branch, &asked.stage, &Decided::by_nobody()).await;
    }))
    .await;
}
