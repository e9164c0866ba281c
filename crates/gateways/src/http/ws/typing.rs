//! Who is typing. Notices go from one connection to another and are not stored: a lost notice does
//! no harm, and one that is not repeated expires after a moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::ids::AgentId;
use protocol::ledger::Stream;
use protocol::time::Span;
use tokio::sync::mpsc;

use crate::http::ws::subscription::News;

/// How long a notice counts: longer than people pause within a sentence, and short enough that the
/// other side does not wait for a person who has left.
pub const TYPING_KEPT: Span = Span::from_millis(6_000);

/// The same notice of one connection is passed on once in this time. It is repeated while a person
/// types, and twice within its lifetime is enough.
pub const TYPING_EVERY: Span = Span::from_millis(2_000);

/// Connections that follow a conversation, and may be told who is typing in it.
#[derive(Debug, Default)]
pub struct Typing(Mutex<Listeners>);

#[derive(Debug, Default)]
struct Listeners {
    by_conversation: BTreeMap<Stream, Vec<Listener>>,
    n_added: u64,
}

#[derive(Debug)]
struct Listener {
    number: u64,
    who: Who,
    news: mpsc::Sender<News>,
}

/// Who listens, and who a notice is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    Customer,
    Agent(AgentId),
}

/// A listener, for as long as this lives.
#[derive(Debug)]
pub struct Listening {
    typing: Arc<Typing>,
    stream: Stream,
    number: u64,
}

impl Typing {
    pub fn listen(
        self: &Arc<Self>,
        stream: Stream,
        who: Who,
        news: mpsc::Sender<News>,
    ) -> Listening {
        let mut listeners = self.listeners();
        listeners.n_added += 1;
        let number = listeners.n_added;
        let here = listeners.by_conversation.entry(stream.clone()).or_default();
        here.push(Listener { number, who, news });
        Listening { typing: Arc::clone(self), stream, number }
    }

    /// Tells the listeners that a notice is for. A listener with a full queue misses it.
    pub fn tell(&self, stream: &Stream, whom: &Who, frame: &str) {
        let listeners = self.listeners();
        let here = listeners.by_conversation.get(stream).into_iter().flatten();
        for listener in here.filter(|listener| listener.who == *whom) {
            let _ = listener.news.try_send(News::Frames(vec![frame.into()], None));
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.0.lock().expect("nothing panics while holding the listeners")
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut listeners = self.typing.listeners();
        if let Some(here) = listeners.by_conversation.get_mut(&self.stream) {
            here.retain(|listener| listener.number != self.number);
            if here.is_empty() {
                listeners.by_conversation.remove(&self.stream);
            }
        }
    }
}
