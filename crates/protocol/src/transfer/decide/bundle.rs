//! The bundle of a transfer or a leg.

use crate::conversation::author::whose;
use crate::conversation::state::{Conversation, customer_name};
use crate::time::Time;
use crate::transfer::bundle::{About, Bundle, BundleId, Identity, IdentityKind};
use crate::transfer::kind::Kind;

impl Bundle {
    /// The conversation's data at this time; `None` for a blind transfer.
    pub fn of(
        conversation: &Conversation,
        bundle_id: BundleId,
        kind: Kind,
        (by, reason, about): (&str, &str, &About),
        now: Time,
    ) -> Option<Self> {
        if kind == Kind::Blind {
            return None;
        }
        let customer = &conversation.setup.customer;
        let identity = Identity {
            kind: match customer.external_id {
                Some(_) => IdentityKind::Authenticated,
                None => IdentityKind::Guest,
            },
            identity_id: customer_name(conversation.id).to_string(),
            external_id: customer.external_id.clone(),
            display_name: customer.name.clone(),
        };
        Some(Self {
            bundle_id: bundle_id.to_string(),
            session_id: conversation.id.to_string(),
            transfer_type: kind,
            reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
            reason_by: Some(whose(by).to_owned()).filter(|_| !reason.is_empty()),
            identity: Some(identity),
            transcript_summary: about.summary.clone(),
            customer_words: None,
            transcript_digest: conversation.transcript.digest.clone(),
            message_count: conversation.transcript.count,
            warm_context: about.warm_context.clone(),
            voice: about.voice.clone(),
            custom_attributes: about.custom_attributes.clone(),
            created_at: now,
        })
    }
}
