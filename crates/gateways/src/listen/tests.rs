//! Over real sockets on the loopback, with short limits. Clients are written by hand, byte by
//! byte: what is tested is what a well-behaved client library would never do.

mod stage;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use super::*;
use crate::tls::tests::MadeFiles;
use stage::{Client, Server, limits, unused_address};

/// Longer than anything here takes, even on a busy machine; a test that waits this long failed.
const LONG: Duration = Duration::from_millis(LONG_MS);

const LONG_MS: u64 = 10_000;

const BODY_BYTES_MAX: usize = 1_000;

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let server = Server::start(limits(|limits| limits.header_read_ms_max = 200)).await;
    let mut client = server.connect().await;
    client.stays_open_for(Duration::from_millis(100)).await;
    assert_eq!(client.until_closed().await, "");
    server.reached(|counts| counts.timed_out_total() == 1 && counts.open() == 0).await;
}

#[tokio::test]
async fn half_a_head_is_closed_even_if_it_keeps_growing() {
    let server = Server::start(limits(|limits| limits.header_read_ms_max = 200)).await;
    let mut client = server.connect().await;
    client.send("GET /hello HTTP/1.1\r\nHost: x\r\nX-Slow: ").await;
    let growing = async {
        let pause = Duration::from_millis(20);
        // Writing fails once the server has closed, which is what reading waits for.
        while tokio::time::timeout(pause, client.0.read_u8()).await.is_err() {
            let _ = client.0.write_all(b"a").await;
        }
    };
    tokio::time::timeout(LONG / 2, growing).await.expect("it was closed");
    server.reached(|counts| counts.timed_out_total() == 1 && counts.open() == 0).await;
}

#[tokio::test]
async fn a_slow_body_is_refused_and_closed() {
    let server = Server::start(limits(|limits| limits.body_read_ms_max = 200)).await;
    let mut client = server.connect().await;
    client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc").await;
    let said = client.until_closed().await;
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
}

#[tokio::test]
async fn a_refused_body_does_not_cost_its_sender_the_answer() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut client = server.connect().await;
    let n_bytes = 4 << 20;
    client.send(&format!("POST /echo HTTP/1.1\r\nContent-Length: {n_bytes}\r\n\r\n")).await;
    client.0.write_all(&vec![b'a'; n_bytes]).await.expect("the server listens to the end");
    let said = client.until_closed().await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
}

/// hyper reads lengths before any handler runs. With both a length and chunks it goes by the chunks
/// and closes, so that nothing after them is taken for a request; the handler is told. hyper
/// answers lengths beyond all bodies itself.
#[tokio::test]
async fn a_doubtful_length_ends_the_connection() {
    let server = Server::start(ConnectionLimits::default()).await;
    let smuggled = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    let chunked = "Transfer-Encoding: chunked\r\n";
    for (lengths, body, status) in [
        (format!("Content-Length: 3\r\n{chunked}"), "0\r\n\r\n", "400"),
        (format!("{chunked}Content-Length: 3\r\n"), "0\r\n\r\n", "400"),
        (format!("{chunked}Content-Length: x\r\n"), "0\r\n\r\n", "400"),
        ("Content-Length: 3\r\nContent-Length: 4\r\n".to_owned(), "abc", "400"),
        ("Content-Length: 18446744073709551613\r\n".to_owned(), "", "413"),
        ("Content-Length: 18446744073709551615\r\n".to_owned(), "", "431"),
        ("Content-Length: 18446744073709551616\r\n".to_owned(), "", "400"),
        ("Content-Length: -1\r\n".to_owned(), "", "400"),
    ] {
        let mut client = server.connect().await;
        let head = format!("POST /echo HTTP/1.1\r\nHost: x\r\n{lengths}\r\n");
        client.send(&format!("{head}{body}{smuggled}")).await;
        let said = client.until_closed().await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{lengths}: {said}");
        assert_eq!(said.matches("HTTP/1.1").count(), 1, "{lengths}: {said}");
    }
}

#[tokio::test]
async fn a_doubtful_length_is_noticed_after_other_requests_and_not_in_them() {
    let server = Server::start(ConnectionLimits::default()).await;
    let both = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\
                Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let chunked = both.replace("Content-Length: 3\r\n", "");
    let counted = format!("POST /echo HTTP/1.1\r\nContent-Length: {}\r\n\r\n{both}", both.len());
    let pipelined = format!("{chunked}{counted}{chunked}{both}");
    let mut client = server.connect().await;
    client.send(&pipelined).await;
    let said = client.until_closed().await;
    let statuses: Vec<&str> = said.split("HTTP/1.1 ").skip(1).map(|said| &said[..3]).collect();
    assert_eq!(statuses, ["200", "200", "200", "400"], "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_body_without_an_end_is_not_listened_to_forever() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut client = server.connect().await;
    client.send("POST /echo HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n").await;
    let piece = vec![b'a'; 1 << 20];
    let sending = async { while client.0.write_all(&piece).await.is_ok() {} };
    tokio::time::timeout(LONG, sending).await.expect("the server closed");
    server.reached(|counts| counts.open() == 0).await;
}

#[tokio::test]
async fn a_handler_that_does_not_answer_is_given_up() {
    let server = Server::start(limits(|limits| limits.request_ms_max = 100)).await;
    let mut client = server.connect().await;
    client.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let said = client.until_closed().await;
    let (head, body) = said.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 503 "), "{said}");
    for line in ["connection: close", "content-type: application/problem+json"] {
        assert!(head.lines().any(|said| said == line), "{line}: {said}");
    }
    assert!(body.contains(r#""code":"unknown_outcome""#), "{said}");
    assert_eq!(server.counts.timed_out_total(), 1);
    // On a path whose answers have a shape of their own, this answer has it too.
    let mut client = server.connect().await;
    client.send("POST /v1/acp/handoff HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let said = client.until_closed().await;
    assert!(said.ends_with('}') && said.contains(r#"{"success":false,"error":{"code":"#), "{said}");
}

#[tokio::test]
async fn a_reader_that_takes_nothing_is_closed() {
    let server = Server::start(limits(|limits| limits.write_stall_ms_max = 200)).await;
    let mut client = server.connect().await;
    client.send("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n").await;
    server.reached(|counts| counts.accepted_total() == 1 && counts.open() == 0).await;
    assert_eq!(server.counts.timed_out_total(), 1);
}

#[tokio::test]
async fn a_stream_may_outlive_every_limit_as_long_as_it_is_read() {
    let server = Server::start(ConnectionLimits {
        header_read_ms_max: 200,
        request_ms_max: 200,
        keep_alive_ms_max: 200,
        write_stall_ms_max: 200,
        ..ConnectionLimits::default()
    })
    .await;
    let mut client = server.connect().await;
    client.send("GET /ticks HTTP/1.1\r\nHost: x\r\n\r\n").await;
    for _ in 0..3 {
        client.until("tick\r\n").await;
        client.stays_open_for(Duration::from_millis(300)).await;
        server.hold.add_permits(1);
    }
}

#[tokio::test]
async fn a_kept_connection_is_used_again_and_may_rest_longer_than_a_head_may_take() {
    let server = Server::start(limits(|limits| limits.header_read_ms_max = 100)).await;
    let mut client = server.connect().await;
    for _ in 0..3 {
        assert_eq!(client.ask("/hello").await, "hello");
        client.stays_open_for(Duration::from_millis(250)).await;
    }
    assert_eq!(server.counts.accepted_total(), 1);
    // Once begun, the head of the fourth request has the same timeout as that of the first.
    client.send("GET /hel").await;
    assert_eq!(client.until_closed().await, "");
    server.reached(|counts| counts.timed_out_total() == 1 && counts.open() == 0).await;
}

#[tokio::test]
async fn a_kept_connection_does_not_rest_forever() {
    let server = Server::start(limits(|limits| limits.keep_alive_ms_max = 100)).await;
    let mut client = server.connect().await;
    assert_eq!(client.ask("/hello").await, "hello");
    assert_eq!(client.until_closed().await, "");
    server.reached(|counts| counts.open() == 0).await;
    assert_eq!(server.counts.timed_out_total(), 0, "resting is no offence");
}

#[tokio::test]
async fn requests_sent_together_are_answered_in_order() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut client = server.connect().await;
    let post = "POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
    let get = "GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n";
    client.send(&format!("{post}{get}")).await;
    let said = client.until_closed().await;
    let (first, second) = said.split_once("abc").expect("the first answer");
    assert!(first.starts_with("HTTP/1.1 200 ") && second.ends_with("hello"), "{said}");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut client = server.connect().await;
    client.send(&format!("GET /hello HTTP/1.1\r\nX-Long: {}\r\n\r\n", "a".repeat(20_000))).await;
    client.until("HTTP/1.1 431 ").await;
}

#[tokio::test]
async fn over_the_maximum_a_connection_is_shed_and_a_freed_place_is_used() {
    let server = Server::start(limits(|limits| limits.connections_max = 2)).await;
    let mut first = server.connect().await;
    let mut second = server.connect().await;
    assert_eq!(first.ask("/hello").await, "hello");
    assert_eq!(second.ask("/hello").await, "hello");
    let mut third = server.connect().await;
    assert_eq!(third.until_closed().await, "");
    assert_eq!(server.counts.shed_total(), 1);
    assert_eq!(first.ask("/hello").await, "hello");

    drop(second);
    server.reached(|counts| counts.open() == 1).await;
    let mut fourth = server.connect().await;
    assert_eq!(fourth.ask("/hello").await, "hello");
}

#[tokio::test]
async fn one_address_at_its_maximum_does_not_shut_out_another() {
    let server = Server::start(limits(|limits| limits.connections_per_address_max = 1)).await;
    let mut first = server.connect().await;
    assert_eq!(first.ask("/hello").await, "hello");
    let mut second = server.connect().await;
    assert_eq!(second.until_closed().await, "");

    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.2:0".parse().expect("an address")).expect("a second loopback address");
    let mut other = Client(socket.connect(server.address).await.expect("a connection"));
    assert_eq!(other.ask("/peer").await, "127.0.0.2 local=false");
    assert_eq!(server.counts.shed_total(), 1);
}

#[tokio::test]
async fn stopping_finishes_what_is_in_flight_and_closes_what_rests() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut resting = server.connect().await;
    assert_eq!(resting.ask("/hello").await, "hello");
    let mut posted = server.connect().await;
    posted.send("POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").await;
    posted.until("abc").await;
    let mut silent = server.connect().await;
    let mut busy = server.connect().await;
    busy.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n").await;
    server.is_held().await;
    server.reached(|counts| counts.open() == 4).await;

    server.stop.send_replace(true);
    assert_eq!(resting.until_closed().await, "");
    assert_eq!(posted.until_closed().await, "");
    assert_eq!(silent.until_closed().await, "");
    TcpStream::connect(server.address).await.expect_err("the port is closed");
    assert!(!server.task.is_finished(), "one request is in flight");

    server.hold.add_permits(1);
    let said = busy.until_closed().await;
    assert!(said.starts_with("HTTP/1.1 200 ") && said.ends_with("held"), "{said}");
    server.ended().await;
}

#[tokio::test]
async fn what_does_not_finish_is_cut_off_when_draining_took_too_long() {
    let server = Server::start(limits(|limits| limits.drain_ms_max = 100)).await;
    let mut busy = server.connect().await;
    busy.send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n").await;
    server.is_held().await;
    server.stop.send_replace(true);
    assert_eq!(busy.until_closed().await, "");
    server.ended().await;
}

#[tokio::test]
async fn a_server_whose_owner_is_gone_stops() {
    let Server { stop, task, .. } = Server::start(ConnectionLimits::default()).await;
    drop(stop);
    tokio::time::timeout(LONG, task).await.expect("it stopped").expect("no panic");
}

#[tokio::test]
async fn a_panic_ends_its_own_connection_only() {
    let server = Server::start(ConnectionLimits::default()).await;
    let mut bystander = server.connect().await;
    assert_eq!(bystander.ask("/hello").await, "hello");
    let mut client = server.connect().await;
    client.send("GET /panic HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(client.until_closed().await, "");
    assert_eq!(bystander.ask("/hello").await, "hello");
    server.reached(|counts| counts.open() == 1).await;
}

#[tokio::test]
async fn an_upgraded_connection_keeps_its_place() {
    let server = Server::start(limits(|limits| limits.connections_max = 1)).await;
    let mut client = server.connect().await;
    client.send("GET /upgrade HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n").await;
    client.until("\r\n\r\n").await;
    client.send("ping").await;
    client.until("ping").await;
    let mut second = server.connect().await;
    assert_eq!(second.until_closed().await, "");
    drop(client);
    server.reached(|counts| counts.open() == 0).await;
}

#[tokio::test]
async fn tls_carries_requests_and_agrees_on_http_1() {
    let made = MadeFiles::new("listen");
    let server = Server::start_tls(&made, ConnectionLimits::default()).await;
    let (mut client, alpn) = server.connect_tls(&made).await;
    assert_eq!(alpn.as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(client.ask("/peer").await, "127.0.0.1 local=false");
    assert_eq!(client.ask("/hello").await, "hello");
    server.stop.send_replace(true);
    assert_eq!(client.until_closed().await, "");
    server.ended().await;
}

#[tokio::test]
async fn a_tls_handshake_that_does_not_come_is_closed() {
    let made = MadeFiles::new("listen-silent");
    let server = Server::start_tls(&made, limits(|limits| limits.header_read_ms_max = 200)).await;
    let mut silent = server.connect().await;
    assert_eq!(silent.until_closed().await, "");
    server.reached(|counts| counts.timed_out_total() == 1 && counts.open() == 0).await;

    let (mut shaken, _) = server.connect_tls(&made).await;
    assert_eq!(shaken.until_closed().await, "");
    server.reached(|counts| counts.timed_out_total() == 2 && counts.open() == 0).await;
}

#[tokio::test]
async fn a_peer_on_the_unix_socket_is_local() {
    let path = std::env::temp_dir().join(format!("tasuki-listen-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let endpoint = Endpoint::Unix(UnixListener::bind(&path).expect("a socket"));
    let server = Server::start_at(endpoint, unused_address(), ConnectionLimits::default());
    let mut client = Client(UnixStream::connect(&path).await.expect("a connection"));
    assert_eq!(client.ask("/peer").await, "none local=true");
    server.stop.send_replace(true);
    assert_eq!(client.until_closed().await, "");
    server.ended().await;
    let _ = std::fs::remove_file(&path);
}

#[test]
fn only_a_shortage_makes_the_loop_pause() {
    let (emfile, enfile, enobufs, enomem) = (24, 23, 105, 12);
    for shortage in [emfile, enfile, enobufs, enomem] {
        let error = io::Error::from_raw_os_error(shortage);
        assert!(!concerns_one_connection(&error), "{error}");
    }
    let (econnaborted, econnreset, eintr, ehostunreach) = (103, 104, 4, 113);
    for passing in [econnaborted, econnreset, eintr, ehostunreach] {
        let error = io::Error::from_raw_os_error(passing);
        assert!(concerns_one_connection(&error), "{error}");
    }
}
