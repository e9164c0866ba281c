//! Erasing the content of one entry of a session, or of all. Only operators may.

use axum::Json;
use axum::extract::State;
use engine::aaep::announce::session_stream;
use protocol::ids::SessionId;
use protocol::json::INTEGER_MAX;
use protocol::notes::NOTES_BYTES_MAX;
use protocol::{form, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::aaep::sessions::{SessionView, view, visible};
use crate::http::aaep::state::Aaep;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseSessionInput {
    /// The entry whose content is erased. Without it all are erased, and the session is ended.
    #[serde(default)]
    #[schemars(transform = form::range(1, INTEGER_MAX))]
    pub position: Option<u64>,
    /// Why; kept for ever.
    #[schemars(transform = form::text(NOTES_BYTES_MAX))]
    pub reason: String,
}

/// The session, as it is now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErasedSessionView {
    #[serde(flatten)]
    pub session: SessionView,
    /// How many entries were erased, at most 200.
    pub erased: usize,
    /// Whether there is more to erase: repeat the request.
    pub has_more: bool,
}

pub async fn erase(
    State(gateway): State<Aaep>,
    Named(id): Named<SessionId>,
    write: Write<EraseSessionInput>,
) -> Result<Json<ErasedSessionView>, Problem> {
    let (write, EraseSessionInput { position, reason }) = write.split();
    let caller = write.asker.operator()?.caller;
    let session = visible(&gateway, &caller, &id).await?;
    let stream = session_stream(&caller, &id);
    let (erased, has_more) = match position {
        Some(position) => {
            if !(1..=session.n_entries).contains(&position) {
                let expected = "the position of an entry of this session";
                return Err(Problem::schema_invalid("position", expected));
            }
            let key = write.key.for_action("erase", Some(id.as_str()));
            let command = step::Command::Erase { position, reason };
            gateway.engine.submit(&caller, stream, command, Some(key)).await?;
            (1, false)
        }
        None => {
            let all = gateway.engine.ledger().erase_session(&caller, &stream, &reason).await?;
            (all.n_erased, all.has_more)
        }
    };
    let session = visible(&gateway, &caller, &id).await?;
    Ok(Json(ErasedSessionView {
        session: view(&gateway, &caller, &session).await?,
        erased,
        has_more,
    }))
}
