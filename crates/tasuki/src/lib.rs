//! The executable's own parts: configuration, wiring and the command line. It has no rules about
//! handoffs, no SQL and no wire format.
//!
//! [`config`] is the settings; [`node`] assembles a server; [`cli`] is the command line; [`client`]
//! is how it sends requests to a server, and [`socket`] how it stays connected; [`audit`] checks a
//! ledger offline; [`backup`] copies it and restores it; [`scripted`] is an agent for demos.

mod aaep_socket;
pub mod audit;
pub mod backup;
mod checkpoint_check;
pub mod cli;
pub mod client;
pub mod config;
mod demo_bot;
pub mod exit_code;
pub mod node;
pub mod output;
mod proofs;
mod remote;
pub mod scripted;
pub mod serve;
mod slow_threads;
pub mod socket;
pub mod telemetry;
mod usage;
mod witnesses;
