//! The integration tests: the whole system, seen from outside. One executable, one module per
//! subject.

#![expect(clippy::print_stdout, reason = "tests print their seeds and what they counted")]

mod aaep;
mod aaep_load;
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
mod cursors;
mod delivery;
mod directory;
mod disk_faults;
mod events;
mod fair_shares;
mod graphs;
mod hidden_places;
mod histories;
mod ledger;
mod lifecycle;
mod load;
mod mailbox;
mod odd_databases;
mod open_files;
mod outside_input;
mod pages;
mod pains;
mod power_loss;
mod python;
mod quotas;
mod receiver;
mod refusals;
mod retention;
mod rollback;
mod schemas;
mod server;
mod shown;
mod simulation;
mod slow_sockets;
mod sse;
mod start_stop;
#[expect(dead_code, reason = "tests of other crates use the rest")]
#[path = "../../../engine/tests/it/support.rs"]
mod support;
mod teamspaces;
mod telemetry;
mod tidy;
mod times;
mod transfers;
mod trust;
mod visibility;
mod wake;
mod warnings;
mod webhooks;
mod wire;
mod witness_server;
mod witnessing;
mod workq;
mod ws;
