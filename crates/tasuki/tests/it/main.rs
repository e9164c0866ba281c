//! The integration tests: the whole, seen from outside. One executable, one module per subject.

mod audit;
mod crash;
mod disk_faults;
mod ledger;
mod lifecycle;
mod load;
mod power_loss;
mod refusals;
mod road;
mod server;
mod simulation;
mod sse;
mod start_stop;
mod store_conformance;
mod support;
mod telemetry;
mod tidy;
mod wire;
