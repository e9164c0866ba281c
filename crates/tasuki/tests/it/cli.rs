//! The command line, seen from outside: what people type and read, and what a script can rely on.

mod aaep_files;
mod aaep_live;
mod aaep_questions;
pub mod chat;
mod conversation;
mod demo;
mod doctor;
mod endings;
mod graph;
mod help;
mod hostile;
mod keyboard;
mod lint;
pub mod shell;
mod tls;
mod transfer;
mod walk;
