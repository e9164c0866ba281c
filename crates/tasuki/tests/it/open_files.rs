//! A flood of connections leaves file descriptors for everything else: commits, seals, logs, and
//! the control socket.

use std::process::{Command, Stdio};

use store::sqlite::ReadOnly;
use tasuki::client::{Call, Client, Identity};
use tasuki::node::control_socket;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::server::{Server, initiate, ok, raise_open_files};

/// Low enough to be used up in a moment.
const OPEN_FILES: usize = 192;

#[tokio::test]
async fn a_flood_of_connections_stops_neither_seals_nor_logs() {
    raise_open_files();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start_on(&data, |command| {
        // No connection of the flood shall end by itself.
        limit_open_files(command.env("TASUKI_LIMITS_HEADER_READ_MS", "600000"));
    });
    server.agent("alice");
    server.agent("bob");
    let mut flood = Vec::new();
    for _ in 0..2 * OPEN_FILES {
        flood.push(TcpStream::connect(server.address()).await.expect("the system accepts it"));
    }
    // By a close, or by a reset.
    let last = flood.last_mut().expect("there are many").read_u8().await;
    assert!(last.is_err(), "there is no place for the last one");
    let identity = Identity { act_as: Some("alice".to_owned()), ..Identity::default() };
    let local = Client::socket(control_socket(&data));
    let alice = Client::socket(control_socket(&data)).with_identity(identity);
    let handoff = initiate(&alice, "T-1", "bob").await;
    assert_eq!(ok(&local, Call::get("/readyz")).await["status"], "ready");
    let log = data.join("teamspaces/default/handoffs/handoffs.jsonl");
    while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains(&handoff)) {
        tokio::task::yield_now().await;
    }
    let store = ReadOnly::open(&data).unwrap();
    while store.sealed().unwrap().is_none_or(|sealed| sealed.size < store.newest().unwrap()) {
        tokio::task::yield_now().await;
    }
    let doctor = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["doctor", "--data"])
        .arg(&data)
        .output()
        .expect("the executable runs");
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.status.success() && said.contains("running and ready"), "{said}");
    drop(flood);
    assert_eq!(server.stop(), Some(0));
    let log = server.log();
    let errors: Vec<_> = log.iter().filter(|line| line["level"] == "ERROR").collect();
    assert!(errors.is_empty(), "{errors:?}");
    let warns = server.said_at_start.iter().any(|line| line.contains("limit on open files"));
    assert!(warns, "{:?}", server.said_at_start);
}

/// The server raises its limit as far as it may.
fn limit_open_files(command: &mut Command) {
    let mut limited = Command::new("sh");
    limited
        .args(["-c", &format!("ulimit -n {OPEN_FILES}; exec \"$0\" \"$@\"")])
        .arg(command.get_program())
        .args(command.get_args())
        .envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    *command = limited;
}
