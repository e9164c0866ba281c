//! What teamspaces use, and what quotas refused.

use engine::Engine;
use engine::usage::report::Used;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Teamspaces with a label of their own, those that store most. The others are added up as
/// [`OTHERS`].
const TEAMSPACES_MAX: usize = 50;

/// No teamspace has this name.
const OTHERS: &str = "_others";

pub fn encode(engine: &Engine, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
    let usage = engine.usage();
    let (largest, others) = usage.largest(TEAMSPACES_MAX, engine.clock().now());
    let mut family =
        encoder.encode_descriptor("usage", "What teamspaces use", None, MetricType::Gauge)?;
    let largest = largest.iter().map(|(teamspace, used)| (teamspace.as_str(), used));
    for (teamspace, used) in largest.chain([(OTHERS, &others)]) {
        for Used { quota, used, .. } in used {
            let labels = [("teamspace", teamspace), ("quota", quota.as_str())];
            let gauge = ConstGauge::new(i64::try_from(*used).unwrap_or(i64::MAX));
            gauge.encode(family.encode_family(&labels)?)?;
        }
    }
    let refusals = usage.refusals();
    let mut family = encoder.encode_descriptor(
        "quota_refusals",
        "Refusals by quota",
        None,
        MetricType::Counter,
    )?;
    for (quota, count) in refusals.by_quota {
        let labels = [("quota", quota.as_str())];
        ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
    }
    let counter = ConstCounter::new(refusals.for_disk);
    let help = "Refusals to keep the reserve of the disk";
    let metric =
        encoder.encode_descriptor("disk_reserve_refusals", help, None, MetricType::Counter)?;
    counter.encode(metric)
}
