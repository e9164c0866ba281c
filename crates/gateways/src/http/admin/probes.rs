//! Pages for operators: liveness, readiness, metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use protocol::rejection::Rejection;
use serde_json::json;

use crate::http::admin::state::{Admin, MetricsReaders};
use crate::http::shared::auth::authenticate;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::problem::Problem;

pub async fn healthz() -> Json<serde_json::Value> {
    Json(json!({ "status": "alive" }))
}

/// Ready means: a read of the store succeeds, writes are accepted, and the server is not stopping.
pub async fn readyz(State(gateway): State<Gateway>) -> Result<Json<serde_json::Value>, Problem> {
    if *gateway.stopping.borrow() {
        return Err(Problem::new("stopping", "the server is stopping"));
    }
    if let Some(behind) = gateway.engine.ledger().behind() {
        return Err(behind.into());
    }
    // The number is not shown: it reveals how busy all teamspaces are, and this page needs no
    // token.
    gateway.engine.ledger().newest().await?;
    gateway.engine.ledger().check_writable().await?;
    if gateway.engine.usage().is_disk_reserved() {
        return Err(Rejection::StorageReserved.into());
    }
    // Commits do not wait for a witness, so the server is ready without it.
    let counts = gateway.engine.counts();
    let is_behind = |lag: &AtomicU64| lag.load(Ordering::Relaxed) > 0;
    let is_unwitnessed = is_behind(&counts.witness_lag) || is_behind(&counts.seal_lag);
    // One wrong row stops one stream, not the server.
    let is_changed = is_behind(&counts.scrub_findings) || is_behind(&counts.rows_refused);
    let warnings = [
        is_unwitnessed.then_some("the witness does not take checkpoints"),
        is_changed.then_some(
            "rows of the database are not as the server wrote them; see its log and tasuki audit \
             verify",
        ),
    ];
    let warnings: Vec<_> = warnings.into_iter().flatten().collect();
    Ok(Json(match warnings[..] {
        [] => json!({ "status": "ready" }),
        _ => json!({ "status": "ready", "warning": warnings.join("; and ") }),
    }))
}

pub async fn metrics(State(gateway): State<Admin>, parts: Parts) -> Result<Response, Problem> {
    let is_open = match gateway.metrics_readers {
        MetricsReaders::Operators => false,
        MetricsReaders::Loopback => gateway.is_called_from_here(&parts),
        MetricsReaders::Everyone => true,
    };
    if !is_open {
        authenticate(&gateway, &parts).await?.server_operator()?;
    }
    let mut text = String::new();
    if gateway.metrics.write(&mut text).is_err() {
        return Ok(StatusCode::INTERNAL_SERVER_ERROR.into_response());
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
