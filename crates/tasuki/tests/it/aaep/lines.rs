//! The transports between a producer, its listeners and the server: one line for each. All of them
//! carry the same messages, so that a story can be played over each.
//!
//! - [`branch`]: the bank in which the stories play.
//! - [`peer`]: the end of a connection.
//! - [`teller`], [`person`]: the producer and the listener, on any line.

pub mod branch;
pub mod peer;
pub mod person;
pub mod teller;

use super::compat::client::Way;
use super::story::Story;
use branch::{Branch, Who};
use peer::Road;
use person::Person;
use teller::Teller;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Requests, and server-sent events.
    Http,
    Connection(Road),
    /// The layout of other tools. It is for listeners; their agent announces by requests.
    Compat(Way),
}

impl Line {
    pub const ALL: [Line; 6] = [
        Line::Http,
        Line::Connection(Road::WebSocket),
        Line::Connection(Road::Unix),
        Line::Connection(Road::Stdio),
        Line::Compat(Way::Stream),
        Line::Compat(Way::Socket),
    ];

    fn name(self) -> &'static str {
        match self {
            Line::Http => "http",
            Line::Connection(Road::WebSocket) => "websocket",
            Line::Connection(Road::Unix) => "unix",
            Line::Connection(Road::Stdio) => "stdio",
            Line::Compat(Way::Stream) => "compatStream",
            Line::Compat(Way::Socket) => "compatSocket",
        }
    }
}

/// A session that is played over one line.
#[derive(Debug, Clone)]
pub struct Stage {
    pub line: Line,
    pub story: Story,
}

impl Stage {
    pub fn new(line: Line) -> Self {
        Self { line, story: Story::new(&format!("sess_{}", line.name())) }
    }

    /// Another session on the same line.
    pub fn named(&self, name: &str) -> Self {
        Self { line: self.line, story: Story::new(&format!("{}{name}", self.story.session)) }
    }

    pub async fn teller(&self, branch: &Branch) -> Teller {
        Teller::open(branch, self.line).await
    }

    pub async fn person(&self, branch: &Branch, who: &Who) -> Person {
        Person::open(branch, self, who).await
    }
}
