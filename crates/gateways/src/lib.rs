//! Inbound: how requests reach the engine. A gateway turns its wire form into commands and answers
//! back into its wire form; it holds no rule about handoffs and no SQL, and gateways do not know
//! each other.
//!
//! [`listen`] owns connections, with [`tls`], [`proxy`] and [`rate`] beside it; [`http`] is the API;
//! [`json_rpc`] is AAEP on standard input and output; [`trace_context`] says whose trace a request
//! belongs to.

pub mod body;
pub mod http;
pub mod json_rpc;
pub mod listen;
pub mod proxy;
pub mod rate;
pub mod tls;
pub mod trace_context;
