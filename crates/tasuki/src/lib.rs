//! The executable's own parts: configuration, wiring and the command line. No rule about handoffs
//! is made here, and no SQL or wire format is known.
//!
//! [`config`] says what can be set; [`node`] puts a server together; [`cli`] is what people type;
//! [`client`] is how it reaches a server, and [`socket`] how it stays there; [`audit`] checks a
//! ledger offline; [`backup`] copies it and puts it back; [`scripted`] is an agent for demos.

mod aaep_socket;
pub mod audit;
pub mod backup;
pub mod cli;
pub mod client;
pub mod config;
mod demo_bot;
pub mod exit_code;
pub mod node;
pub mod output;
mod remote;
pub mod scripted;
pub mod serve;
pub mod socket;
mod standing;
pub mod telemetry;
