//! `tasuki doctor`: what it finds of a folder and of a server.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::shell::{Outcome, Transcript, split, tasuki};
use crate::server::Server;

#[test]
fn the_doctor_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let mut transcript = Transcript::default();
    transcript.name(folder.path().to_str().unwrap(), "[folder]");
    let mut look = |what: &str, typed: &str| {
        let outcome = run(folder.path(), typed);
        transcript.add(&format!("tasuki {typed}   # {what}"), &outcome);
    };
    look("nothing is there", "doctor");
    run(folder.path(), "token create --agent root --kind operator --init");
    look("a folder without a server", "doctor");
    let server = Server::start_on(&folder.path().join("tasuki-data"), |_| {});
    look("a server runs", "doctor --json");
    assert_eq!(server.stop(), Some(0));
    let file = |name: &str| folder.path().join("tasuki-data").join(name);
    let set_mode = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    set_mode(&file("aaep.keys"), 0o644);
    look("others can read the keys of the manifest", "doctor");
    set_mode(&file("aaep.keys"), 0o600);
    for (mode, what) in [(0o640, "can read"), (0o666, "can write to")] {
        set_mode(&file("tasuki.db"), mode);
        look(&format!("others {what} the database"), "doctor");
    }
    set_mode(&file("tasuki.db"), 0o600);
    let key = file("ledger.key");
    set_mode(&key, 0o644);
    look("others can read the key", "doctor");
    std::fs::remove_file(key).unwrap();
    look("the key is gone", "doctor");
    insta::with_settings!({ snapshot_path => ".", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("doctor", transcript.text);
    });
}

#[test]
fn a_doctor_who_is_given_a_server_looks_at_that_one() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_on(&folder.path().join("somewhere"), |_| {});
    let outcome = run(folder.path(), &format!("doctor --server {}", server.url));
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
    assert!(outcome.stdout.contains("running and ready"), "{}", outcome.stdout);
    assert_eq!(run(folder.path(), "doctor --server http://127.0.0.1:1").code, 1);
}

fn run(folder: &Path, line: &str) -> Outcome {
    tasuki(folder, &split(line), &[], "")
}
