//! How long customers wait for people, and how long people take.

use engine::Engine;
use engine::loops::dispatch::{BOUNDS, Histogram};
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

/// Programs on this machine may read the page without a token, so it names no queue.
pub fn encode(engine: &Engine, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
    let (waits, handles) = engine.flows().service_times();
    for (name, help, histogram) in [
        ("transfer_wait_seconds", "Time from a request to the first answer", waits),
        ("transfer_handle_seconds", "Time that customers were with people", handles),
    ] {
        let Histogram { buckets, sum_seconds } = histogram;
        let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
        let buckets: Vec<_> = bounds.zip(buckets).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        encoder
            .encode_descriptor(name, help, None, MetricType::Histogram)?
            .encode_histogram::<[(&str, &str); 0]>(sum_seconds, count, &buckets, None)?;
    }
    Ok(())
}
