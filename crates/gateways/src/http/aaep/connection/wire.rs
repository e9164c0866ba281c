//! What a connection needs of its transport, and why it ends.

/// The transport of one connection.
pub trait Wire: Send {
    /// Whether a live peer answers [`Wire::ping`].
    const IS_PINGED: bool;

    /// The next message. Dropping the future loses nothing.
    fn receive(&mut self) -> impl Future<Output = Incoming> + Send;

    /// Sends messages in their order. If the future is dropped, only `close` may follow.
    fn send(&mut self, messages: Vec<String>) -> impl Future<Output = Result<(), Gone>> + Send;

    fn ping(&mut self) -> impl Future<Output = Result<(), Gone>> + Send;

    /// Says why the connection ends, as far as the peer still listens.
    fn close(&mut self, farewell: Farewell) -> impl Future<Output = ()> + Send;
}

#[derive(Debug)]
pub enum Incoming {
    Message(String),
    /// The peer is alive, but sent no message.
    Sign,
    /// A message that is too large, and was not kept.
    TooLarge,
    /// A message that is not text.
    NotText,
    /// A message that was not finished in time.
    Unfinished,
    /// A message that is not finished has used up what the peer may write.
    QuotaReached,
    /// Bytes that cannot be split into messages.
    Unreadable,
    Gone,
}

/// The peer does not receive any more.
#[derive(Debug, Clone, Copy)]
pub struct Gone;

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// The peer has closed it, or is gone.
    Peer,
    Stopping,
    /// The store cannot be read.
    Broken,
    /// The subscription is over.
    Over,
    /// There is no subscription on the terms that were asked for.
    Rejected,
    /// There is no such token, or it has ended.
    TokenEnded,
    /// The token has another bearer or other roles now.
    NotAllowed,
    /// The message is not allowed here.
    Violation(&'static str),
    /// The listener has ended its subscription.
    Left,
}

impl Farewell {
    /// The code of the protocol, or of the transport, and a few words.
    pub fn words(self) -> Option<(u16, &'static str)> {
        match self {
            Farewell::Peer => None,
            Farewell::Stopping => Some((1001, "the server is stopping")),
            Farewell::Broken => Some((1011, "the server failed")),
            Farewell::Over => Some((4000, "the subscription is over")),
            Farewell::Rejected => Some((4001, "the subscription is rejected")),
            Farewell::TokenEnded => Some((4002, "the token is not valid, or has ended")),
            Farewell::NotAllowed => Some((4003, "the token stands for something else now")),
            Farewell::Violation(why) => Some((4004, why)),
            Farewell::Left => Some((4005, "the listener has left")),
        }
    }
}

impl From<Gone> for Farewell {
    fn from(_: Gone) -> Self {
        Farewell::Peer
    }
}
