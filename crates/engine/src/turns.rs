//! Taking turns, so that the teamspace with the most work does not delay the others.

use std::collections::BTreeMap;
use std::ops::Bound;

use protocol::ids::TeamspaceId;

/// The teamspaces in the order of their names, beginning after the one that was served last. All of
/// them come up at least once.
pub(crate) fn in_turn<'m, V>(
    all: &'m BTreeMap<TeamspaceId, V>,
    served: Option<&TeamspaceId>,
) -> impl Iterator<Item = (&'m TeamspaceId, &'m V)> {
    let after = served.map_or(Bound::Unbounded, Bound::Excluded);
    all.range((after, Bound::Unbounded)).chain(all)
}
