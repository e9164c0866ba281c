//! A witness in a bucket of an object store that speaks S3: keys that are refused or replaced,
//! writes that meet others, and settings that do not fit together.

use std::fs;

use protocol::time::Span;

use super::{Elsewhere, NEWEST, Stage, until_status};
use crate::server::{initiate, refused_start};
use crate::witness_server::Manner;
use crate::witness_server::s3_gate::S3Gate;

/// The doctor says what is wrong, and repeats nothing that the store or the key file says.
#[tokio::test]
async fn the_doctor_says_why_an_object_store_refuses() {
    type Change = fn(&mut S3Gate);
    let stage = Stage::with_remote(Elsewhere::S3).await;
    let doctor = || stage.doctor(&stage.path("data"), Elsewhere::S3, "witness");
    assert_eq!(doctor().0, "good");
    let changes: [(Change, &str); 5] = [
        (|gate| gate.id = "AKIAOTHER".to_owned(), "InvalidAccessKeyId: the store does not know"),
        (|gate| gate.secret = "other".to_owned(), "SignatureDoesNotMatch: the secret in"),
        (|gate| gate.session_token = Some("t".to_owned()), "InvalidToken: the session token in"),
        (|gate| gate.ahead = Span::from_minutes(16), "RequestTimeTooSkewed: the clock of this"),
        (|gate| gate.ahead = Span::from_minutes(-16), "RequestTimeTooSkewed: the clock of this"),
    ];
    for (change, expected) in changes {
        stage.http.ask_for(change);
        let (verdict, detail) = doctor();
        assert!(verdict == "bad" && detail.contains(expected), "{verdict}: {detail}");
        assert!(!detail.contains("s3cret") && !detail.contains("trust me"), "{detail}");
        stage.http.ask_for(|gate| *gate = S3Gate::new());
    }
    stage.http.ask_for(|gate| gate.ahead = Span::from_minutes(14));
    assert_eq!(doctor().0, "good", "clocks may differ a little");

    for (refusal, expected) in [
        ((403, "AccessDenied"), "answers 403 AccessDenied: the key may not do this"),
        ((400, "ExpiredToken"), "answers 400 ExpiredToken: the session token"),
        ((404, "NoSuchBucket"), "answers 404 NoSuchBucket: the bucket in `ledger.witness_url`"),
        ((404, "Unheard"), "the witness answers 404; a server that starts now"),
        ((301, "PermanentRedirect"), "answers 301 PermanentRedirect: the bucket is at another"),
        ((501, "NotImplemented"), "answers 501 NotImplemented: the store refuses conditions"),
        ((503, "SlowDown"), "answers 503 SlowDown: the store asks for fewer"),
        ((503, "Unheard"), "the witness answers 503; a server that starts now"),
    ] {
        stage.http.behave(Manner::Refuses(refusal));
        let (verdict, detail) = doctor();
        assert!(verdict == "bad" && detail.contains(expected), "{verdict}: {detail}");
    }
    stage.http.behave(Manner::Refuses((404, "NoSuchKey")));
    assert_eq!(doctor().0, "note", "there is no object yet");

    stage.http.give_key("half a key");
    let (verdict, detail) = doctor();
    assert!(verdict == "bad" && detail.contains("witness_s3_key_file: expected"), "{detail}");
    assert!(!detail.contains("half"), "{detail}");
}

/// A new key is used without a restart, also one that expires.
#[tokio::test]
async fn a_key_is_replaced_while_the_server_runs() {
    let stage = Stage::with_remote(Elsewhere::S3).await;
    let server = stage.start("data", Elsewhere::S3);
    let alice = server.with_token(&stage.token);
    let changes: [fn(&mut S3Gate); 3] = [
        |gate| gate.secret = "the second secret".replace(' ', "-"),
        |gate| gate.session_token = Some("a/session+token==".to_owned()),
        |gate| *gate = S3Gate::new(),
    ];
    for (number, change) in (0..).zip(changes) {
        let key = stage.http.ask_for(change);
        initiate(&alice, &format!("T-refused-{number}"), "bob").await;
        while until_status(&server, 200).await["warning"].is_null() {}
        stage.http.give_key(&key);
        while !until_status(&server, 200).await["warning"].is_null() {}
    }
    fs::remove_file(stage.http.key_file()).expect("a file");
    initiate(&alice, "T-without-key", "bob").await;
    while until_status(&server, 200).await["warning"].is_null() {}
    stage.http.give_key(&S3Gate::new().key());
    while !until_status(&server, 200).await["warning"].is_null() {}
    assert_eq!(server.stop(), Some(0));
    let beside = fs::read_to_string(server.data.join(NEWEST)).expect("a file");
    assert_eq!(stage.http.note(), Some(beside));
}

/// A write that meets another one is tried again. One that is refused for good stops nothing.
#[tokio::test]
async fn a_write_to_a_bucket_that_meets_another_is_tried_again() {
    let stage = Stage::with_remote(Elsewhere::S3).await;
    let server = stage.start("data", Elsewhere::S3);
    let alice = server.with_token(&stage.token);
    for manner in [Manner::Conflicts, Manner::Refuses((403, "AccessDenied"))] {
        stage.http.behave(manner);
        initiate(&alice, &format!("{manner:?}"), "bob").await;
        while until_status(&server, 200).await["warning"].is_null() {}
        stage.http.behave(Manner::Sound);
        while !until_status(&server, 200).await["warning"].is_null() {}
    }
}

/// Paths are signed as stores spell them, whatever the operator writes.
#[tokio::test]
async fn a_folder_in_a_bucket_may_have_any_name() {
    let stage = Stage::with_remote(Elsewhere::S3).await;
    for (name, expected) in [
        ("a+b$c/%e4%2f~/", ("note", "has no checkpoint yet")),
        ("//.././(x)", ("note", "has no checkpoint yet")),
        ("100%", ("bad", "expected an http or https URL")),
    ] {
        let url = format!("{}{name}", stage.http.url);
        let (verdict, detail) = stage.doctor_with(&stage.path("data"), "witness", |command| {
            stage.with(command, Elsewhere::S3);
            command.env("TASUKI_LEDGER_WITNESS_URL", &url);
        });
        let found = verdict == expected.0 && detail.contains(expected.1);
        assert!(found, "{name}: {verdict}: {detail}");
    }
    let elsewhere = stage.http.url.replace("/kept/", "/other/");
    let (_, detail) = stage.doctor_with(&stage.path("data"), "witness", |command| {
        stage.with(command, Elsewhere::S3);
        command.env("TASUKI_LEDGER_WITNESS_URL", &elsewhere);
    });
    assert!(detail.contains("NoSuchBucket"), "{detail}");
    let (_, detail) = stage.doctor_with(&stage.path("data"), "witness", |command| {
        stage.with(command, Elsewhere::S3);
        command.env("TASUKI_LEDGER_WITNESS_S3_REGION", "us-east-1");
    });
    assert!(detail.contains("in another region than `ledger.witness_s3_region`"), "{detail}");
}

#[tokio::test]
async fn settings_of_a_bucket_that_do_not_fit_together_are_refused() {
    const URL: (&str, &str) = ("URL", "https://bucket.s3.example/");
    const REGION: (&str, &str) = ("S3_REGION", "eu-test-1");
    const KEY_FILE: (&str, &str) = ("S3_KEY_FILE", "no/such/file");
    let folder = tempfile::tempdir().expect("a folder");
    let rows: [(&[(&str, &str)], &str); 8] = [
        (&[REGION, KEY_FILE], "witness_s3_key_file: expected ledger.witness_url beside it"),
        (&[REGION], "witness_s3_region: expected ledger.witness_s3_key_file beside it"),
        (&[URL, KEY_FILE], "witness_s3_key_file: expected ledger.witness_s3_region beside it"),
        (&[URL, ("S3_REGION", "a/b"), KEY_FILE], "witness_s3_region: expected a name such as"),
        (
            &[URL, REGION, KEY_FILE, ("TOKEN_FILE", "token")],
            "witness_s3_key_file: a bucket is sent a signature, so expected no \
             ledger.witness_token_file beside it",
        ),
        (&[URL, REGION, KEY_FILE, ("KEY", "key")], "so expected no ledger.witness_key beside it"),
        (&[URL, REGION, KEY_FILE], "witness_s3_key_file: cannot read no/such/file"),
        (
            &[("URL", "https://s3.example/bucket?x"), REGION, KEY_FILE],
            "ledger.witness_url: cannot use https://s3.example/bucket?x",
        ),
    ];
    for (settings, expected) in rows {
        let output = refused_start(&folder.path().join("data"), |command| {
            for (name, value) in settings {
                command.env(format!("TASUKI_LEDGER_WITNESS_{name}"), value);
            }
        });
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "{said}");
    }
}
