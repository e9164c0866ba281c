//! The only place that draws random numbers: ids that grow with time, salts, secrets.

use std::cell::RefCell;
use std::sync::Mutex;

use protocol::canonical;
use protocol::ids::{
    ConversationId, HandoffId, MessageId, QuestionId, SessionId, SubscriptionId, TokenId,
    TransferId, UploadId, WebhookId,
};
use protocol::time::Time;
use uuid::{Builder, Uuid};

use crate::Engine;

/// A source of ids. `bytes` must be unpredictable in production: salts hide erased bodies and
/// secrets are credentials.
pub trait Ids: Send + Sync + 'static {
    fn bytes(&self) -> [u8; 32];

    /// A UUIDv7: sorts by time, so that rows made together lie together.
    fn uuid(&self, now: Time) -> Uuid {
        let random = self.bytes();
        let mut tail = [0; 10];
        tail.copy_from_slice(&random[..10]);
        let millis = u64::try_from(now.as_millis()).unwrap_or(0);
        Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
    }

    fn salt(&self) -> [u8; 16] {
        let mut salt = [0; 16];
        salt.copy_from_slice(&self.bytes()[..16]);
        salt
    }
}

impl Engine {
    /// Drawn at random: it cannot be guessed.
    pub fn new_upload_id(&self) -> UploadId {
        let mut bits = [0; 16];
        bits.copy_from_slice(&self.ids.bytes()[..16]);
        UploadId::new(Builder::from_random_bytes(bits).into_uuid())
    }

    pub fn new_handoff_id(&self) -> HandoffId {
        HandoffId::new(self.ids.uuid(self.clock.now()))
    }

    pub fn new_message_id(&self) -> MessageId {
        MessageId::new(self.ids.uuid(self.clock.now()))
    }

    pub fn new_conversation_id(&self) -> ConversationId {
        ConversationId::new(self.ids.uuid(self.clock.now()))
    }

    pub fn new_transfer_id(&self) -> TransferId {
        TransferId::new(self.ids.uuid(self.clock.now()))
    }

    pub fn new_subscription_id(&self) -> SubscriptionId {
        let random = canonical::hex(&self.ids.bytes()[..16]);
        format!("sub_{random}").parse().expect("hexadecimal digits are letters and digits")
    }

    pub fn new_session_id(&self) -> SessionId {
        let random = canonical::hex(&self.ids.bytes()[..16]);
        format!("sess_{random}").parse().expect("hexadecimal digits are letters and digits")
    }

    pub fn new_webhook_id(&self) -> WebhookId {
        WebhookId::new(self.ids.uuid(self.clock.now()))
    }

    pub fn new_question_id(&self) -> QuestionId {
        QuestionId::new(self.ids.uuid(self.clock.now()))
    }

    pub fn new_token_id(&self) -> TokenId {
        TokenId::new(self.ids.uuid(self.clock.now()))
    }

    /// 256 random bits for a secret.
    pub fn new_secret(&self) -> [u8; 32] {
        self.ids.bytes()
    }

    /// A key for a caller that gave none.
    pub fn new_key_text(&self) -> String {
        self.ids.uuid(self.clock.now()).to_string()
    }
}

/// The operating system's randomness.
#[derive(Debug, Default, Clone, Copy)]
pub struct RandomIds;

/// How much a thread draws at a time: a system call for every id would cost more than the id.
const DRAWN_BYTES: usize = 2_048;

/// Random bytes that a thread has drawn; those up to `used` were given away.
struct Drawn {
    bytes: [u8; DRAWN_BYTES],
    used: usize,
}

thread_local! {
    static DRAWN: RefCell<Drawn> =
        const { RefCell::new(Drawn { bytes: [0; DRAWN_BYTES], used: DRAWN_BYTES }) };
}

impl Ids for RandomIds {
    fn bytes(&self) -> [u8; 32] {
        DRAWN.with_borrow_mut(Drawn::take)
    }
}

impl Drawn {
    #[expect(clippy::disallowed_methods, reason = "this is the one source of randomness")]
    fn take(&mut self) -> [u8; 32] {
        if self.used == DRAWN_BYTES {
            getrandom::fill(&mut self.bytes).expect("the operating system has random numbers");
            self.used = 0;
        }
        let mut given = [0; 32];
        let rest = &mut self.bytes[self.used..][..32];
        // Bytes that were given out may be a secret now, so no copy stays here.
        given.swap_with_slice(rest);
        self.used += 32;
        given
    }
}

/// A repeatable source, for simulations.
#[derive(Debug)]
pub struct SeededIds {
    state: Mutex<u64>,
}

impl SeededIds {
    pub fn new(seed: u64) -> Self {
        Self { state: Mutex::new(seed) }
    }
}

impl Ids for SeededIds {
    fn bytes(&self) -> [u8; 32] {
        let mut state = self.state.lock().expect("nothing panics while holding the seed");
        let mut bytes = [0; 32];
        for chunk in bytes.chunks_exact_mut(8) {
            // SplitMix64: every state gives a different output, so ids do not repeat.
            *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut word = *state;
            word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            chunk.copy_from_slice(&(word ^ (word >> 31)).to_le_bytes());
        }
        bytes
    }
}
