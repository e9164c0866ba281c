//! The same server behind TLS, with a certificate of our own making.

use std::path::Path;

use super::shell::{Outcome, split, tasuki};
use crate::server::Server;

#[test]
fn a_command_reaches_a_server_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    for name in ["server", "stranger"] {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        std::fs::write(path.join(format!("{name}.pem")), made.cert.pem()).unwrap();
        let key = made.signing_key.serialize_pem();
        std::fs::write(path.join(format!("{name}.key")), key).unwrap();
    }
    let server = Server::start_on(&path.join("tasuki-data"), |command| {
        command.arg("--tls-cert").arg(path.join("server.pem"));
        command.arg("--tls-key").arg(path.join("server.key"));
    });
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let (alice, _) = (server.token("alice", &[]), server.token("bob", &[]));
    let over_tls = format!("--server {} --token {alice}", server.url);
    let offer = crate::server::offer("T-1", "bob").to_string();
    std::fs::write(path.join("offer.json"), offer).unwrap();

    let trusted = format!("{over_tls} --ca-cert server.pem");
    let made = run(path, &format!("handoff initiate --file offer.json {trusted}"));
    let expected = format!("Handoff {} is now proposed\n", made.stdout.trim());
    assert_eq!((made.code, made.stderr), (0, expected));
    let shown = run(path, &format!("handoff show {} {trusted}", made.stdout.trim()));
    assert!(shown.stdout.contains("alice proposed to hand it to bob"), "{}", shown.stdout);
    let by_name = trusted.replace("127.0.0.1", "localhost");
    assert_eq!(run(path, &format!("agent list {by_name}")).code, 0);

    let cases = [
        ("", 2, "https needs --ca-cert"),
        ("--ca-cert stranger.pem", 4, "cannot reach the server"),
        ("--ca-cert server.key", 2, "server.key"),
    ];
    for (trust, code, words) in cases {
        let refused = run(path, &format!("agent list {over_tls} {trust}"));
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (code, ""),
            "{trust}: {}",
            refused.stderr
        );
        assert!(refused.stderr.contains(words), "{trust}: {}", refused.stderr);
    }
    let plain = over_tls.replace("https://", "http://");
    let plain = run(path, &format!("agent list {plain}"));
    assert_eq!(plain.code, 4, "plain HTTP to a TLS port: {}", plain.stderr);
    assert!(plain.stderr.contains("hint: the server may want https"), "{}", plain.stderr);
}

fn run(folder: &Path, line: &str) -> Outcome {
    tasuki(folder, &split(line), &[], "")
}
