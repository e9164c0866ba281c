//! What is wrong with a checkpoint, a signed note or a key.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    #[error("key name: expected at least one character and no space, plus sign or control")]
    KeyName,
    #[error("verifier key: expected {expected}")]
    VerifierKey { expected: &'static str },
    #[error("checkpoint: expected {expected}")]
    Note { expected: &'static str },
    #[error("checkpoint: expected a signature by {key_name}")]
    NotSigned { key_name: String },
    #[error("checkpoint: expected a valid signature by {key_name}")]
    WrongSignature { key_name: String },
}
