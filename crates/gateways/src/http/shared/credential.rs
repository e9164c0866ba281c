//! What a request was authenticated with.

use protocol::ids::TokenId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Credential {
    /// A bearer token.
    Token(TokenId),
    /// The control socket.
    Local,
    /// None, where none is asked for.
    Open,
}
