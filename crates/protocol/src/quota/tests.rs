//! The table of quotas, and what counts against them.

use super::*;

#[test]
fn every_quota_has_one_name_and_one_place() {
    for (index, quota) in Quota::ALL.into_iter().enumerate() {
        assert_eq!(quota as usize, index, "{quota:?}");
        let name = serde_json::to_value(quota).expect("a name");
        assert_eq!(name, quota.as_str(), "the setting and the refusal have one name");
        assert_eq!(Quota::of(quota.whose(), quota.measure()), Some(quota));
        assert!(quota.default_limit() > 0, "{quota:?} has a default");
    }
}

#[test]
fn what_is_set_takes_the_place_of_the_default() {
    let set = SetQuotas::from([(Quota::MemberStoredMib, 3), (Quota::MemberDrafts, 0)]);
    let limits = Limits::default().with(&set);
    assert_eq!(limits.of(Quota::MemberStoredMib), Some(3));
    assert_eq!(limits.counted(Quota::MemberStoredMib), Some(3 * 1024), "in KiB");
    assert_eq!(limits.of(Quota::MemberDrafts), None, "0 is no limit");
    assert_eq!(limits.of(Quota::TeamspaceGraphs), Some(1_000), "the others keep theirs");
    assert!(Quota::ALL.into_iter().all(|quota| Limits::NONE.of(quota).is_none()));
}

/// A customer can neither fill a disk in a day nor in a burst.
#[test]
fn the_defaults_of_a_customer_are_those_of_a_person() {
    let limits = Limits::default();
    let per_day = limits.counted(Quota::CustomerMibPerDay).expect("a limit");
    assert!(per_day <= 64 * 1024, "{per_day} KiB a day");
    assert!(limits.of(Quota::CustomerKibPerMinute) <= Some(per_day));
}
