//! Many customers, few people, and everything that goes wrong on a shift: no person exceeds their
//! capacity, no customer is lost, and none is with two people at once. Random actions, several at
//! the same time, on a manual clock.

mod ledger;
mod shift;

use crate::server::{is_full_run, seed};
use crate::support::all_after;
use ledger::Watch;
use shift::{Shift, Size};

/// The short one takes some seconds on a busy machine.
const SHORT: Size = Size { n_people: 8, n_customers: 60, n_steps: 150 };
const FULL: Size = Size { n_people: 50, n_customers: 500, n_steps: 1_000 };

#[tokio::test(flavor = "multi_thread")]
async fn a_shift_on_which_everything_goes_wrong_loses_no_customer() {
    let size = if is_full_run() { FULL } else { SHORT };
    let mut shift = Shift::begin(size, seed("transfers::load")).await;
    for _ in 0..size.n_steps {
        shift.step().await;
        shift.check_slots().await;
    }
    shift.settle().await;
    shift.check_slots().await;

    let mut watch = Watch::default();
    for kept in all_after(&*shift.store, 0).await.expect("the ledger can be read") {
        watch.see(&kept.entry);
    }
    println!("{}", watch.summary());
    assert_eq!(watch.n_over(), size.n_customers, "each transfer ends once: {}", watch.summary());
    // A shift without these would prove nothing.
    for (name, why) in [
        ("transfer.returned", "declined"),
        ("transfer.returned", "not_answered"),
        ("transfer.returned", "agent_lost"),
        ("transfer.over", "completed"),
        ("transfer.over", "cancelled"),
    ] {
        assert!(watch.n_seen(name, why) > 0, "no {name} {why}: {}", watch.summary());
    }
    assert_eq!(watch.n_seen("transfer.over", "failed"), 0);
    assert!(watch.most_at_once <= usize::from(shift::CAPACITY));
}
