//! What the engine's outbox asks for, handed to whoever does it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use engine::outbox::Adapter;
use protocol::handoff::artifact::Seen;
use protocol::handoff::package::Artifact;

use crate::artifacts::Artifacts;

#[derive(Debug)]
pub struct Outside {
    artifacts: Arc<Artifacts>,
}

impl Outside {
    pub fn new(artifacts: Artifacts) -> Self {
        Self { artifacts: Arc::new(artifacts) }
    }
}

impl Adapter for Outside {
    fn look(&self, artifacts: Vec<Artifact>) -> Pin<Box<dyn Future<Output = Vec<Seen>> + Send>> {
        let looking = Arc::clone(&self.artifacts);
        Box::pin(async move { looking.look(&artifacts).await })
    }
}
