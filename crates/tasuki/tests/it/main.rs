//! The integration tests: the whole, seen from outside. One executable, one module per subject.

#![expect(clippy::print_stdout, reason = "tests print their seeds and what they counted")]

mod aaep_manifest;
mod announcements;
mod audit;
mod authorization;
mod backup;
mod callbacks;
mod cli;
mod concurrency;
mod conversations;
mod crash;
mod delivery;
mod directory;
mod disk_faults;
mod events;
mod graphs;
mod histories;
mod ledger;
mod lifecycle;
mod load;
mod mailbox;
mod outside_input;
mod pains;
mod power_loss;
mod receiver;
mod refusals;
mod retention;
mod road;
mod server;
mod shown;
mod simulation;
mod slow_sockets;
mod sse;
mod start_stop;
mod store_conformance;
mod support;
mod teamspaces;
mod telemetry;
mod tidy;
mod transfers;
mod trust;
mod wake;
mod wire;
mod workq;
mod ws;
