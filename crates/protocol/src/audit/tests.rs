//! A small ledger, damaged in every way that a person could damage it. Each damage is found and
//! named.

use proptest::prelude::*;

use super::*;
use crate::canonical;
use crate::ledger::Subject;
use crate::time::Time;

#[test]
fn a_ledger_as_it_was_written_has_no_findings() {
    let ledger = ledger();
    let report = audit(&ledger, &[checkpoint(&ledger, 0), checkpoint(&ledger, 6)]);
    assert_eq!(report.findings, []);
    assert_eq!((report.n_entries, report.n_sealed, report.n_unsealed), (8, 6, 2));
}

#[test]
fn each_kind_of_damage_is_named() {
    check(
        "entry 5 (agent/b in default, position 2): the hash does not follow from the content \
               and the entry before",
        |ledger| {
            ledger[4].1.body = kept(r#"{"kind":"worker","profile":{"name":"other"}}"#);
        },
    );
    check(
        "entry 4 (agent/a in default, position 2): the hash does not follow from the content \
               and the entry before",
        |ledger| ledger[3].1.hash[7] ^= 1,
    );
    check(
        "entry 1 (agent/a in default, position 1): the hash does not follow from the content \
               and the entry before",
        |ledger| ledger[0].1.actor = "agent:x".into(),
    );
    check(
        "entry 4: missing\n\
             entry 7 (agent/a in default, position 3): at the wrong position of its stream, 2 \
             comes next",
        |ledger| drop(ledger.remove(3)),
    );
    check(
        "entry 4: missing\n\
             entry 4 (agent/a in default, position 2): out of order, entry 6 belongs here",
        |ledger| ledger.swap(3, 4),
    );
    check("entries 7 to 8: missing, although the first 8 entries were sealed", |ledger| {
        ledger.truncate(6)
    });
    check(
        "entry 5 (agent/b in default, position 2): the body is missing, and no entry says \
             that it was erased",
        |ledger| erase(&mut ledger[4].1),
    );
}

#[test]
fn what_was_recomputed_to_the_end_does_not_fit_the_checkpoints() {
    let sealed = ledger();
    let checkpoints = [checkpoint(&sealed, 3), checkpoint(&sealed, 6), checkpoint(&sealed, 8)];
    let mut edited = ledger();
    edited[4].1.body = kept(r#"{"kind":"worker","profile":{"name":"other"}}"#);
    rechain(&mut edited);
    let report = audit(&edited, &checkpoints);
    let expected = "entries 4 to 6: changed, added or moved after the first 6 entries were \
                        sealed";
    assert_eq!(text(&report), expected);
    assert_eq!(report.n_sealed, 3);

    let mut renumbered = ledger();
    renumbered.remove(4);
    (1..).zip(&mut renumbered).for_each(|(seq, entry)| entry.0 = seq);
    rechain(&mut renumbered);
    let report = audit(&renumbered, &checkpoints);
    assert!(text(&report).starts_with("entry 8: missing, although the first 8"), "{report:?}");
}

#[test]
fn a_declared_loss_is_no_damage_once_it_is_sealed() {
    let lost = ledger();
    let before = [checkpoint(&lost, 3), checkpoint(&lost, 7), checkpoint(&lost, 8)];
    let mut forked = ledger();
    forked.truncate(5);
    let cut_off = "entries 6 to 8: missing, although the first 8 entries were sealed";
    assert_eq!(text(&audit(&forked, &before)), cut_off);
    declare(&mut forked, 8);
    let unsealed = "entries 7 to 8: missing, although the first 8 entries were sealed";
    assert_eq!(text(&audit(&forked, &before)), unsealed);
    for n_more in 0..4 {
        let sealed = [&before[..], &[checkpoint(&forked, forked.len())]].concat();
        let report = audit(&forked, &sealed);
        assert_eq!(text(&report), "", "{n_more}");
        assert_eq!(report.n_sealed, 6 + n_more);
        let ranges: Vec<_> = report.forks.iter().map(|fork| (fork.seq, fork.lost)).collect();
        assert_eq!(ranges, [(6, LostRange::Entries { first: 6, last: 8 })]);
        append(&mut forked, "a", "agent.registered", r#"{"kind":"worker","profile":{}}"#);
    }
}

#[test]
fn a_declared_loss_excuses_nothing_else() {
    let lost = ledger();
    let before = [checkpoint(&lost, 3), checkpoint(&lost, 8)];
    let mut forked = ledger();
    forked.truncate(5);
    declare(&mut forked, 7);
    let sealed = [&before[..], &[checkpoint(&forked, 6)]].concat();
    // The declared loss is smaller than the real one.
    let cut_off = "entries 7 to 8: missing, although the first 8 entries were sealed";
    assert_eq!(text(&audit(&forked, &sealed)), cut_off);
    // An attacker without the key rewrites entries before the fork.
    let mut forked = ledger();
    forked.truncate(5);
    declare(&mut forked, 8);
    let sealed = [&before[..], &[checkpoint(&forked, 6)]].concat();
    forked[1].1.body = kept(r#"{"kind":"worker","profile":{"name":"other"}}"#);
    rechain(&mut forked);
    assert!(text(&audit(&forked, &sealed)).contains("entries 1 to 3: changed"));
}

#[test]
fn a_loss_that_was_written_over_may_begin_after_the_last_common_checkpoint() {
    let lost = ledger();
    let before = [checkpoint(&lost, 3), checkpoint(&lost, 6)];
    let mut forked = ledger();
    forked.truncate(4);
    for _ in 0..4 {
        append(&mut forked, "b", "agent.registered", r#"{"kind":"worker","profile":{}}"#);
    }
    declare(&mut forked, 6);
    let sealed = [&before[..], &[checkpoint(&forked, 9)]].concat();
    let report = audit(&forked, &sealed);
    assert_eq!(text(&report), "");
    let fork = &report.forks[0];
    assert_eq!((fork.seq, fork.lost), (9, LostRange::Entries { first: 4, last: 6 }));
}

#[test]
fn an_erasure_on_the_record_is_no_damage() {
    let mut ledger = ledger();
    erase(&mut ledger[4].1);
    append(&mut ledger, "b", Erased::NAME, r#"{"position":2,"reason":"asked"}"#);
    let report = audit(&ledger, &[]);
    assert_eq!((text(&report).as_str(), report.n_erased), ("", 1));

    // The record of an erasure may be erased itself.
    erase(&mut ledger[8].1);
    let recorded = Problem::BodyMissing;
    assert_eq!(audit(&ledger, &[]).findings.first().map(|f| f.problem.clone()), Some(recorded));
    append(&mut ledger, "b", Erased::NAME, r#"{"position":4,"reason":"asked"}"#);
    let report = audit(&ledger, &[]);
    assert_eq!((text(&report).as_str(), report.n_erased), ("", 2));
}

#[test]
fn a_claim_to_have_erased_is_checked() {
    let mut ledger = ledger();
    append(&mut ledger, "b", Erased::NAME, r#"{"position":2,"reason":"asked"}"#);
    let expected = "entry 9 (agent/b in default, position 4): says that the body at position \
                        2 was erased, but it was not";
    assert_eq!(text(&audit(&ledger, &[])), expected);
}

#[test]
fn events_must_be_readable_and_follow() {
    let mut ledger = ledger();
    append(&mut ledger, "a", "agent.retired", "{}");
    append(&mut ledger, "b", "agent.registered", r#"{"kind":"human","profile":{}}"#);
    let expected = "entry 9 (agent/a in default, position 4): cannot be read: cannot read \
                        event agent.retired version 1: no event of this name is known\n\
                        entry 10 (agent/b in default, position 4): event agent.registered does \
                        not follow from the events before it";
    assert_eq!(text(&audit(&ledger, &[])), expected);
}

#[test]
fn a_settled_stream_must_not_go_on() {
    for (settled_at, n_unsettled, expected) in [
        (6, 2, ""),
        (
            5,
            2,
            "entry 6 (agent/b in default, position 3): the snapshot of the stream stands at \
                 an earlier entry",
        ),
    ] {
        let mut auditor = Auditor::new(Replay::States, []);
        for (seq, entry) in &ledger() {
            auditor.push(*seq, entry);
            if *seq == settled_at {
                let end = auditor.settle(&entry.stream).unwrap();
                assert_eq!((end.seq, end.hash), (settled_at, entry.hash));
                assert_eq!(end.position, settled_at - 3);
                assert!(end.state.is_some());
            }
        }
        assert_eq!(auditor.unsettled().count(), n_unsettled);
        assert_eq!(text(&auditor.finish(&[])), expected);
    }
}

#[test]
fn findings_are_counted_beyond_those_that_are_kept() {
    let mut auditor = Auditor::new(Replay::Nothing, []);
    (1..=500).for_each(|seq| auditor.push_unreadable(seq, "not a row".to_owned()));
    let report = auditor.finish(&[]);
    assert_eq!((report.findings.len(), report.n_findings), (FINDINGS_MAX, 500));
}

proptest! {
    /// Any change to one entry is found, and no earlier entry is blamed.
    #[test]
    fn any_edit_is_found_where_it_was_made(index in 0usize..8, edit in 0usize..7) {
        let mut ledger = ledger();
        let checkpoint = checkpoint(&ledger, 8);
        let entry = &mut ledger[index].1;
        match edit {
            0 => entry.hash[index] ^= 0x80,
            1 => entry.name.to_mut().push('x'),
            2 => entry.at = Time::from_millis(entry.at.as_millis() + 1),
            3 => entry.position += 1,
            4 => entry.version += 1,
            5 => entry.stream.subject = Subject::Agent("z".parse().unwrap()),
            _ => erase(entry),
        }
        let report = audit(&ledger, &[checkpoint]);
        let first = report.findings.first().map(|finding| match &finding.place {
            EntryPlace::Entry { seq, .. } => *seq,
            EntryPlace::Range { first, .. } => *first,
        });
        prop_assert_eq!(first, Some(index as u64 + 1));
    }

    #[test]
    fn any_numbers_are_answered(
        seqs in prop::collection::vec(numbers(), 0..20), size in numbers()
    ) {
        let ledger = ledger();
        let mut auditor = Auditor::new(Replay::States, [size]);
        for (seq, (_, entry)) in seqs.iter().zip(&ledger) {
            auditor.push(*seq, &Entry { position: *seq, ..entry.clone() });
        }
        let root = [0; 32];
        auditor.finish(&[Checkpoint { origin: "o".to_owned(), size, root }]);
    }
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0..4u64, any::<u64>(), Just(u64::MAX)]
}

/// Three agents, registered again with other profiles; eight entries.
fn ledger() -> Vec<(u64, Entry)> {
    let mut ledger = Vec::new();
    for (index, agent) in ["a", "b", "b", "a", "b", "b", "a", "c"].iter().enumerate() {
        let agent = if index == 2 { "c" } else { agent };
        let body = format!(r#"{{"kind":"worker","profile":{{"name":"{agent}{index}"}}}}"#);
        append(&mut ledger, agent, "agent.registered", &body);
    }
    ledger
}

fn append(ledger: &mut Vec<(u64, Entry)>, agent: &str, name: &str, body: &str) {
    append_to(ledger, Subject::Agent(agent.parse().unwrap()), name, body);
}

fn append_to(ledger: &mut Vec<(u64, Entry)>, subject: Subject, name: &str, body: &str) {
    let teamspace = crate::ids::TeamspaceId::default_teamspace();
    let stream = Stream { teamspace, subject };
    let last = ledger.iter().rfind(|(_, entry)| entry.stream == stream);
    let (position, previous) = last.map_or((0, GENESIS), |(_, entry)| (entry.position, entry.hash));
    let entry = Entry {
        stream,
        position: position + 1,
        name: name.to_owned().into(),
        version: 1,
        actor: "operator:root".into(),
        at: Time::from_millis(1_771_682_400_000),
        body: kept(body),
        hash: GENESIS,
    };
    ledger.push((ledger.len() as u64 + 1, entry.chained(&previous)));
}

fn declare(ledger: &mut Vec<(u64, Entry)>, lost_size: u64) {
    let root = "ab".repeat(32);
    let body = format!(r#"{{"lost_size":{lost_size},"lost_root":"{root}","reason":"a disk"}}"#);
    append_to(ledger, Subject::Ledger, "ledger.forked", &body);
}

fn kept(text: &str) -> Body {
    Body::Kept { salt: [3; 16], text: text.to_owned() }
}

fn erase(entry: &mut Entry) {
    entry.body = Body::Erased { commitment: entry.body.commitment() };
}

/// What an attacker does who can write everything but has no key.
fn rechain(ledger: &mut [(u64, Entry)]) {
    let mut heads: HashMap<Stream, (u64, Hash)> = HashMap::new();
    for (_, entry) in ledger {
        let head = heads.entry(entry.stream.clone()).or_insert((0, GENESIS));
        entry.position = head.0 + 1;
        *entry = entry.clone().chained(&head.1);
        *head = (entry.position, entry.hash);
    }
}

fn checkpoint(ledger: &[(u64, Entry)], size: usize) -> Checkpoint {
    let mut edge = Edge::empty();
    ledger[..size].iter().for_each(|(_, entry)| edge.push(&entry.hash));
    Checkpoint { origin: "tasuki".to_owned(), size: size as u64, root: edge.root() }
}

fn audit(ledger: &[(u64, Entry)], checkpoints: &[Checkpoint]) -> Report {
    let sizes = checkpoints.iter().map(|checkpoint| checkpoint.size);
    let mut auditor = Auditor::new(Replay::States, sizes);
    for (seq, entry) in ledger {
        auditor.push(*seq, entry);
    }
    auditor.finish(checkpoints)
}

fn text(report: &Report) -> String {
    let lines: Vec<String> = report.findings.iter().map(Finding::to_string).collect();
    lines.join("\n")
}

/// Damages a sealed ledger and compares the findings.
fn check(expected: &str, damage: impl FnOnce(&mut Vec<(u64, Entry)>)) {
    let mut ledger = ledger();
    let checkpoint = checkpoint(&ledger, ledger.len());
    damage(&mut ledger);
    let report = audit(&ledger, &[checkpoint]);
    assert_eq!(text(&report), expected, "{}", canonical::hex(&ledger[0].1.hash));
}
