//! What the engine's outbox asks for, handed to whoever does it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use engine::outbox::Adapter;
use engine::wake::{Call, Taken};
use protocol::handoff::artifact::Seen;
use protocol::handoff::package::Artifact;

use crate::artifacts::Artifacts;
use crate::webhook::Webhook;

#[derive(Debug)]
pub struct Outside {
    artifacts: Arc<Artifacts>,
    webhook: Arc<Webhook>,
}

impl Outside {
    pub fn new(artifacts: Artifacts, webhook: Webhook) -> Self {
        Self { artifacts: Arc::new(artifacts), webhook: Arc::new(webhook) }
    }
}

impl Adapter for Outside {
    fn look(&self, artifacts: Vec<Artifact>) -> Pin<Box<dyn Future<Output = Vec<Seen>> + Send>> {
        let looking = Arc::clone(&self.artifacts);
        Box::pin(async move { looking.look(&artifacts).await })
    }

    fn wake(&self, call: Call) -> Taken {
        let calling = Arc::clone(&self.webhook);
        Box::pin(async move { calling.call(&call).await })
    }
}
