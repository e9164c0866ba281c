//! The computations for waiting, as tables.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::ids::AgentId;
use crate::time::{Span, Time};

fn at(text: &str) -> Time {
    format!("2026-02-{text}Z").parse().unwrap()
}

fn minutes(minutes: i64) -> Span {
    Span::from_minutes(minutes)
}

#[test]
fn a_level_of_priority_is_worth_so_much_waiting() {
    let key = |time: &str, priority| order_key(at(time), priority, minutes(10));
    let mut queue = [
        ("old", key("21T09:00:00", 0)),
        ("new", key("21T09:08:00", 0)),
        ("new but important", key("21T09:08:00", 1)),
        ("much later, very important", key("21T09:25:00", 2)),
        ("later", key("21T09:20:00", 1)),
        ("can wait", key("21T08:50:00", -1)),
    ];
    queue.sort_by_key(|(_, key)| *key);
    let names = queue.map(|(name, _)| name);
    let expected =
        ["new but important", "old", "can wait", "much later, very important", "new", "later"];
    assert_eq!(names, expected);
}

proptest! {
    /// The static key gives the same order as ageing does, at any time.
    #[test]
    fn keys_order_as_ageing_does(
        a in (0..10_000_000_i64, -5..5_i32),
        b in (0..10_000_000_i64, -5..5_i32),
        later in 0..10_000_000_i64,
        level in 1..1_000_000_i64,
    ) {
        let span = Span::from_millis(level);
        let key = |(ms, priority)| order_key(Time::from_millis(ms), priority, span);
        // Priority plus one level for each `level` of waiting, times `level`.
        let now = 10_000_000 + later;
        let aged = |(ms, priority): (i64, i32)| i64::from(priority) * level + (now - ms);
        prop_assert_eq!(key(a).cmp(&key(b)), aged(b).cmp(&aged(a)));
    }

    #[test]
    fn an_estimate_is_a_range_above_nothing(
        (place, slots, n_assigned) in any::<(u32, u32, u32)>(),
        handle in option(),
        during in 0..i64::MAX,
    ) {
        let handle_time = handle.map(Span::from_millis);
        let flow = Flow { slots, handle_time, n_assigned, during: Span::from_millis(during) };
        if let Some(EstimatedWait { from, to }) = estimate(place, &flow) {
            prop_assert!(from >= minutes(1) && to > from, "{from} {to}");
            prop_assert_eq!(from.as_millis() % 60_000, 0);
        }
    }

    /// When it is closed, it is open at the next opening and not a minute before.
    #[test]
    fn the_next_opening_is_the_next(ms in 0..4_000_000_000_000_i64, offset in -840..840_i32) {
        let hours = OpeningHours { utc_offset_minutes: offset, ..office() };
        let now = Time::from_millis(ms);
        let next = hours.next_opening(now).unwrap();
        prop_assert!(hours.is_open(next));
        prop_assert_eq!(next == now, hours.is_open(now));
        if next > now {
            let before = Time::from_millis((next.as_millis() - 1).max(ms));
            prop_assert!(!hours.is_open(before));
            prop_assert!(next.since(now) < Span::from_hours(7 * 24));
        } else {
            let end = hours.closes_at(now).unwrap();
            prop_assert!(end > now && !hours.is_open(end));
            prop_assert!(hours.is_open(Time::from_millis(end.as_millis() - 1)));
        }
    }
}

fn option() -> impl Strategy<Value = Option<i64>> {
    prop::option::of(0..i64::MAX)
}

/// `name available load/capacity minute-of-last-assignment skills languages team`
fn candidate(row: &str) -> Candidate {
    let [name, is_available, load, minute, skills, languages, team] =
        row.split_whitespace().collect::<Vec<_>>()[..]
    else {
        panic!("{row}");
    };
    let (load, capacity) = load.split_once('/').unwrap();
    let skill = |skill: &str| {
        let (name, level) = skill.split_once(':').unwrap();
        (name.to_owned(), level.parse().unwrap())
    };
    Candidate {
        agent: name.parse().unwrap(),
        is_available: is_available == "yes",
        skills: skills.split(',').filter(|skill| *skill != "-").map(skill).collect(),
        languages: languages.split(',').map(str::to_owned).collect(),
        teams: BTreeSet::from([team.parse().unwrap()]),
        capacity: capacity.parse().unwrap(),
        load: load.parse().unwrap(),
        last_assigned_at: Time::from_millis(minute.parse::<i64>().unwrap() * 60_000),
    }
}

fn wanted(value: Value) -> Wanted {
    serde_json::from_value(value).unwrap()
}

const SHIFT: [&str; 7] = [
    "ann   yes 1/3  50 billing:5,tax:2  en,es     north",
    "bob   yes 0/2  40 billing:3        en        north",
    "cleo  yes 1/2  40 billing:9        de-AT     south",
    "dora  no  0/9   1 billing:9,tax:9  en,es,de  north",
    "egon  yes 2/2   1 billing:9        en        north",
    "faye  yes 0/1  60 -                ja        south",
    "gil   yes 0/2  40 billing:3        en        north",
];

#[test]
fn the_one_who_was_idle_longest_takes_it() {
    let candidates: Vec<_> = SHIFT.iter().map(|row| candidate(row)).collect();
    let billing = |level: u8| json!([{ "name": "billing", "level_min": level }]);
    let rows = [
        (json!({}), "", "bob"),
        (json!({}), "bob", "gil"),
        (json!({}), "bob gil", "cleo"),
        (json!({ "language": "es" }), "", "ann"),
        (json!({ "language": "es-MX" }), "", "ann"),
        (json!({ "language": "de" }), "", "cleo"),
        (json!({ "language": "fr" }), "", "nobody"),
        (json!({ "team": "south" }), "", "cleo"),
        (json!({ "skills": billing(3) }), "", "bob"),
        (json!({ "skills": billing(4) }), "", "cleo"),
        (json!({ "skills": billing(4), "team": "north" }), "", "ann"),
        (json!({ "skills": billing(9), "team": "north" }), "", "nobody"),
    ];
    for (item, declined, expected) in rows {
        let declined: BTreeSet<AgentId> =
            declined.split_whitespace().map(|id| id.parse().unwrap()).collect();
        let item = wanted(item);
        let name =
            |found: Option<&Candidate>| found.map_or("nobody".to_owned(), |c| c.agent.to_string());
        assert_eq!(name(choose(&candidates, &item, &declined)), expected, "{item:?} {declined:?}");
        let backwards = choose(candidates.iter().rev(), &item, &declined);
        assert_eq!(name(backwards), expected, "in any order");
    }
}

#[test]
fn of_two_as_idle_the_less_busy_takes_it() {
    let rows = ["ann yes 1/2 5 - en a", "bob yes 1/3 5 - en a", "cy yes 2/6 5 - en a"];
    let candidates: Vec<_> = rows.iter().map(|row| candidate(row)).collect();
    let chosen = choose(&candidates, &wanted(json!({})), &BTreeSet::new()).unwrap();
    assert_eq!(chosen.agent.as_str(), "bob");
}

#[test]
fn a_refusal_has_its_reason() {
    let item = wanted(json!({ "team": "north", "language": "en",
        "skills": [{ "name": "billing", "level_min": 4 }] }));
    let declined = BTreeSet::from(["gil".parse().unwrap()]);
    let reasons = SHIFT.map(|row| eligible(&candidate(row), &item, &declined).err());
    let expected = [
        None,
        Some(Ineligible::MissingSkill),
        Some(Ineligible::OtherTeam),
        Some(Ineligible::Unavailable),
        Some(Ineligible::NoCapacity),
        Some(Ineligible::OtherTeam),
        Some(Ineligible::Declined),
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn what_an_item_asks_for_has_limits() {
    let item = wanted(json!({ "skills": [{ "name": "tax", "level_min": 5 }] }));
    assert_eq!(item.problems(), []);
    let item = wanted(json!({ "skills": [
        { "name": " ", "level_min": 0 }, { "name": "tax", "level_min": 6 }] }));
    let fields: Vec<_> = item.problems().into_iter().map(|problem| problem.field).collect();
    let expected = ["skills[0].name", "skills[0].level_min", "skills[1].level_min"];
    assert_eq!(fields, expected);
}

fn patience() -> Patience {
    serde_json::from_value(json!({
        "relax": [
            { "after": "1m", "relax": "preferred_skills" },
            { "after": "2m", "relax": { "levels_by": 3 } },
            { "after": "5m", "relax": "all_skills" },
            { "after": "8m", "relax": "team" },
        ],
        "overflow": [{ "after": "6m", "to": "second-line" }, { "after": "20m", "to": "callbacks" }],
    }))
    .unwrap()
}

#[test]
fn less_is_asked_the_longer_somebody_waits() {
    let item = wanted(json!({ "team": "north", "skills": [
        { "name": "billing", "level_min": 5 },
        { "name": "tax", "level_min": 2 },
        { "name": "golf", "level_min": 9, "preferred": true }] }));
    let rows = [
        (0, "billing5 tax2 golf9 north", None, Some(1)),
        (1, "billing5 tax2 north", None, Some(2)),
        (2, "billing2 tax1 north", None, Some(5)),
        (5, "north", None, Some(6)),
        (6, "north", Some("second-line"), Some(8)),
        (19, "", Some("second-line"), Some(20)),
        (60, "", Some("callbacks"), None),
    ];
    for (waited, expected, elsewhere, next) in rows {
        let relaxed = patience().relaxed(&item, minutes(waited));
        let skills =
            relaxed.skills.iter().map(|skill| format!("{}{}", skill.name, skill.level_min));
        let asked: Vec<_> = skills.chain(relaxed.team.map(|team| team.to_string())).collect();
        assert_eq!(asked.join(" "), expected, "after {waited} minutes");
        let patience = patience();
        assert_eq!(patience.overflow(minutes(waited)).map(AgentId::as_str), elsewhere, "{waited}");
        let start = at("21T09:00:00");
        let change = patience.next_change(start, start.plus(minutes(waited)));
        assert_eq!(change, next.map(|next| start.plus(minutes(next))), "{waited}");
    }
}

#[test]
fn steps_that_make_no_sense_are_named() {
    assert_eq!(patience().problems(), []);
    let wrong: Patience = serde_json::from_value(json!({
        "relax": [
            { "after": "0s", "relax": "team" },
            { "after": "2m", "relax": { "levels_by": 0 } },
        ],
        "overflow": [{ "after": "6m", "to": "a" }, { "after": "6m", "to": "b" }],
    }))
    .unwrap();
    let fields: Vec<_> = wrong.problems().into_iter().map(|problem| problem.field).collect();
    let expected = ["relax[0].after", "overflow[1].after", "relax[1].relax.levels_by"];
    assert_eq!(fields, expected);
}

#[test]
fn a_wait_is_told_as_a_range_or_not_at_all() {
    // place, slots, minutes each, assigned within 15 minutes → from and to, in minutes
    let rows = [
        (1, 4, Some(8), 0, Some((2, 3))),
        (1, 100, Some(1), 0, Some((1, 2))),
        (5, 4, Some(8), 0, Some((8, 15))),
        (20, 4, Some(8), 0, Some((30, 60))),
        (5, 0, Some(8), 30, None),
        (5, 4, None, 0, None),
        (5, 4, None, 15, Some((4, 8))),
        // Enough assignments to weigh as much as the model: the middle of 10 and 7.5 minutes.
        (5, 4, Some(8), 10, Some((7, 15))),
        (5, 4, Some(0), 0, None),
        (100_000, 1, Some(8), 0, None),
        (0, 4, Some(8), 0, Some((2, 3))),
    ];
    for (place, slots, each, n_assigned, expected) in rows {
        let flow = Flow { slots, handle_time: each.map(minutes), n_assigned, during: minutes(15) };
        let told = estimate(place, &flow)
            .map(|wait| (wait.from.as_millis() / 60_000, wait.to.as_millis() / 60_000));
        assert_eq!(told, expected, "{place} {flow:?}");
    }
}

fn office() -> OpeningHours {
    serde_json::from_value(json!({
        "utc_offset_minutes": 60,
        "monday": [{ "from": "09:00", "to": "12:00" }, { "from": "13:00", "to": "17:30" }],
        "friday": [{ "from": "20:00", "to": "24:00" }],
        "saturday": [{ "from": "00:00", "to": "02:00" }],
    }))
    .unwrap()
}

#[test]
fn a_week_has_its_hours() {
    // 2026-02-23 is a Monday; the office is an hour ahead of UTC.
    let rows = [
        ("23T07:59:59", "23T08:00:00", None),
        ("23T08:00:00", "23T08:00:00", Some("23T11:00:00")),
        ("23T11:00:00", "23T12:00:00", None),
        ("23T16:29:59", "23T16:29:59", Some("23T16:30:00")),
        ("23T16:30:00", "27T19:00:00", None),
        ("27T22:30:00", "27T22:30:00", Some("28T01:00:00")),
        ("28T00:59:59", "28T00:59:59", Some("28T01:00:00")),
    ];
    for (now, next, closes) in rows {
        assert_eq!(office().next_opening(at(now)), Some(at(next)), "{now}");
        assert_eq!(office().is_open(at(now)), now == next, "{now}");
        assert_eq!(office().closes_at(at(now)), closes.map(at), "{now}");
    }
    let monday: Time = "2026-03-02T08:00:00Z".parse().unwrap();
    assert_eq!(office().next_opening(at("28T01:00:00")), Some(monday));
    assert_eq!(OpeningHours::default().next_opening(monday), None);
    let always = json!([{ "from": "00:00", "to": "24:00" }]);
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let always: serde_json::Map<_, _> =
        days.iter().map(|day| ((*day).to_owned(), always.clone())).collect();
    let always: OpeningHours = serde_json::from_value(Value::Object(always)).unwrap();
    assert_eq!((always.next_opening(monday), always.closes_at(monday)), (Some(monday), None));
}

#[test]
fn hours_that_make_no_sense_are_named() {
    assert_eq!(office().problems(), []);
    let wrong: OpeningHours = serde_json::from_value(json!({
        "utc_offset_minutes": 900,
        "monday": [{ "from": "9:00", "to": "25:00" }, { "from": "22:00", "to": "06:00" }],
        "sunday": [{ "from": "10:60", "to": "+1:00" }],
        "friday": [
            { "from": "13:00", "to": "17:00" },
            { "from": "09:00", "to": "13:00" },
            { "from": "12:59", "to": "13:01" },
            { "from": "13:30", "to": "14:00" },
            { "from": "17:00", "to": "09:00" },
        ],
    }))
    .unwrap();
    let fields: Vec<_> = wrong.problems().into_iter().map(|problem| problem.field).collect();
    let expected = [
        "utc_offset_minutes",
        "monday[0].from",
        "monday[0].to",
        "monday[1].to",
        "friday[2]",
        "friday[3]",
        "friday[4].to",
        "sunday[0].from",
        "sunday[0].to",
    ];
    assert_eq!(fields, expected);
    assert!(!wrong.is_open(at("23T09:00:00")), "what makes no sense is closed");
}
