//! The rules of presence as tables: on the left a script of commands; on the right of `=>` the
//! events, the state of ann, and her deadline. Times are seconds since the start.

use std::collections::BTreeSet;

use super::{Presence, Reach};
use crate::agent::{Agent, Command, Kind, Profile};
use crate::caller::{Caller, Principal, Role};
use crate::codec;
use crate::ids::{AgentId, TeamspaceId};
use crate::ledger::{Stream, Subject};
use crate::rejection::Rejection;
use crate::step::{self, Context, Event, Facts, State};
use crate::time::{Span, Time};

#[test]
fn a_connected_human_is_where_it_says() {
    check(
        "0   ann set available      => presence_changed: available until 900
         5   server connect         => connected: available
         6   server connect         => nothing: available
         10  ann set busy           => presence_changed: busy
         11  ann set busy           => nothing: busy
         20  ann set away           => presence_changed: away
         9999 ann set offline       => presence_changed: offline
         9999 ann set offline       => nothing: offline
         9999 ann set available     => presence_changed: available",
    );
}

#[test]
fn whoever_is_back_in_time_was_never_lost() {
    check(
        "0   server connect         => connected: offline
         1   ann set available      => presence_changed: available
         10  server lose            => connection_lost: available until 40
         11  server lose            => nothing: available until 40
         39  server elapse 40       => nothing: available until 40
         39  server connect         => connected: available
         40  server elapse 40       => nothing: available",
    );
}

#[test]
fn whoever_is_not_back_in_time_is_offline_until_it_is() {
    check(
        "0   server connect         => connected: offline
         1   ann set away           => presence_changed: away
         10  server lose            => connection_lost: away until 40
         40  server elapse 40       => lost: offline
         40  server elapse 40       => nothing: offline
         50  server lose            => nothing: offline
         60  server connect         => connected: away
         61  ann set available      => presence_changed: available
         70  server lose            => connection_lost: available until 100
         90  server elapse 40       => nothing: available until 100
         130 server elapse 100      => lost: offline",
    );
}

#[test]
fn nobody_waits_for_whoever_said_that_it_leaves() {
    check(
        "0   server connect         => connected: offline
         1   ann set busy           => presence_changed: busy
         2   ann set offline        => presence_changed: offline
         3   server lose            => connection_lost: offline
         4   server connect         => connected: offline
         5   ann set available      => presence_changed: available
         6   server lose            => connection_lost: available until 36
         7   ann set offline        => presence_changed: offline
         36  server elapse 36       => nothing: offline",
    );
}

#[test]
fn without_a_connection_a_word_counts_for_a_while() {
    check(
        "0    ann set available     => presence_changed: available until 900
         10   ann set available     => nothing: available until 900
         449  ann set available     => nothing: available until 900
         450  ann set available     => presence_changed: available until 1350
         460  ann set busy          => presence_changed: busy until 1360
         900  server elapse 900     => nothing: busy until 1360
         1360 server elapse 1360    => lost: offline
         1400 ann set busy          => presence_changed: busy until 2300
         1500 server connect        => connected: busy
         1501 server lose           => connection_lost: busy until 1531
         1502 ann set busy          => presence_changed: busy until 2402
         1531 server elapse 1531    => nothing: busy until 2402",
    );
}

#[test]
fn who_may_say_where_somebody_is() {
    check(
        "0 bob set available        => not_allowed
         0 customer set available   => not_allowed
         0 server set available     => not_allowed
         0 lead set busy            => presence_changed: busy until 900 by lead
         0 root set away            => presence_changed: away until 900 by root
         0 ann set available        => presence_changed: available until 900
         0 ann connect              => not_allowed
         0 root connect             => not_allowed
         0 root lose                => not_allowed
         0 root elapse 0            => not_allowed",
    );
}

#[test]
fn only_humans_come_and_go() {
    for (kind, presence) in [
        (Kind::Worker, Presence::Available),
        (Kind::Queue, Presence::Available),
        (Kind::System, Presence::Offline),
    ] {
        let mut ann = ann(kind);
        assert_eq!(act(&mut ann, "0 root set away").unwrap_err().code(), "schema_invalid");
        assert_eq!(act(&mut ann, "0 server connect").unwrap(), ["nothing"]);
        assert_eq!(act(&mut ann, "0 server lose").unwrap(), ["nothing"]);
        assert_eq!(ann.presence(), presence, "{kind:?}");
        assert_eq!(ann.is_available(), presence == Presence::Available, "{kind:?}");
    }
}

fn check(script: &str) {
    let mut ann = ann(Kind::Human);
    assert_eq!((ann.presence(), ann.attendance.reach), (Presence::Offline, Reach::Gone));
    for line in script.lines() {
        let (asked, expected) = line.split_once("=>").expect("what comes of it");
        let came = match act(&mut ann, asked) {
            Err(rejection) => rejection.code().to_owned(),
            Ok(events) => {
                let mut came = format!("{}: {}", events.join(" "), ann.presence().as_str());
                if let Some(deadline) = ann.deadlines().first() {
                    let seconds = deadline.due.since(start()).as_millis() / 1_000;
                    came += &format!(" until {seconds}");
                }
                if let Some(by) = &ann.attendance.by {
                    came += &format!(" by {by}");
                }
                came
            }
        };
        assert_eq!(came, expected.trim(), "{line}");
    }
}

/// `<seconds> <caller> <command>`. Returns the names of the events, without `agent.`.
fn act(ann: &mut Agent, asked: &str) -> Result<Vec<String>, Rejection> {
    let words: Vec<_> = asked.split_whitespace().collect();
    let at =
        |seconds: &str| start().plus(Span::from_millis(1_000 * seconds.parse::<i64>().unwrap()));
    let command = match words[2..] {
        ["set", presence] => Command::SetPresence { presence: presence.parse().unwrap() },
        ["connect"] => Command::Connect,
        ["lose"] => Command::LoseConnection,
        ["elapse", due] => Command::Elapse { due: at(due) },
        _ => panic!("no such command: {asked}"),
    };
    let subject = Subject::Agent(ann.id.clone());
    let stream = Stream { teamspace: TeamspaceId::default_teamspace(), subject };
    let caller = caller(words[1]);
    let context = Context { caller: &caller, now: at(words[0]), facts: &Facts::default() };
    let state = State::Agent(ann.clone());
    let change = step::step(&stream, Some(&state), &step::Command::Agent(command), context)?;
    let State::Agent(next) = change.state else { panic!("an agent stays one") };
    let (old, new) = (ann.deadlines(), next.deadlines());
    let moved = if old == new { (vec![], vec![]) } else { (old, new) };
    assert_eq!((change.disarm, change.arm), moved, "{asked}");
    *ann = next;
    let names = change.events.iter().map(|recorded| {
        let read = codec::decode(recorded.name, recorded.version, &recorded.body).unwrap();
        assert!(matches!(read, Event::Agent(_)));
        recorded.name.trim_start_matches("agent.").to_owned()
    });
    let names: Vec<_> = names.collect();
    Ok(if names.is_empty() { vec!["nothing".to_owned()] } else { names })
}

fn ann(kind: Kind) -> Agent {
    Agent::new(id("ann"), kind, Profile::default())
}

fn caller(name: &str) -> Caller {
    let teamspace = TeamspaceId::default_teamspace();
    let (principal, roles) = match name {
        "server" => return Caller::system(teamspace),
        "root" => (Principal::Operator(id(name)), BTreeSet::new()),
        "customer" => (Principal::Customer(id(name)), BTreeSet::new()),
        "lead" => (Principal::Agent(id(name)), BTreeSet::from([Role::Coordinator])),
        _ => (Principal::Agent(id(name)), BTreeSet::new()),
    };
    Caller { teamspace, principal, roles, session: "test".to_owned() }
}

fn start() -> Time {
    "2026-02-21T14:00:00Z".parse().expect("a time")
}

fn id(name: &str) -> AgentId {
    name.parse().expect("an agent id")
}
