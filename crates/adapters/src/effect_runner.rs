//! Passes the effects of the engine's outbox to the modules that carry them out.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use engine::ports::adapter::{
    Adapter, Delivery, DeliveryResult, Post, Taken, WakeCall, not_configured,
};
use protocol::handoff::artifact::Seen;
use protocol::handoff::package::Artifact;
use protocol::handoff::workq::{Answered, Transfer};
use protocol::wake::UrlUse;

use crate::artifacts::Artifacts;
use crate::webhook::Webhook;
use crate::workq::Workq;

#[derive(Debug)]
pub struct EffectRunner {
    artifacts: Arc<Artifacts>,
    workq: Option<Arc<Workq>>,
    webhook: Arc<Webhook>,
}

impl EffectRunner {
    pub fn new(artifacts: Artifacts, workq: Option<Workq>, webhook: Webhook) -> Self {
        let workq = workq.map(Arc::new);
        let artifacts = match &workq {
            Some(workq) => artifacts.asking(Arc::clone(workq)),
            None => artifacts,
        };
        Self { artifacts: Arc::new(artifacts), workq, webhook: Arc::new(webhook) }
    }
}

impl Adapter for EffectRunner {
    fn look(&self, artifacts: Vec<Artifact>) -> Pin<Box<dyn Future<Output = Vec<Seen>> + Send>> {
        let looking = Arc::clone(&self.artifacts);
        Box::pin(async move { looking.look(&artifacts).await })
    }

    fn transfer(&self, transfer: Transfer) -> Pin<Box<dyn Future<Output = Vec<Answered>> + Send>> {
        match self.workq.clone() {
            Some(workq) => Box::pin(async move { workq.transfer(&transfer).await }),
            None => Box::pin(std::future::ready(not_configured(transfer))),
        }
    }

    fn wake(&self, call: WakeCall) -> Taken {
        let calling = Arc::clone(&self.webhook);
        Box::pin(async move { calling.call(&call).await })
    }

    fn deliver(&self, delivery: Delivery) -> DeliveryResult {
        let telling = Arc::clone(&self.webhook);
        Box::pin(async move { telling.deliver(&delivery).await })
    }

    fn post(&self, post: Post) -> Taken {
        let calling = Arc::clone(&self.webhook);
        Box::pin(async move { calling.post_event(post).await })
    }

    fn objection(&self, url: &str, url_use: UrlUse) -> Option<String> {
        self.webhook.objection(url, url_use)
    }
}
