//! How many uploads may be open at once, and which ones give way. Uploads that have begun and got
//! no byte cost their owner nothing, so they must not use up what others need.

use std::collections::HashMap;

use protocol::caller::Principal;
use protocol::ids::UploadId;
use protocol::time::{Span, Time};

use super::removing::UPLOAD_KEPT;
use super::{
    FileError, UPLOADS_OF_CUSTOMERS_MAX, UPLOADS_PER_CALLER_MAX, UPLOADS_PER_TEAMSPACE_MAX,
};
use crate::ports::files::Upload;

/// An upload whose first piece does not come for so long is given up. A client sends the first
/// piece at once; this is time for a lost connection and a restart of the client.
pub const EMPTY_UPLOAD_KEPT: Span = Span::from_minutes(10);

/// What an upload finds when it begins.
#[derive(Debug, Default)]
pub(super) struct Admitted {
    /// What the other uploads of the caller will need.
    pub own_open: u64,
    /// What the other uploads of the teamspace will need, with those of the caller.
    pub all_open: u64,
    /// Uploads that give way to it.
    pub leaving: Vec<Upload>,
}

/// Whether the time of an upload is over.
pub(super) fn is_over(upload: &Upload, now: Time) -> bool {
    let kept = if is_empty(upload) { EMPTY_UPLOAD_KEPT } else { UPLOAD_KEPT };
    now.since(upload.touched_at) >= kept
}

/// Whether one more upload may be open, and which ones give way to it: those whose time is over,
/// the oldest of the caller, and the oldest without a byte where all places are taken.
pub(super) fn admit(
    open: &HashMap<UploadId, Upload>,
    upload: &Upload,
    now: Time,
) -> Result<Admitted, FileError> {
    let is_unfinished = |it: &&Upload| it.teamspace == upload.teamspace && it.file.is_none();
    let (over, mut others): (Vec<&Upload>, Vec<&Upload>) =
        open.values().filter(is_unfinished).partition(|it| is_over(it, now));
    let mut leaving: Vec<Upload> = over.into_iter().cloned().collect();
    let own = others.iter().filter(|it| it.owner == upload.owner);
    let is_customer = is_of_customer(upload);
    let n_customers = others.iter().filter(|it| is_of_customer(it)).count();
    let are_customers_full = is_customer && n_customers >= UPLOADS_OF_CUSTOMERS_MAX;
    let oldest = if own.clone().count() >= UPLOADS_PER_CALLER_MAX {
        oldest(own.copied())
    } else if are_customers_full || others.len() >= UPLOADS_PER_TEAMSPACE_MAX {
        // Customers do not push out members.
        let may_leave = |it: &&Upload| is_empty(it) && (!is_customer || is_of_customer(it));
        let found = oldest(others.iter().copied().filter(may_leave));
        Some(found.ok_or(FileError::TooManyUploads)?)
    } else {
        None
    };
    if let Some(oldest) = oldest {
        others.retain(|it| it.id != oldest.id);
        leaving.push(oldest.clone());
    }
    let own_open = others.iter().filter(|it| it.owner == upload.owner).map(|it| it.size_bytes);
    let all_open = others.iter().map(|it| it.size_bytes);
    Ok(Admitted { own_open: own_open.sum(), all_open: all_open.sum(), leaving })
}

fn is_empty(upload: &Upload) -> bool {
    upload.offset == 0 && upload.file.is_none()
}

fn is_of_customer(upload: &Upload) -> bool {
    upload.owner.parse().is_ok_and(|owner| matches!(owner, Principal::Customer(_)))
}

fn oldest<'a>(uploads: impl Iterator<Item = &'a Upload>) -> Option<&'a Upload> {
    uploads.min_by_key(|it| (it.touched_at, it.id))
}

#[cfg(test)]
mod tests {
    use protocol::ids::TeamspaceId;

    use super::*;

    /// An upload of 10 bytes, begun at this second.
    fn upload(number: usize, owner: &str, second: i64, offset: u64) -> Upload {
        Upload {
            id: UploadId::new(uuid::Uuid::from_u128(number as u128 + 1)),
            teamspace: TeamspaceId::default_teamspace(),
            owner: owner.to_owned(),
            size_bytes: 10,
            expected: None,
            offset,
            touched_at: at(second),
            file: None,
        }
    }

    fn at(second: i64) -> Time {
        Time::from_millis(1_771_682_400_000 + second * 1_000)
    }

    /// Eight uploads of each of these callers.
    fn many(kind: &str, callers: std::ops::Range<usize>, offset: u64) -> HashMap<UploadId, Upload> {
        let one = |number: usize| {
            let owner = format!("{kind}:{kind}-{}", number / 8);
            let upload = upload(number, &owner, 0, offset);
            (upload.id, upload)
        };
        (callers.start * 8..callers.end * 8).map(one).collect()
    }

    /// Who gives way to an upload of `owner`, or `full`.
    fn leaving(open: &HashMap<UploadId, Upload>, owner: &str, second: i64) -> String {
        match admit(open, &upload(9_999, owner, second, 0), at(second)) {
            Ok(Admitted { leaving, .. }) => {
                let names: Vec<_> = leaving.into_iter().map(|it| it.owner).collect();
                names.join(" ")
            }
            Err(FileError::TooManyUploads) => "full".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn empty_uploads_give_way_and_customers_leave_places_to_members() {
        let customers = |n_callers, offset| many("customer", 0..n_callers, offset);
        let members = |n_callers, offset| many("agent", 0..n_callers, offset);
        let mut mixed = customers(24, 1);
        mixed.extend(many("agent", 24..32, 0));
        for (what, open, owner, expected) in [
            ("a place is free", customers(23, 0), "customer:new", ""),
            ("customers have theirs", customers(24, 0), "customer:new", "customer:customer-0"),
            ("all of them have bytes", customers(24, 1), "customer:new", "full"),
            ("members have more", customers(24, 1), "agent:new", ""),
            ("members have all", members(32, 1), "agent:new", "full"),
            ("members have no byte", members(32, 0), "agent:new", "agent:agent-0"),
            ("members stay", members(32, 0), "customer:new", "full"),
            ("all places are taken", mixed, "agent:new", "agent:agent-24"),
            ("the caller has its own", members(32, 1), "agent:agent-3", "agent:agent-3"),
        ] {
            assert_eq!(leaving(&open, owner, 1), expected, "{what}");
        }
    }

    #[test]
    fn an_upload_without_a_byte_ends_before_one_with_some() {
        let open = [(1, 0), (2, 5)].map(|(number, offset)| {
            let upload = upload(number, &format!("customer:c{number}"), 0, offset);
            (upload.id, upload)
        });
        let open = HashMap::from(open);
        let minute = 60;
        for (second, expected) in
            [(9 * minute, ""), (10 * minute, "customer:c1"), (24 * 60 * minute - 1, "customer:c1")]
        {
            assert_eq!(leaving(&open, "agent:bob", second), expected, "{second}");
        }
    }

    #[test]
    fn what_others_need_is_not_the_callers() {
        let open = many("customer", 0..3, 1);
        let new = upload(9_999, "customer:customer-1", 1, 0);
        let Admitted { own_open, all_open, .. } = admit(&open, &new, at(1)).unwrap();
        assert_eq!((own_open, all_open), (70, 230));
    }
}
