//! Arbitrary events of graphs.

use proptest::prelude::*;

use super::text;
use crate::graph;
use crate::step::Event;

pub fn graphs() -> impl Strategy<Value = Event> {
    let saved = (text(), any::<[u64; 6]>()).prop_map(|(hash, counts)| {
        let [version, size_bytes, n_routers, n_specialists, n_rules, n_signals] = counts;
        graph::Event::Saved(graph::Saved {
            version,
            hash,
            size_bytes,
            n_routers,
            n_specialists,
            n_rules,
            n_signals,
        })
    });
    let removed =
        any::<u64>().prop_map(|version| graph::Event::Removed(graph::Removed { version }));
    prop_oneof![saved, removed].prop_map(Event::Graph)
}
