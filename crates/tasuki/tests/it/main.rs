//! The integration tests: the whole, seen from outside. One executable, one module per subject.

mod crash;
mod ledger;
mod lifecycle;
mod load;
mod power_loss;
mod refusals;
mod server;
mod sse;
mod tidy;
mod wire;
