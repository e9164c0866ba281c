//! URLs on a staged network: servers that help, servers that lie, and names that lead inside.

use super::stage::{Stage, Trust};
use super::*;

const NOT_PUBLIC: &str = "forbidden: the URL leads to an address that is not public";
const NOT_PLAIN: &str = "forbidden: expected a plain http or https URL, without a user name in it";
const REDIRECTED_ELSEWHERE: &str =
    "forbidden: the server redirects to something other than a plain http or https URL";
const BROKE_OFF: &str = "unavailable: the answer broke off";
const NOT_HTTP: &str = "unavailable: the server does not answer as HTTP asks";
const UNREACHABLE: &str = "unavailable: the server cannot be reached";
const UNRESOLVED: &str = "unavailable: the name of the server cannot be resolved";
const DOWNGRADED: &str = "forbidden: the server redirects from https to http";

#[tokio::test]
async fn a_url_is_what_the_package_says_or_not() {
    let stage = Stage::start(Settings::default()).await;
    let (right, wrong) = (sha256(b"hello"), sha256(b"secret"));
    let other_digest = format!("mismatch: its sha256 is {right}, the package says {wrong}");
    let other_size = "mismatch: it has 5 bytes, the package says 6";
    let rows = [
        (None, None, "verified 5"),
        (Some(&right), Some(5), "verified 5"),
        (Some(&wrong), None, &other_digest),
        (Some(&right), Some(6), other_size),
    ];
    for path in ["hello", "until-close", "chunked", "chain/1", "chain/5"] {
        for (sha256, size_bytes, expected) in &rows {
            for scheme in ["http", "https"] {
                let mut artifact = url(&format!("{scheme}://public.test/{path}"));
                artifact.reference.sha256 = sha256.cloned();
                artifact.reference.size_bytes = *size_bytes;
                let finding = look(&stage.artifacts, artifact).await;
                assert_eq!(shown(&finding), *expected, "{scheme} {path}");
                if let Finding::Verified { sha256, .. } = finding {
                    assert_eq!(sha256, right);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_server_may_fail_in_every_way() {
    let rows = [
        ("/status/404", "missing: the server does not have it"),
        ("/status/410", "missing: the server does not have it"),
        ("/status/401", "missing: the server refuses"),
        ("/status/403", "missing: the server refuses"),
        ("/status/400", "missing: the server answered 400"),
        ("/status/206", "missing: the server answered 206"),
        ("/status/304", "missing: the server answered 304"),
        ("/status/202", "unavailable: the server asks to come back later"),
        ("/status/429", "unavailable: the server asks to come back later"),
        ("/status/500", "unavailable: the server failed with 500"),
        ("/status/503", "unavailable: the server failed with 503"),
        ("/chain/6", "missing: the server redirects more than 5 times"),
        ("/loop", "missing: the server redirects more than 5 times"),
        ("/nowhere", "missing: the server redirects without saying where"),
        ("/to?hello", "verified 5"),
        ("/to?//other.test/hello", "verified 5"),
        ("/to?http://other.test:8080/hello", "verified 5"),
        ("/to?https://public.test/hello", "verified 5"),
        // A stated length that is too long is detected; HTTP ignores what follows one that is too
        // short.
        ("/short", BROKE_OFF),
        ("/chunk-cut", BROKE_OFF),
        ("/long", "verified 5"),
        ("/huge", "forbidden: it has more than 4294967296 bytes"),
        ("/two-lengths", NOT_HTTP),
        ("/garbage", NOT_HTTP),
        ("/nothing-at-all", NOT_HTTP),
        ("/endless-head", NOT_HTTP),
    ];
    let stage = Stage::start(Settings::default()).await;
    for (path, expected) in rows {
        let finding = look(&stage.artifacts, url(&format!("http://public.test{path}"))).await;
        assert_eq!(shown(&finding), expected, "{path}");
    }
}

#[tokio::test]
async fn no_url_leads_inside() {
    let rows = [
        ("http://public.test/hello", "verified 5", "verified 5"),
        ("http://93.184.215.14/hello", "verified 5", "verified 5"),
        ("http://loopback.test/hello", NOT_PUBLIC, "verified 5"),
        ("http://private.test/hello", NOT_PUBLIC, "verified 5"),
        ("http://metadata.test/hello", NOT_PUBLIC, "verified 5"),
        ("http://mapped.test/hello", NOT_PUBLIC, "verified 5"),
        ("http://mixed.test/hello", NOT_PUBLIC, "verified 5"),
        ("https://private.test/hello", NOT_PUBLIC, UNREACHABLE),
        ("http://127.0.0.1/hello", NOT_PUBLIC, "verified 5"),
        ("http://169.254.169.254/hello", NOT_PUBLIC, "verified 5"),
        ("http://[::1]/hello", NOT_PUBLIC, "verified 5"),
        ("http://[::ffff:10.0.0.1]:8080/hello", NOT_PUBLIC, "verified 5"),
        ("http://public.test/to?http://127.0.0.1/hello", NOT_PUBLIC, "verified 5"),
        ("http://public.test/to?//private.test/hello", NOT_PUBLIC, "verified 5"),
        ("http://public.test/to?http://[::1]/hello", NOT_PUBLIC, "verified 5"),
        ("https://public.test/to?https://private.test/", NOT_PUBLIC, UNREACHABLE),
        ("https://public.test/to?http://public.test/hello", DOWNGRADED, DOWNGRADED),
        ("http://public.test/to?http://127.1/", REDIRECTED_ELSEWHERE, REDIRECTED_ELSEWHERE),
        ("http://public.test/to?file:///etc/passwd", REDIRECTED_ELSEWHERE, REDIRECTED_ELSEWHERE),
        ("http://public.test/to?http://u@other.test/", REDIRECTED_ELSEWHERE, REDIRECTED_ELSEWHERE),
        ("http://user:word@public.test/hello", NOT_PLAIN, NOT_PLAIN),
        ("http://2130706433/hello", NOT_PLAIN, NOT_PLAIN),
        ("file:///etc/passwd", NOT_PLAIN, NOT_PLAIN),
        ("ftp://public.test/hello", NOT_PLAIN, NOT_PLAIN),
        ("/etc/passwd", NOT_PLAIN, NOT_PLAIN),
        ("", NOT_PLAIN, NOT_PLAIN),
        ("http://public.test/a\r\nhost: b", NOT_PLAIN, NOT_PLAIN),
        ("http://public.test:1/hello", UNREACHABLE, UNREACHABLE),
        ("http://nowhere.test/hello", UNREACHABLE, UNREACHABLE),
        ("http://unknown.test/hello", UNRESOLVED, UNRESOLVED),
    ];
    for (path, only_public, also_private) in rows {
        for (allow_private_addresses, expected) in [(false, only_public), (true, also_private)] {
            let settings = Settings { allow_private_addresses, ..Settings::default() };
            let stage = Stage::start(settings).await;
            let finding = look(&stage.artifacts, url(path)).await;
            assert_eq!(shown(&finding), expected, "{path} {allow_private_addresses}");
            let sights = stage.sights.lock().unwrap();
            let is_inside = |address: &std::net::SocketAddr| !addresses::is_public(address.ip());
            let went_inside = sights.dialed.iter().any(is_inside);
            assert!(allow_private_addresses || !went_inside, "{path} {:?}", sights.dialed);
        }
    }
}

/// A name that would resolve to another address the second time is resolved only once.
#[tokio::test]
async fn the_address_that_was_checked_is_the_one_that_is_dialed() {
    let stage = Stage::start(Settings::default()).await;
    look(&stage.artifacts, url("http://public.test:8080/a?b#c")).await;
    let sights = stage.sights.lock().unwrap();
    assert_eq!(sights.resolved, ["public.test"]);
    assert_eq!(sights.dialed, ["93.184.215.14:8080".parse().unwrap()]);
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "GET /a?b HTTP/1.1\r\nhost: public.test:8080\r\nuser-agent: tasuki/{version}\r\n\
         accept-encoding: identity\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(sights.heads, [expected]);
}

#[tokio::test]
async fn the_network_of_this_machine_is_asked_like_the_staged_one() {
    let stage = Stage::start(Settings::default()).await;
    let port = stage.address.port();
    for host in ["localhost", "127.0.0.1"] {
        for (allow_private_addresses, expected) in [(false, NOT_PUBLIC), (true, "verified 5")] {
            let settings = Settings { allow_private_addresses, ..Settings::default() };
            let artifacts = Artifacts::new(settings).unwrap();
            let finding = look(&artifacts, url(&format!("http://{host}:{port}/hello"))).await;
            assert_eq!(shown(&finding), expected, "{host}");
        }
    }
}

#[tokio::test]
async fn a_server_must_prove_its_name() {
    let rows = [
        (Trust::Ours, "https://public.test/hello", "verified 5"),
        (Trust::Ours, "https://other.test/hello", UNREACHABLE),
        (Trust::Ours, "https://93.184.215.14/hello", UNREACHABLE),
        (Trust::Ours, "http://public.test:443/hello", NOT_HTTP),
        (Trust::Public, "https://public.test/hello", UNREACHABLE),
    ];
    for (trust, path, expected) in rows {
        let stage = Stage::start_trusting(Settings::default(), trust).await;
        let finding = look(&stage.artifacts, url(path)).await;
        assert_eq!(shown(&finding), expected, "{path}");
    }
}

#[tokio::test]
async fn whoever_takes_too_long_or_too_much_is_left() {
    let late = "unavailable: it took more than 200 ms";
    let rows = [
        ("http://public.test/silent", 1_000_000, late),
        ("http://public.test/stuck", 1_000_000, late),
        ("http://public.test/slow", 1_000_000, late),
        ("http://public.test/endless", u64::MAX, late),
        ("http://never.test/", 1_000_000, late),
    ];
    for (path, bytes_max, expected) in rows {
        let settings = Settings { bytes_max, artifact_ms_max: 200, ..Settings::default() };
        let stage = Stage::start(settings).await;
        assert_eq!(shown(&look(&stage.artifacts, url(path)).await), expected, "{path}");
    }
    let settings = Settings { bytes_max: 999_999, ..Settings::default() };
    let stage = Stage::start(settings).await;
    // One states its length in the head, the other never does.
    for path in ["http://public.test/slow", "http://public.test/endless"] {
        let finding = look(&stage.artifacts, url(path)).await;
        assert_eq!(shown(&finding), "forbidden: it has more than 999999 bytes", "{path}");
    }
}

#[tokio::test]
async fn what_is_left_when_the_time_is_over_is_unavailable() {
    let settings = Settings { total_ms_max: 1_000, n_artifacts_max: 3, ..Settings::default() };
    let stage = Stage::start(settings).await;
    let paths = ["/hello", "/silent", "/hello", "/hello"];
    let asked = paths.map(|path| url(&format!("http://public.test{path}")));
    let seen = stage.artifacts.look(&asked).await;
    let findings: Vec<String> = seen.iter().map(|seen| shown(&seen.finding)).collect();
    let late = "unavailable: the look took more than 1000 ms";
    assert_eq!(findings, ["verified 5", late, late, "forbidden: more than 3 artifacts"]);
}

#[tokio::test]
async fn a_look_that_is_dropped_hangs_up() {
    let mut stage = Stage::start(Settings::default()).await;
    for (path, n_hung_up) in [("endless", 1), ("silent", 2), ("slow", 3)] {
        tokio::select! {
            finding = look(&stage.artifacts, url(&format!("http://public.test/{path}"))) => {
                panic!("{path}: {finding:?}");
            }
            asked = stage.asked.wait_for(|n| *n == n_hung_up) => drop(asked.unwrap()),
        }
        let hanging_up = stage.hung_up.wait_for(|n| *n == n_hung_up);
        let hung_up = timeout(Duration::from_secs(10), hanging_up).await;
        assert!(hung_up.is_ok_and(|seen| seen.is_ok()), "{path}");
    }
}

fn url(text: &str) -> Artifact {
    artifact(ArtifactKind::Url, text)
}
