//! Many agents that stream at once: pieces of their answers wait to be batched, and nothing else
//! does.

use std::time::Duration;

use engine::aaep::announce::{JOINED_REQUESTS_MAX, TURN_WAIT_MAX, TURNS_AHEAD, session_stream};
use engine::ports::clock::Clock;
use engine::road::submit::{Done, SubmitError};
use protocol::ids::SessionId;
use protocol::session::event::Said;
use protocol::time::Span;
use serde_json::json;
use tokio::task::{JoinHandle, JoinSet};

use super::Server;
use super::deadlines::start_loops;
use super::sessions::{self, asks, bank, event, session, started, why};
use crate::support::{agent, operator};

/// So many entries are written without a wait, while the clock stands still.
const AT_ONCE: usize = TURNS_AHEAD as usize;

fn session_number(number: usize) -> SessionId {
    format!("sess_{number:016}").parse().expect("an id")
}

fn of(session_id: &SessionId, said: &Said) -> Said {
    let text = said.text().replace(session().as_str(), session_id.as_str());
    Said::new(text).expect("JSON")
}

/// A piece of an answer, four characters long.
fn piece(number: u32, complete: bool) -> Said {
    let output = json!({ "chunk": "and ", "position": (number - 1) * 4, "complete": complete });
    event(number, "output.streaming", output)
}

async fn with_sessions(n_sessions: usize) -> Server {
    let server = bank().await;
    let mut all = JoinSet::new();
    for number in 0..n_sessions {
        all.spawn(announce(&server, number, started(0)));
    }
    while let Some(began) = timely(all.join_next()).await {
        began.expect("no panic").expect("no panic").expect("a session opens");
    }
    server
}

fn announce(server: &Server, number: usize, said: Said) -> JoinHandle<Result<Done, SubmitError>> {
    let (engine, id) = (server.engine.clone(), session_number(number));
    tokio::spawn(async move {
        engine.sessions().announce(&agent("teller"), &id, vec![of(&id, &said)]).await
    })
}

/// Must be recorded by now.
async fn recorded(announced: JoinHandle<Result<Done, SubmitError>>) {
    timely(announced).await.expect("no panic").expect("it is recorded");
}

/// Nothing here takes long, unless it waits for a clock that the test does not move.
async fn timely<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), what).await.expect("it waits for ever")
}

/// Checks that it waits, while another session's event is recorded.
async fn asleep<T>(server: &Server, other: usize, waits: JoinHandle<T>) -> JoinHandle<T> {
    let said = event(1, "progress.updated", json!({ "progress": { "percent": 1 } }));
    recorded(announce(server, other, said)).await;
    assert!(!waits.is_finished(), "it does not wait");
    waits
}

/// How many events each entry of a session has.
async fn entries(server: &Server, number: usize) -> Vec<usize> {
    let stream = session_stream(&operator(), &session_number(number));
    let page = server.engine.sessions().session_events(&stream, None, 256).await.expect("a page");
    let (events, _) = page.expect("it begins at the beginning");
    let mut entries: Vec<(u64, usize)> = Vec::new();
    for placed in events {
        match entries.last_mut() {
            Some((sequence, n_events)) if *sequence == placed.cursor.sequence => *n_events += 1,
            _ => entries.push((placed.cursor.sequence, 1)),
        }
    }
    entries.into_iter().map(|(_, n_events)| n_events).collect()
}

#[tokio::test]
async fn a_few_are_recorded_as_fast_as_they_speak() {
    let server = with_sessions(AT_ONCE - 20).await;
    for number in 1..=20 {
        recorded(announce(&server, 3, piece(number, false))).await;
    }
    assert_eq!(entries(&server, 3).await, [1; 21]);
}

#[tokio::test]
async fn among_many_pieces_wait_for_more_until_it_is_their_turn() {
    for (n_beyond, wait) in [(20, Span::from_millis(20)), (400, TURN_WAIT_MAX)] {
        let server = with_sessions(AT_ONCE + n_beyond).await;
        let [first, second, third] =
            [1, 2, 3].map(|number| announce(&server, 3, piece(number, false)));
        let first = asleep(&server, 5, first).await;
        assert_eq!(entries(&server, 3).await, [1]);
        server.clock.advance(wait);
        for one in [first, second, third] {
            recorded(one).await;
        }
        assert_eq!(entries(&server, 3).await, [1, 3], "together");
        server.clock.advance(TURN_WAIT_MAX);
        recorded(announce(&server, 3, piece(4, false))).await;
    }
}

#[tokio::test]
async fn whatever_is_no_piece_takes_with_it_what_waits() {
    let begun = json!({ "tool": "look", "tool_call_id": "call_1" });
    let urgent = json!({
        "urgency": "critical", "chunk": "and ", "position": 4, "complete": false,
    });
    for (case, said) in [
        ("a tool is called", event(2, "tool.invoked", begun)),
        ("the answer ends", piece(2, true)),
        ("a piece is critical", event(2, "output.streaming", urgent)),
        ("a question is asked", asks(2, json!({}))),
    ] {
        let server = with_sessions(AT_ONCE + 20).await;
        let waits = asleep(&server, 5, announce(&server, 3, piece(1, false))).await;
        recorded(announce(&server, 3, said)).await;
        recorded(waits).await;
        assert_eq!(entries(&server, 3).await, [1, 2], "{case}: in one entry, in order");
    }
}

#[tokio::test]
async fn what_fills_an_entry_waits_for_nothing() {
    let server = with_sessions(AT_ONCE + 20).await;
    let all: Vec<_> = (1..=150).map(|number| announce(&server, 3, piece(number, false))).collect();
    let mut waits = Vec::new();
    for (at, one) in all.into_iter().enumerate() {
        match at < 2 * JOINED_REQUESTS_MAX {
            true => recorded(one).await,
            false => waits.push(one),
        }
    }
    // There was more than one entry holds, so the rest went along.
    for one in waits {
        recorded(one).await;
    }
    assert_eq!(entries(&server, 3).await, [1, 64, 64, 22]);
    let few: Vec<_> =
        (151..=170).map(|number| announce(&server, 3, piece(number, false))).collect();
    let last = few.into_iter().next_back().expect("there are some");
    let last = asleep(&server, 5, last).await;
    server.engine.sessions().hurry(&agent("teller"), &session_number(3));
    recorded(last).await;
    assert_eq!(
        entries(&server, 3).await,
        [1, 64, 64, 22, 20],
        "the waiting pieces are recorded at once"
    );
}

#[tokio::test]
async fn a_clock_that_is_set_back_holds_nobody_up() {
    let server = with_sessions(AT_ONCE + 20).await;
    let waits = asleep(&server, 5, announce(&server, 3, piece(1, false))).await;
    let now = server.clock.now();
    server.clock.set(now.plus(Span::from_hours(1)));
    recorded(waits).await;
    server.clock.set(now);
    let waits = asleep(&server, 6, announce(&server, 3, piece(2, false))).await;
    server.clock.set(now.plus(TURN_WAIT_MAX));
    recorded(waits).await;
}

#[tokio::test]
async fn what_waits_is_recorded_when_the_engine_stops() {
    let server = with_sessions(AT_ONCE + 20).await;
    let loops = start_loops(&server);
    let waits = asleep(&server, 5, announce(&server, 3, piece(1, false))).await;
    timely(loops.stop()).await;
    assert_eq!(entries(&server, 3).await, [1, 1], "before the last checkpoint");
    recorded(waits).await;
}

#[tokio::test]
async fn a_piece_that_is_refused_is_refused_alone() {
    let server = with_sessions(AT_ONCE + 20).await;
    let fine = announce(&server, 3, piece(1, false));
    let wrong = announce(&server, 3, piece(7, false));
    let next = announce(&server, 3, piece(2, false));
    let next = asleep(&server, 5, next).await;
    server.clock.advance(TURN_WAIT_MAX);
    recorded(fine).await;
    recorded(next).await;
    timely(wrong).await.unwrap().expect_err("it skips what was never said");
    assert_eq!(entries(&server, 3).await, [1, 2]);
}

#[tokio::test]
async fn an_output_that_is_complete_stays_so() {
    let server = bank().await;
    let chunk = |number, complete| {
        let chunk = json!({
            "chunk": "a", "position": 0, "complete": complete, "output_id": "out_1",
        });
        event(number, "output.streaming", chunk)
    };
    sessions::announce(&server, vec![started(1), chunk(2, true)]).await.expect("an output");
    assert_eq!(why(&sessions::announce(&server, vec![chunk(3, false)]).await), "0 output_id");
}
