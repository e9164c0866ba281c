//! What teamspaces use, and what quotas refused.

use engine::Engine;
use engine::usage::report::Used;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Programs on this machine may read the page without a token, so it names no teamspace.
pub fn encode(engine: &Engine, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
    let usage = engine.usage();
    let help = "What all teamspaces use together";
    let mut family = encoder.encode_descriptor("usage", help, None, MetricType::Gauge)?;
    for Used { quota, used, .. } in usage.total(engine.clock().now()) {
        let gauge = ConstGauge::new(i64::try_from(used).unwrap_or(i64::MAX));
        gauge.encode(family.encode_family(&[("quota", quota.as_str())])?)?;
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
