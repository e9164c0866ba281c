//! `/witness/add-checkpoint`: the protocol fixes the form of the request, the statuses and the body
//! of a conflict; our other refusals are problems, as everywhere.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::ledger::witness::{NotCosigned, Witness};
use protocol::witness::{REQUEST_BYTES_MAX, Refusal};

use super::state::Witnessing;
use crate::body::read_body;
use crate::http::shared::problem::Problem;
use crate::listen::Peer;

pub async fn key(State(state): State<Witnessing>) -> Result<String, Problem> {
    Ok(format!("{}\n", witness(&state)?.verifier_key()))
}

pub async fn add(State(state): State<Witnessing>, request: Request) -> Result<Response, Problem> {
    let witness = Arc::clone(witness(&state)?);
    let (parts, body) = request.into_parts();
    let peer = parts.extensions.get::<Peer>().copied().and_then(Peer::address);
    let address = state.proxies.client_address(peer, &parts.headers);
    let limited = |retry: crate::rate::RetryAfter| Problem::too_many_failures(retry.seconds);
    state.failures.peek(&address, state.now_ms()).map_err(limited)?;
    let read_ms_max = state.limits.body_read_ms_max;
    let answer = match read_body(body, REQUEST_BYTES_MAX, read_ms_max, |_| true).await {
        Ok(bytes) => cosign(&state, witness, bytes.to_vec()).await?,
        Err(error) => Problem::from(error).into_response(),
    };
    if answer.status() != StatusCode::OK {
        state.failures.check(&address, state.now_ms()).map_err(limited)?;
    }
    Ok(answer)
}

async fn cosign(
    state: &Witnessing,
    witness: Arc<Witness>,
    body: Vec<u8>,
) -> Result<Response, Problem> {
    let now = state.engine.clock().now();
    // A record is synced before the answer.
    let adding = tokio::task::spawn_blocking(move || {
        let expected = "text in UTF-8";
        let malformed = |_| NotCosigned::Refused(Refusal::Malformed { expected });
        let text = String::from_utf8(body).map_err(malformed)?;
        witness.add_checkpoint(&text, now)
    });
    let failed = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "a checkpoint could not be cosigned");
        Problem::new("internal", "the server failed; its log says why")
    };
    match adding.await.map_err(|error| failed(&error))? {
        Ok(line) => Ok(line.into_response()),
        Err(NotCosigned::Refused(refusal)) => Ok(refused(&refusal)),
        Err(NotCosigned::Failed(error)) => Err(failed(&error)),
    }
}

fn refused(refusal: &Refusal) -> Response {
    let problem = match refusal {
        Refusal::Malformed { expected } => {
            Problem::new("checkpoint_invalid", format!("body: expected {expected}"))
        }
        Refusal::UnknownLog => Problem::not_found("log"),
        Refusal::NotSigned => {
            Problem::new("not_allowed", "expected a valid signature with a key of this log")
        }
        Refusal::Conflict { size } => {
            let kind = [(header::CONTENT_TYPE, "text/x.tlog.size")];
            return (StatusCode::CONFLICT, kind, format!("{size}\n")).into_response();
        }
        Refusal::WrongProof => {
            Problem::new("proof_invalid", "the proof does not lead from the last checkpoint here")
        }
    };
    problem.into_response()
}

fn witness(state: &Witnessing) -> Result<&Arc<Witness>, Problem> {
    state.witness.as_ref().ok_or_else(|| Problem::not_found("path"))
}
