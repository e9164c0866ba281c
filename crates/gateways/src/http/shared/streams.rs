//! How many streams and sockets are open, in all and by each credential.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::loops::connections::OpenConnection;
use protocol::ids::TeamspaceId;

use crate::http::shared::auth::Asker;
use crate::http::shared::credential::Credential;
use crate::http::shared::gateway::{Gateway, OpenStreams};
use crate::http::shared::problem::Problem;

/// A counted place among the open streams, given back when dropped.
pub struct OpenStream {
    streams: Arc<OpenStreams>,
    credential: Credential,
    /// Marks the subscriber as connected; only people's connections are recorded.
    _connection: Option<OpenConnection>,
}

impl OpenStream {
    /// Counts a new stream. Refused if the credential has `per_token_max` streams open, or if the
    /// server has its maximum.
    pub fn take(gateway: &Gateway, asker: &Asker, per_token_max: usize) -> Result<Self, Problem> {
        let credential = asker.credential;
        let streams = Arc::clone(&gateway.streams);
        let full = || Problem::new("too_many_streams", "too many streams are open");
        {
            let mut by_credential = streams.by_credential.lock().expect("nothing panics in here");
            let open = by_credential.entry(credential).or_default();
            let is_full = *open >= per_token_max
                || streams.all.load(Ordering::Relaxed) >= gateway.limits.streams_max;
            if is_full {
                return Err(full());
            }
            *open += 1;
        }
        streams.all.fetch_add(1, Ordering::Relaxed);
        let connection = match (credential, asker.caller.agent()) {
            (Credential::Token(_), Some(agent)) => {
                Some(gateway.engine.queues().connection_opened(&asker.caller.teamspace, agent))
            }
            // The owner of the data folder may act as any agent, but that does not mean the agent
            // is connected.
            (Credential::Local | Credential::Open, _) | (Credential::Token(_), None) => None,
        };
        Ok(Self { streams, credential, _connection: connection })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.streams.all.fetch_sub(1, Ordering::Relaxed);
        let mut by_credential = self.streams.by_credential.lock().expect("nothing panics in here");
        if let Some(open) = by_credential.get_mut(&self.credential) {
            *open -= 1;
            if *open == 0 {
                by_credential.remove(&self.credential);
            }
        }
    }
}

/// A counted place among the exports of a teamspace, given back when dropped.
pub struct OpenExport {
    streams: Arc<OpenStreams>,
    teamspace: TeamspaceId,
}

impl OpenExport {
    pub fn take(
        streams: &Arc<OpenStreams>,
        teamspace: &TeamspaceId,
        n_max: usize,
    ) -> Result<Self, Problem> {
        {
            let mut exports = streams.exports.lock().expect("nothing panics in here");
            let open = exports.entry(teamspace.clone()).or_default();
            if *open >= n_max {
                let detail = format!("the teamspace has {n_max} exports open; end one first");
                return Err(Problem::new("too_many_streams", detail).retry_after(1));
            }
            *open += 1;
        }
        Ok(Self { streams: Arc::clone(streams), teamspace: teamspace.clone() })
    }
}

impl Drop for OpenExport {
    fn drop(&mut self) {
        let mut exports = self.streams.exports.lock().expect("nothing panics in here");
        if let Some(open) = exports.get_mut(&self.teamspace) {
            *open -= 1;
            if *open == 0 {
                exports.remove(&self.teamspace);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_teamspace_has_a_few_exports_open() {
        let streams = Arc::<OpenStreams>::default();
        let take = |teamspace: &str| {
            OpenExport::take(&streams, &teamspace.parse().expect("a teamspace"), 2)
        };
        let (first, _second) = (take("acme").ok(), take("acme").ok());
        assert!(first.is_some() && take("acme").is_err_and(|it| it.code == "too_many_streams"));
        assert!(take("other").is_ok(), "another teamspace has its own");
        drop(first);
        assert!(take("acme").is_ok(), "one has ended");
    }
}
