//! The author of a text, from its name in the record.

/// The author of a reason, from its name in the record: `customer`, `agent`, `operator` or
/// `system`.
pub fn whose(by: &str) -> &str {
    by.split_once(':').map_or(by, |(kind, _)| kind)
}

/// Whether the record names a customer.
pub fn is_customer(by: &str) -> bool {
    whose(by) == "customer"
}
