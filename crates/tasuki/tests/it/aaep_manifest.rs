//! The server's manifest and its signatures: anyone can check it with the published keys, before
//! and after they change.

use std::process::Command;

use aaep::jws::Jwks;
use aaep::manifest::verify;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, VerifyingKey};
use serde_json::{Value, json};
use tasuki::client::Call;

use crate::server::{Server, ok, refused};
use crate::wire::{Answer, Request};

const MANIFEST: &str = "/.well-known/aaep-manifest.json";
const SIGNED: &str = "/.well-known/aaep-manifest.jws";
const KEYS: &str = "/.well-known/aaep-jwks.json";

async fn get(server: &Server, path: &str) -> Answer {
    let answer = Request::new(&format!("GET {path}")).send(server.address()).await;
    assert_eq!(answer.status, 200, "{path}");
    answer
}

async fn text(server: &Server, path: &str) -> String {
    String::from_utf8(get(server, path).await.bytes.to_vec()).expect("text")
}

/// As a client without our code would: a key from the set, and Ed25519.
fn check_by_hand(jws: &str, keys: &Value) -> Value {
    let parts: Vec<&str> = jws.split('.').collect();
    let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).expect("base64url");
    let header: Value = serde_json::from_slice(&decode(parts[0])).expect("a header");
    assert_eq!(header["alg"], "EdDSA");
    let key = keys["keys"].as_array().expect("keys").iter().find(|key| key["kid"] == header["kid"]);
    let key = key.expect("the key is published");
    assert_eq!(
        (&key["kty"], &key["crv"], &key["use"]),
        (&json!("OKP"), &json!("Ed25519"), &json!("sig"))
    );
    let point = decode(key["x"].as_str().expect("a point"));
    let key =
        VerifyingKey::from_bytes(&point.try_into().expect("32 bytes")).expect("a key of Ed25519");
    let signature = Signature::from_slice(&decode(parts[2])).expect("64 bytes");
    key.verify_strict(format!("{}.{}", parts[0], parts[1]).as_bytes(), &signature)
        .expect("it holds");
    serde_json::from_slice(&decode(parts[1])).expect("a manifest")
}

fn keys_command(server: &Server, arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_tasuki"))
        .args(["aaep", "keys"])
        .args(arguments)
        .args(["--json", "--data"])
        .arg(&server.data)
        .env_remove("TASUKI_TOKEN")
        .output()
        .expect("the executable runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn roles(listed: &Value) -> Vec<&str> {
    let items = listed["items"].as_array().expect("a list");
    items.iter().map(|key| key["role"].as_str().expect("a role")).collect()
}

#[tokio::test]
async fn anybody_can_check_the_manifest_before_and_after_its_key_changes() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let start = || {
        Server::start_on(&data, |command| {
            command.env("TASUKI_LIMITS_STREAMS", "77");
        })
    };
    let server = start();
    let plain = get(&server, MANIFEST).await;
    assert_eq!(plain.header("content-type"), "application/json");
    assert_eq!(plain.header("cache-control"), "public, max-age=3600");
    let manifest = plain.json();
    assert_eq!(manifest["agent_id"], "tasuki");
    assert_eq!(manifest["max_concurrent_subscriptions"], 77, "as many as there may be streams");
    assert_eq!(manifest["extensions"]["tasuki"]["jwks"], KEYS);
    assert_eq!(manifest["extensions"]["tasuki"]["signed_manifest"], SIGNED);
    let old = text(&server, SIGNED).await;
    let old_keys = get(&server, KEYS).await.json();
    assert_eq!(check_by_hand(&old, &old_keys), manifest);

    // A cached copy that is still valid is not sent again.
    let tag = plain.header("etag").as_bytes().to_vec();
    let again = Request::new(&format!("GET {MANIFEST}")).header("if-none-match", &tag);
    assert_eq!(again.send(server.address()).await.status, 304);

    let listed = keys_command(&server, &["list"]);
    assert_eq!(roles(&listed), ["signing", "next"]);
    let rotated = keys_command(&server, &["rotate"]);
    assert_eq!(roles(&rotated), ["signing", "next", "retired"]);
    assert_eq!(rotated["items"][0]["kid"], listed["items"][1]["kid"]);
    assert_eq!(rotated["items"][2]["kid"], listed["items"][0]["kid"]);

    // The running server uses the new key, and so does one that restarts.
    check_after(&server, &manifest, &old, &old_keys).await;
    assert_eq!(server.stop(), Some(0));
    let server = start();
    check_after(&server, &manifest, &old, &old_keys).await;

    // Compromised keys no longer verify anything.
    let replaced = keys_command(&server, &["rotate", "--compromised"]);
    assert_eq!(roles(&replaced), ["signing", "next"]);
    let keys: Jwks = serde_json::from_value(get(&server, KEYS).await.json()).unwrap();
    assert!(verify(&text(&server, SIGNED).await, &keys, "tasuki").is_ok());
    let error = verify(&old, &keys, "tasuki").unwrap_err();
    assert_eq!(error.code(), "signature_key_unknown");
}

/// Old and new signatures verify with old and new keys.
async fn check_after(server: &Server, manifest: &Value, old: &str, old_keys: &Value) {
    let new = text(server, SIGNED).await;
    let new_keys = get(server, KEYS).await.json();
    assert_ne!(new, old);
    for (jws, keys) in [(&*new, &new_keys), (old, &new_keys), (&*new, old_keys)] {
        assert_eq!(&check_by_hand(jws, keys), manifest);
        let keys: Jwks = serde_json::from_value(keys.clone()).expect("a set of keys");
        assert!(verify(jws, &keys, "tasuki").is_ok());
    }
    assert_eq!(new_keys["rotations"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn only_whoever_runs_the_server_changes_its_keys() {
    let server = Server::start();
    let root = server.with_token(&server.token("root", &["--kind", "operator"]));
    let elsewhere = json!({ "teamspace": "elsewhere", "operator": "otto" });
    let made = ok(&root, Call::post("/v1/teamspaces", elsewhere)).await;
    let stranger = server.with_token(made["token"].as_str().unwrap());
    let rotate = |body| Call::post("/v1/aaep/keys/rotate", body);
    for client in [&stranger, &server.agent("alice")] {
        for call in [Call::get("/v1/aaep/keys"), rotate(json!({}))] {
            let answer = refused(client, call).await;
            assert_eq!((answer.status, &answer.body["code"]), (403, &json!("not_allowed")));
        }
    }
    let before = ok(&root, Call::get("/v1/aaep/keys")).await;
    let kid = before["items"][0]["kid"].clone();
    let after = ok(&root, rotate(json!({ "kid": kid }))).await;
    assert_ne!(after, before);
    // A repeated request does not rotate twice.
    assert_eq!(ok(&root, rotate(json!({ "kid": kid }))).await, after);
    let public = text(&server, KEYS).await;
    let secret = std::fs::read_to_string(server.data.join("aaep.keys")).unwrap();
    let secret: Value = serde_json::from_str(&secret).unwrap();
    for key in ["signing", "next"] {
        assert!(!public.contains(secret[key]["seed"].as_str().unwrap()));
    }
}
