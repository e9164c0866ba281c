//! Inbound: how requests reach the engine. A gateway turns requests in its wire format into
//! commands, and results back into its wire format. It has no rule about handoffs and no SQL, and
//! gateways do not know each other.
//!
//! [`listen`] owns connections, with [`tls`], [`proxy`], [`rate`], [`slow_lane`] and
//! [`large_bodies`] beside it; [`http`] is the API; [`json_rpc`] is AAEP on standard input and
//! output; [`trace_context`] says which trace a request belongs to.

pub mod body;
pub mod http;
pub mod json_rpc;
pub mod large_bodies;
pub mod listen;
pub mod proxy;
pub mod rate;
pub mod slow_lane;
pub mod tls;
pub mod trace_context;
