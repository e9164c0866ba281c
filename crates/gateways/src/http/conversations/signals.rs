//! `POST /v1/conversations/{conversation}/signals`: how a message of the customer sounds, by a
//! program outside.

use axum::Json;
use axum::extract::State;
use protocol::conversation::Command;
use protocol::conversation::command::ObserveSignals;
use protocol::ids::ConversationId;

use crate::http::conversations::access::submit;
use crate::http::conversations::lifecycle::{Taken, taken};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, Write};
use crate::http::shared::problem::Problem;

pub async fn observe(
    State(gateway): State<Gateway>,
    Named(id): Named<ConversationId>,
    write: Write<ObserveSignals>,
) -> Result<Json<Taken>, Problem> {
    let (write, observe) = write.split();
    let key = write.key.for_action("observe_signals", Some(&id.to_string()));
    let command = Command::ObserveSignals(observe);
    let done = submit(&gateway, &write.asker.caller, id, command, key).await?;
    Ok(Json(taken(id, &done)))
}
