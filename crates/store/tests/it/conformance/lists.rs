//! Lists: every filter, in pages of every size, within one teamspace and never beyond.

use engine::ports::store::{HandoffFilter, List, ListOf};
use protocol::handoff::Status;
use protocol::ids::TokenId;
use protocol::ledger::{Stream, Subject};
use protocol::step::State;

use super::fixture::{Place, Track, agent, handoff_between, handoff_id, teamspace, token};
use crate::support::id;

const TEAMSPACES: [&str; 2] = ["default", "other"];
const TASKS: [&str; 3] = ["t1", "t2", "t3"];
const AGENTS: [&str; 3] = ["barry", "tim", "zoe"];

/// A row as the test made it, which the list must find.
struct Made {
    stream: Stream,
    state: State,
}

pub async fn handoffs_are_listed_by_every_filter_and_page(place: Place) {
    let made = make_handoffs(&place).await;
    let options = |names: &[&'static str]| -> Vec<Option<&'static str>> {
        names.iter().copied().map(Some).chain([None]).collect()
    };
    let mut n_found = 0;
    for name in TEAMSPACES {
        for task in options(&TASKS) {
            for from in options(&AGENTS[..2]) {
                for to in options(&AGENTS[1..]) {
                    for (status, is_open, party) in statuses() {
                        let filter = HandoffFilter {
                            task_id: task.map(|task| task.parse().unwrap()),
                            from_agent: from.map(id),
                            to_agent: to.map(id),
                            status,
                            is_open,
                            party: party.map(id),
                        };
                        n_found += check(&place, &made, name, filter).await;
                    }
                }
            }
        }
    }
    assert!(n_found > 500, "the filters find something: {n_found}");
    let of = ListOf::Handoffs(HandoffFilter::default());
    assert_eq!(pages(&place, "third", &of, 3).await, Vec::<Stream>::new());
}

/// Each status alone, all, all that are open, and those of one agent.
fn statuses() -> impl Iterator<Item = (Option<Status>, bool, Option<&'static str>)> {
    let each = Status::ALL.into_iter().map(|status| (Some(status), false, None));
    let party = Some(AGENTS[1]);
    let open = [(None, true, None), (Some(Status::Closed), true, None), (None, true, party)];
    each.chain([(None, false, None), (None, false, party)]).chain(open)
}

/// Each filter, read in pages of one, three and all, newest first.
async fn check(place: &Place, made: &[Made], in_teamspace: &str, filter: HandoffFilter) -> usize {
    let is_wanted = |made: &&Made| {
        let State::Handoff(handoff) = &made.state else { return false };
        made.stream.teamspace.as_str() == in_teamspace
            && filter.task_id.as_ref().is_none_or(|task| handoff.task_id() == Some(task))
            && filter.from_agent.as_ref().is_none_or(|from| handoff.from() == from)
            && filter.to_agent.as_ref().is_none_or(|to| handoff.to() == Some(to))
            && filter.status.is_none_or(|status| handoff.status() == status)
            && filter
                .party
                .as_ref()
                .is_none_or(|it| handoff.from() == it || handoff.to() == Some(it))
            && (handoff.status() != Status::Closed || !filter.is_open)
    };
    let expected: Vec<Stream> =
        made.iter().rev().filter(is_wanted).map(|made| made.stream.clone()).collect();
    let of = ListOf::Handoffs(filter);
    let sizes: &[usize] = if expected.len() > 1 { &[1, 3, 100] } else { &[2] };
    for size in sizes {
        assert_eq!(pages(place, in_teamspace, &of, *size).await, expected, "{of:?} by {size}");
    }
    expected.len()
}

async fn pages(place: &Place, in_teamspace: &str, of: &ListOf, size: usize) -> Vec<Stream> {
    let mut found = Vec::new();
    let mut before = None;
    loop {
        let list = List { teamspace: teamspace(in_teamspace), of: of.clone(), before, limit: size };
        let page = place.store.list(list).await.expect("a list can be read");
        assert!(page.len() <= size);
        let Some(last) = page.last() else { return found };
        assert!(page.is_sorted_by(|newer, older| newer.row > older.row), "newest first");
        before = Some(last.row);
        for listed in page {
            let snapshot = place.store.load(&listed.stream).await.expect("it can be read");
            let snapshot = snapshot.expect("what is listed exists");
            assert_eq!(
                (&listed.state_text, listed.position, listed.last_seq, listed.at),
                (&snapshot.state_text, snapshot.position, snapshot.last_seq, snapshot.at)
            );
            found.push(listed.stream);
        }
    }
}

/// In order of creation, all statuses and parties mixed; every second one is changed again, which
/// must not change its place in the list.
async fn make_handoffs(place: &Place) -> Vec<Made> {
    let mut made = Vec::new();
    for number in 0..48usize {
        let name = TEAMSPACES[number / 2 % 2];
        let task = if number % 5 == 0 { format!("own-{number}") } else { TASKS[number % 3].into() };
        let handoff = handoff_id(u32::try_from(number).expect("a small number"));
        // One active handoff per task and teamspace: the others have ended.
        let is_free = !made.iter().any(|made: &Made| is_active(made, name, &task));
        let status = match Status::ALL[number % 8] {
            status if status.is_active() && !is_free => Status::Closed,
            status => status,
        };
        let (from, to) = (AGENTS[number % 2], AGENTS[1 + number % 2]);
        let state = handoff_between(from, to, handoff, &task, status);
        let mut track = Track::new(name, Subject::Handoff(handoff));
        place.store.commit(track.next(state.clone(), 1)).await.expect("it is new");
        if number % 2 == 0 {
            place.store.commit(track.next(state.clone(), 2)).await.expect("it continues");
        }
        made.push(Made { stream: track.stream, state });
    }
    made
}

fn is_active(made: &Made, in_teamspace: &str, task: &str) -> bool {
    let State::Handoff(handoff) = &made.state else { return false };
    let is_same = handoff.task_id().is_some_and(|id| id.as_str() == task);
    made.stream.teamspace.as_str() == in_teamspace && is_same && handoff.status().is_active()
}

pub async fn agents_and_tokens_are_listed_apart(place: Place) {
    let mut agents = Vec::new();
    let mut tokens = Vec::new();
    for (number, name) in (1u32..).zip(["barry", "tim", "zoe"]) {
        let mut track = Track::new("default", Subject::Agent(id(name)));
        place.store.commit(track.next(agent(name), 1)).await.unwrap();
        agents.push(track.stream.clone());
        let token_id: TokenId = handoff_id(number).to_string().parse().unwrap();
        let mut track = Track::new("default", Subject::Token(token_id));
        place.store.commit(track.next(token(token_id, name), 1)).await.unwrap();
        tokens.push(track.stream.clone());
    }
    let mut elsewhere = Track::new("other", Subject::Agent(id("barry")));
    place.store.commit(elsewhere.next(agent("barry"), 1)).await.unwrap();
    agents.reverse();
    tokens.reverse();
    for size in [1, 2, 100] {
        assert_eq!(pages(&place, "default", &ListOf::Agents, size).await, agents);
        assert_eq!(pages(&place, "default", &ListOf::Tokens, size).await, tokens);
        assert_eq!(pages(&place, "other", &ListOf::Agents, size).await, [elsewhere.stream.clone()]);
        assert!(pages(&place, "other", &ListOf::Tokens, size).await.is_empty());
    }
}
