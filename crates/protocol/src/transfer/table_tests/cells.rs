//! Every state with every action.

use super::check;
use super::world::World;
use crate::transfer::status::{Action, Status, next};

/// Each cell of the table is checked with a real conversation in that state.
#[test]
fn every_cell_of_the_table() {
    // A request is queued in the same step: no caller ever finds it in between.
    for status in Status::ALL.into_iter().filter(|status| *status != Status::Requested) {
        for action in Action::ALL {
            let Some(line) = line_for(action) else { continue };
            let mut world = world_in(status);
            let shown = world.line(&line(&world));
            let then =
                |to| if action == Action::Request { next(to, Action::Queue) } else { Some(to) };
            let expected = next(status, action).and_then(then).map(Status::as_str);
            let word = shown.split(' ').next().expect("a word");
            match expected {
                Some(expected) => assert_eq!(word, expected, "{status:?} {action:?}"),
                None => assert!(is_refusal(&shown), "{status:?} {action:?}: {shown}"),
            }
        }
    }
}

fn is_refusal(shown: &str) -> bool {
    let refusals = [
        "nothing",
        "wrong_state",
        "HANDOFF_GONE",
        "HANDOFF_DUPLICATE_REQUEST",
        "not_allowed",
        "not_found",
        "conversation_closed",
    ];
    refusals.contains(&shown) || shown.starts_with("claimed by")
}

pub fn world_in(status: Status) -> World {
    let lines: &[&str] = match status {
        Status::Idle => return World::script(&["shop open agent=bob => idle bob@1"]),
        Status::Requested | Status::Queued => &[],
        Status::Ringing => &["hana pickup epoch=2 => ringing support@2"],
        Status::Connected => &["hana answer epoch=2 => connected hana@3"],
        Status::OnHold => {
            &["hana answer epoch=2 => connected hana@3", "hana hold epoch=3 => on_hold hana@3"]
        }
        Status::Completed => {
            &["hana answer epoch=2 => connected hana@3", "hana complete epoch=3 => completed bob@4"]
        }
        Status::Ended => {
            &["hana answer epoch=2 => connected hana@3", "hana end epoch=3 => ended hana@3 closed"]
        }
        Status::Failed => &["system fail => failed bob@3"],
        Status::Cancelled => &["customer cancel => cancelled bob@3"],
    };
    check(lines)
}

/// The command for an action, by an allowed caller; `None` for actions that only follow from
/// another.
fn line_for(action: Action) -> Option<impl Fn(&World) -> String> {
    let who = match action {
        Action::Request => "customer request",
        Action::Pickup => "ivan pickup",
        Action::Accept => "hana accept",
        Action::Decline => "hana decline",
        Action::Hold => "hana hold",
        Action::Resume => "hana resume",
        Action::Transfer => "hana transfer to=ivan",
        Action::TransferBlind => "hana transfer to=support type=blind",
        Action::LoseAgent => "system lose agent=hana",
        Action::Complete => "coord complete",
        Action::End => "coord end",
        Action::Fail => "coord fail",
        Action::Cancel => "coord cancel",
        Action::Queue | Action::Miss | Action::Join => return None,
    };
    Some(move |world: &World| format!("{who} epoch={}", world.conversation().epoch))
}
