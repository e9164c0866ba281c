//! The integration tests: the whole, seen from outside. One executable, one module per subject.

mod lifecycle;
mod power_loss;
mod server;
mod tidy;
