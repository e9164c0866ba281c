//! Connections that send nothing, half a header, or a byte now and then: all of them are closed,
//! and meanwhile other callers are answered as before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::ports::clock::Stopwatch;
use serde_json::json;
use tasuki::client::Call;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::server::{Server, is_full_run, offer, ok, raise_open_files};
use crate::wire::{Line, Request};

/// The limits, whatever the number of connections.
const CLOSED_WITHIN_SECONDS: f64 = 10.0;
const SLOWDOWN_MAX: f64 = 2.0;

/// When to stop waiting for a connection to be closed, and fail.
const GIVE_UP: Duration = Duration::from_secs(20);

const GOOD_CALLERS: usize = 4;

/// The pace of a good caller. Much slower than the server, so that the server is measured and not
/// the queue in front of it.
const PACE: Duration = Duration::from_millis(10);

/// Samples of each good caller before the slow ones come. Enough for a 99th percentile.
const SAMPLES: usize = 250;

/// A body that was announced counts before it is read: one that never ends would hold its memory.
#[tokio::test]
async fn a_body_beyond_the_quota_is_not_waited_for() {
    let server = Server::start();
    let shop = server.agent("shop");
    server.agent("bob");
    let opened = ok(&shop, Call::post("/v1/conversations", json!({ "agent": "bob" }))).await;
    let token = opened["customer_token"].as_str().expect("a token");
    let path =
        format!("/v1/conversations/{}/messages", opened["conversation_id"].as_str().unwrap());
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: tasuki\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 1000000\r\n\r\n{{"
    );
    let mut asked = JoinSet::new();
    for _ in 0..28 {
        let mut line = TcpStream::connect(server.address()).await.expect("a connection");
        line.write_all(head.as_bytes()).await.expect("it is taken");
        asked.spawn(async move {
            let mut answer = [0; 12];
            line.read_exact(&mut answer).await.expect("it is answered");
            (answer, line)
        });
    }
    // The share of a minute is 16 MiB, and a little comes back meanwhile. The others wait for the
    // rest of their bodies.
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let (answer, line) = asked.join_next().await.expect("one more").expect("no panic");
        assert_eq!(&answer, b"HTTP/1.1 429");
        waiting.push(line);
    }
    // Without an announced length, what has arrived counts.
    let head = head.replace("content-length: 1000000", "transfer-encoding: chunked");
    let mut line = TcpStream::connect(server.address()).await.expect("a connection");
    let chunk = format!("{}{:x}\r\n", head.trim_end_matches('{'), 900_000);
    line.write_all(chunk.as_bytes()).await.expect("it is taken");
    // The server may have refused it before all of it is sent.
    let _ = line.write_all(&vec![b' '; 900_000]).await;
    let mut answer = [0; 12];
    line.read_exact(&mut answer).await.expect("it is refused at once");
    assert_eq!(&answer, b"HTTP/1.1 429");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_and_silent_connections_are_closed_and_others_do_not_notice() {
    raise_open_files();
    let n_slow = if is_full_run() { 1_000 } else { 300 };
    let server = Server::start();
    let token = server.token("alice", &[]);
    server.token("bob", &[]);
    let calm = Arc::new(AtomicBool::new(true));
    let before = good_callers(&server, &token, "before", &calm).await;
    calm.store(false, Ordering::Relaxed);
    let (slow, during) = tokio::join!(
        async {
            let mut slow = JoinSet::new();
            for number in 0..n_slow {
                slow.spawn(be_slow(server.address().to_owned(), number));
            }
            let seconds = slow.join_all().await;
            calm.store(true, Ordering::Relaxed);
            seconds
        },
        good_callers(&server, &token, "during", &calm),
    );

    let longest = slow.iter().copied().fold(0.0, f64::max);
    let (before, during) = (p99(before), p99(during));
    let ratio = during / before;
    println!(
        "{n_slow} slow connections closed after at most {longest:.1} s; others' p99 {:.2} ms \
         before, {:.2} ms during: {ratio:.2} times",
        before * 1e3,
        during * 1e3,
    );
    assert_eq!(slow.len(), n_slow);
    assert!(longest < CLOSED_WITHIN_SECONDS, "one was closed after {longest} s");
    assert!(!is_full_run() || ratio <= SLOWDOWN_MAX, "{ratio:.2} times slower");
}

/// The result if the server waited for request heads without a limit.
#[tokio::test]
async fn a_server_that_waits_for_ever_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("data"), |command| {
        command.env("TASUKI_LIMITS_HEADER_READ_MS", "60000");
    });
    let address = server.address().to_owned();
    let patience = Duration::from_secs(6);
    let closing = tokio::time::timeout(patience, be_slow(address, 1));
    closing.await.expect_err("nothing closes it");
}

/// Well-behaved callers. Each takes its samples, and goes on until it is calm. Returns the seconds
/// each request took.
pub async fn good_callers(
    server: &Server,
    token: &str,
    round: &'static str,
    calm: &Arc<AtomicBool>,
) -> Vec<f64> {
    let mut callers = JoinSet::new();
    for caller in 0..GOOD_CALLERS {
        let (address, token) = (server.address().to_owned(), token.to_owned());
        let calm = Arc::clone(calm);
        callers.spawn(async move {
            let mut line = Line::open(&address).await;
            let mut pace = tokio::time::interval(PACE);
            let mut seconds = Vec::new();
            while seconds.len() < SAMPLES || !calm.load(Ordering::Relaxed) {
                pace.tick().await;
                let task = format!("{round}-{caller}-{}", seconds.len());
                let request = match seconds.len() % 2 {
                    0 => Request::new("POST /v1/handoffs").json(&offer(&task, "bob")),
                    _ => Request::new("GET /v1/handoffs?limit=5"),
                };
                let stopwatch = Stopwatch::start();
                let answer = line.ask(&request.token(&token)).await;
                seconds.push(stopwatch.seconds());
                assert!(answer.status < 300, "{}: {:?}", answer.status, answer.json());
            }
            seconds
        });
    }
    callers.join_all().await.concat()
}

/// Opens a connection, sends less than a request, and returns after how many seconds the other side
/// closed it.
async fn be_slow(address: String, number: usize) -> f64 {
    let stopwatch = Stopwatch::start();
    let mut stream = TcpStream::connect(&address).await.expect("the server accepts");
    let beginning: &[u8] = match number % 4 {
        0 => b"",
        1 => b"GET /v1/hand",
        2 => b"POST /v1/handoffs HTTP/1.1\r\nhost: tasuki\r\ncontent-le",
        _ => b"GET /healthz HTTP/1.1\r\nx-slow: ",
    };
    stream.write_all(beginning).await.expect("it is open at first");
    let (mut reading, mut writing) = stream.into_split();
    let trickle = async {
        let mut pace = tokio::time::interval(Duration::from_millis(500));
        // One in four sends a byte at a time: there is progress, but no end.
        while number % 4 == 3 && writing.write_all(b"a").await.is_ok() {
            pace.tick().await;
        }
        std::future::pending::<()>().await
    };
    let closed = async {
        let mut answer = Vec::new();
        // Closed or reset, it is over either way.
        let _ = reading.read_to_end(&mut answer).await;
    };
    tokio::select! {
        () = closed => {}
        () = trickle => {}
        // Long past the limit: it will not be closed any more.
        _ = tokio::time::timeout(GIVE_UP, std::future::pending::<()>()) => {}
    }
    stopwatch.seconds()
}

pub fn p99(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() * 99 / 100]
}

/// A request that is refused before its body is read ends the connection, and the answer says so:
/// otherwise a client would send its next request into the void.
#[tokio::test]
async fn an_answer_that_leaves_a_body_unread_closes_the_connection() {
    let server = Server::start();
    for (path, token) in [("/v1/nothing", ""), ("/v1/handoffs", "authorization: Bearer x\r\n")] {
        let mut stream = TcpStream::connect(server.address()).await.expect("the server listens");
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\n{token}content-type: application/json\r\n\
             content-length: 2\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("it is sent");
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let read = tokio::time::timeout(GIVE_UP, read).await.expect("the connection ends");
        read.expect("it is read");
        let answer = String::from_utf8_lossy(&answer).to_lowercase();
        assert!(answer.contains("connection: close"), "{path}: {answer}");
    }
}
