//! What every subject of the API uses: who asks, typed input, pages, problems, and routes that are
//! counted. Nothing in here knows a subject.

pub mod auth;
pub mod credential;
pub mod cursors;
pub mod entry_view;
pub mod forms;
pub mod frame_reader;
pub mod gateway;
pub mod input;
pub mod lookup;
pub mod metrics;
pub mod operation;
pub mod origin;
pub mod paging;
pub mod problem;
pub mod query;
pub mod routes;
pub mod socket;
pub mod sockets;
pub mod streams;
