//! Tampering with the database, with and without recomputing what can be recomputed.

use std::fs;
use std::path::Path;

use adapters::checkpoint_file::{LOG_FILE, NEWEST_FILE};
use adapters::ledger_key::{KEY_FILE, PUBLIC_FILE};
use protocol::checkpoint::{Checkpoint, Signer};
use rusqlite::Connection;
use store::sqlite::FILE_NAME;
use tasuki::audit::Options;

use super::ledger::{
    Forgery, assert_findings, copy, findings, forged, report, report_with, seed_of,
};

/// Every case of `tamper.sql`.
#[test]
fn every_change_to_the_database_is_found_and_named() {
    let cases = include_str!("tamper.sql").split("\n-- = ").skip(1);
    let mut n_cases = 0;
    let mut wrong = Vec::new();
    for case in cases {
        let (name, rest) = case.split_once('\n').unwrap();
        let expected: Vec<&str> =
            rest.lines().filter_map(|line| line.strip_prefix("-- > ")).collect();
        let folder = copy();
        run(folder.path(), rest);
        let report = report(folder.path());
        if let Err(difference) = super::ledger::compare(&report, &expected) {
            wrong.push(format!("{name}\n{difference}"));
        }
        n_cases += 1;
    }
    assert!(wrong.is_empty(), "{} of {n_cases} wrong\n\n{}", wrong.len(), wrong.join("\n\n"));
    assert!(n_cases >= 45, "{n_cases}");
}

/// An attacker who can write everything but the key can make all of it fit, except for the old
/// checkpoints.
#[test]
fn a_ledger_that_was_made_anew_does_not_fit_its_checkpoints() {
    let folder = forged(Forgery::OtherDetail);
    let expected = "entries 8 to 13: changed, added or moved after the first 13 entries were \
                    sealed\nthe checkpoint in the database was removed";
    run(folder.path(), include_str!("unsealed.sql"));
    assert_findings("an edit", &report(folder.path()), expected);

    let folder = forged(Forgery::CutShort);
    run(folder.path(), include_str!("unsealed.sql"));
    let expected = "entries 18 to 19: missing, although the first 19 entries were sealed\n\
                    the checkpoint in the database was removed";
    assert_findings("a cut", &report(folder.path()), expected);

    // Signing it with another key does not help.
    let folder = forged(Forgery::CutShort);
    let expected = "entries 18 to 19: missing, although the first 19 entries were sealed\n\
                    the checkpoint in the database: checkpoint: expected a signature by tasuki-";
    assert_findings("a cut that was sealed", &report(folder.path()), expected);
}

/// Then only a holder of the key or of an old checkpoint can tell.
#[test]
fn a_ledger_with_another_key_is_found_by_who_kept_the_key_or_a_checkpoint() {
    let original = copy();
    let read = |name: &str| fs::read_to_string(original.path().join(name)).unwrap();
    let folder = forged(Forgery::OtherKey);
    assert_eq!(findings(&report(folder.path())), "");

    let with_key = Options { key: Some(read(PUBLIC_FILE)), ..Options::default() };
    let report = report_with(folder.path(), &with_key);
    let found = findings(&report);
    assert!(
        found.starts_with("the key beside the ledger is not the one that was given"),
        "{found}"
    );

    let options = Options { key: Some(read(PUBLIC_FILE)), notes: vec![read(NEWEST_FILE)] };
    let report = report_with(folder.path(), &options);
    let found = findings(&report);
    assert!(found.starts_with("entries 1 to 19: changed, added or moved"), "{found}");
}

#[test]
fn checkpoints_that_were_removed_or_changed_are_missed() {
    let damaged = |name: &str, change: fn(String) -> Option<String>| {
        let folder = copy();
        let path = folder.path().join(name);
        match change(fs::read_to_string(&path).unwrap()) {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        folder
    };
    let check = |name: &str, change: fn(String) -> Option<String>, expected: &str| {
        let report = report(damaged(name, change).path());
        assert_findings(name, &report, expected);
    };
    check(NEWEST_FILE, |_| None, "the file checkpoint was removed");
    check(
        NEWEST_FILE,
        |text| Some(text.replace("\n19\n", "\n18\n")),
        "checkpoint: checkpoint: expected a valid signature by tasuki-",
    );
    check(
        LOG_FILE,
        |text| Some(text.replacen("\n13\n", "\n12\n", 1)),
        "checkpoints.log, note 2: checkpoint: expected a valid signature by tasuki-",
    );
    check(PUBLIC_FILE, |_| None, "there is no key to check the checkpoints with (ledger.pub)");
    check(
        PUBLIC_FILE,
        |text| Some(text.replacen("+", "+0", 1)),
        "verifier key: expected an id that fits the name and the key\n\
         there is no key to check the checkpoints with (ledger.pub)",
    );

    // What a crash can leave is not a finding.
    let folder = damaged(LOG_FILE, |text| Some(text + "half a no"));
    let torn = report(folder.path());
    assert_eq!((findings(&torn).as_str(), torn.remarks.len()), ("", 1));
    fs::remove_file(folder.path().join(LOG_FILE)).unwrap();
    fs::remove_file(folder.path().join(NEWEST_FILE)).unwrap();
    let removed = report(folder.path());
    assert_eq!((findings(&removed).as_str(), removed.remarks.len()), ("", 1));
    // A ledger of half a minute must have been sealed, whatever is left of it.
    run(folder.path(), include_str!("unsealed.sql"));
    let expected = "there is no checkpoint, though entries are sealed within a second";
    assert_findings("all of them", &report(folder.path()), expected);
}

/// A note with a good signature about something else.
#[test]
fn a_checkpoint_of_another_log_or_another_past_is_found() {
    let folder = copy();
    let seed = protocol::canonical::parse_hex32(&seed_of(folder.path())).unwrap();
    let key = fs::read_to_string(folder.path().join(PUBLIC_FILE)).unwrap();
    let name = key.split('+').next().unwrap();
    let signer = Signer::new(name, &seed).unwrap();
    let sign = |origin: &str, size| {
        signer.sign(&Checkpoint { origin: origin.to_owned(), size, root: [7; 32] })
    };
    for (note, expected) in [
        (sign("elsewhere", 3), "given checkpoint 1: it is about another log, elsewhere"),
        (sign(name, 3), "entries 1 to 3: changed, added or moved after the first 3 entries"),
        (sign(name, 13), "entries 8 to 13: changed, added or moved after the first 13 entries"),
        (sign(name, 500), "entries 21 to 500: missing, although the first 500 entries"),
    ] {
        let options = Options { notes: vec![note], ..Options::default() };
        assert_findings(expected, &report_with(folder.path(), &options), expected);
    }
}

/// A damaged file is a finding too, and ends the reading at the damage.
#[test]
fn damage_to_the_file_itself_is_found() {
    let folder = copy();
    let path = folder.path().join(FILE_NAME);
    let sound = fs::read(&path).unwrap();
    let mut n_found = 0;
    let mut n_refused = 0;
    for page in 0..sound.len() / 8_192 {
        let mut bytes = sound.clone();
        bytes[page * 8_192..page * 8_192 + 100].fill(0xA5);
        fs::write(&path, &bytes).unwrap();
        let source = tasuki::audit::Source::Data(folder.path().to_owned());
        match tasuki::audit::verify(&source, &Options::default(), &mut |_, _| {}) {
            Ok(report) if !report.is_sound() => n_found += 1,
            Ok(_) => {}
            Err(_) => n_refused += 1,
        }
    }
    // Without the three pages that identify the database and its tables it cannot be read at all.
    assert!(n_found >= 5 && n_refused == 3, "{n_found} found, {n_refused} refused");
}

fn run(folder: &Path, sql: &str) {
    let connection = Connection::open(folder.join(FILE_NAME)).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// Otherwise an attacker who cannot forge a MAC garbles the key, and forged rows pass for sound.
#[test]
fn a_garbled_key_does_not_pass_for_no_key() {
    let original = copy();
    let key = fs::read_to_string(original.path().join(KEY_FILE)).unwrap();
    let (mark, seed) = key.split_once(' ').unwrap();
    let invalid = "the MACs of rows cannot be checked";
    for (changed, expected) in [
        (format!("{}{}", " ".repeat(12), &key[12..]), invalid),
        (key.replace("blake3", "blake4"), invalid),
        (format!("{mark} {key}"), invalid),
        (key[..40].to_owned(), invalid),
        (String::new(), invalid),
        (seed.to_owned(), "rows are signed, and ledger.key does not say so"),
    ] {
        let folder = copy();
        fs::write(folder.path().join(KEY_FILE), &changed).unwrap();
        let report = report(folder.path());
        let found = findings(&report);
        assert!(!report.is_sound() && found.contains(expected), "{changed:?}: {found}");
    }
    fs::remove_file(original.path().join(KEY_FILE)).unwrap();
    let without = report(original.path());
    assert!(without.is_sound(), "{}", findings(&without));
    assert!(without.remarks.iter().any(|it| it.contains("were not checked")), "{without:?}");
}
