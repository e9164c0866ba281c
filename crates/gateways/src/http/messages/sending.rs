//! How many messages each sender may send.

use std::num::NonZeroU32;

use protocol::caller::Caller;
use protocol::message::Outgoing;

use crate::http::shared::problem::Problem;
use crate::rate::{RateLimit, RateLimiter};

/// As in the ACP design. A sender with more to say writes longer messages or an artifact.
const DIRECT: RateLimit = RateLimit {
    per_minute: NonZeroU32::new(10).expect("10 is not 0"),
    burst: NonZeroU32::new(10).expect("10 is not 0"),
};

const BROADCASTS_PER_HOUR: NonZeroU32 = NonZeroU32::new(5).expect("5 is not 0");

/// How often each sender may still send. The server's own notices do not pass here.
#[derive(Debug)]
pub struct Sending {
    pub direct: RateLimiter,
    pub broadcasts: RateLimiter,
}

impl Default for Sending {
    fn default() -> Self {
        Self {
            direct: RateLimiter::new(DIRECT),
            broadcasts: RateLimiter::per_hour(BROADCASTS_PER_HOUR),
        }
    }
}

/// The sender's bucket from which a token was taken.
#[derive(Debug, Clone, Copy)]
pub enum Bucket {
    Direct,
    Broadcasts,
}

impl Sending {
    /// Takes one of the sender's tokens. A caller that may not send at all is refused by the rules.
    pub fn admit(
        &self,
        caller: &Caller,
        outgoing: &Outgoing,
        now_ms: u64,
    ) -> Result<Bucket, Problem> {
        let (bucket, detail) = match outgoing.is_broadcast() {
            true => (Bucket::Broadcasts, "at most 5 broadcasts an hour by one sender"),
            false => (Bucket::Direct, "at most 10 messages a minute by one sender"),
        };
        let Some(sender) = caller.agent() else { return Ok(bucket) };
        self.limiter(bucket)
            .check(&(&caller.teamspace, sender), now_ms)
            .map_err(|retry| Problem::too_many_messages(detail, retry.seconds))?;
        Ok(bucket)
    }

    pub fn give_back(&self, bucket: Bucket, caller: &Caller, now_ms: u64) {
        if let Some(sender) = caller.agent() {
            self.limiter(bucket).give_back(&(&caller.teamspace, sender), now_ms);
        }
    }

    fn limiter(&self, bucket: Bucket) -> &RateLimiter {
        match bucket {
            Bucket::Direct => &self.direct,
            Bucket::Broadcasts => &self.broadcasts,
        }
    }
}
