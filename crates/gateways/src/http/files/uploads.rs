//! Storing files: in one request, or in pieces that survive a lost connection and a restart.

use axum::Json;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use protocol::form;
use protocol::ids::{FileId, UploadId};
use protocol::json::INTEGER_MAX;
use schemars::JsonSchema;
use serde::Deserialize;

use super::view::{FileView, UploadView, file_view, upload_view};
use crate::http::shared::auth::{Asker, authenticate};
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{
    Named, Nothing, QueryParameters, Write, media_type, read_within_quota,
};
use crate::http::shared::problem::Problem;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UploadInput {
    /// How many bytes the file has.
    #[schemars(transform = form::range(0, INTEGER_MAX))]
    pub size_bytes: u64,
    /// What the bytes must be, checked at the end.
    #[serde(default)]
    pub file: Option<FileId>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PieceInput {
    /// How many bytes of the file come before this piece.
    #[serde(default)]
    pub offset: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreInput {
    /// What the bytes must be.
    #[serde(default)]
    pub file: Option<FileId>,
}

pub async fn store(State(gateway): State<Gateway>, request: Request) -> Result<Response, Problem> {
    let (mut parts, body) = request.into_parts();
    let asker = authenticate(&gateway, &parts).await?;
    let QueryParameters(StoreInput { file: expected }) = query(&mut parts).await?;
    let bytes = read_bytes(&gateway, &asker, &parts, body).await?;
    let (file, _) = gateway.engine.files().store(&asker.caller, bytes, expected).await?;
    Ok((StatusCode::CREATED, Json(stored(&gateway, &asker, file).await?)).into_response())
}

pub async fn begin(
    State(gateway): State<Gateway>,
    write: Write<UploadInput>,
) -> Result<Response, Problem> {
    let UploadInput { size_bytes, file } = write.body;
    let caller = &write.asker.caller;
    let upload = gateway.engine.files().begin(caller, size_bytes, file).await?;
    let view = upload_view(upload, gateway.limits.body_bytes_max);
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

pub async fn show(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(id): Named<UploadId>,
) -> Result<Json<UploadView>, Problem> {
    let upload = gateway.engine.files().upload(&asker.caller, id).await?;
    Ok(Json(upload_view(upload, gateway.limits.body_bytes_max)))
}

pub async fn append(
    State(gateway): State<Gateway>,
    request: Request,
) -> Result<Json<UploadView>, Problem> {
    let (mut parts, body) = request.into_parts();
    let asker = authenticate(&gateway, &parts).await?;
    let Named(id) = Named::<UploadId>::from_request_parts(&mut parts, &gateway).await?;
    let QueryParameters(PieceInput { offset }) = query(&mut parts).await?;
    let offset = offset.as_deref().map_or(Some(0), |text| text.parse().ok());
    let expected = "a number of bytes";
    let offset = offset.ok_or_else(|| Problem::schema_invalid("offset", expected))?;
    // One that is not there is not worth a megabyte.
    gateway.engine.files().upload(&asker.caller, id).await?;
    let bytes = read_bytes(&gateway, &asker, &parts, body).await?;
    let upload = gateway.engine.files().append(&asker.caller, id, offset, bytes).await?;
    Ok(Json(upload_view(upload, gateway.limits.body_bytes_max)))
}

pub async fn finish(
    State(gateway): State<Gateway>,
    Named(id): Named<UploadId>,
    write: Write<Nothing>,
) -> Result<Json<FileView>, Problem> {
    let file = gateway.engine.files().finish(&write.asker.caller, id).await?;
    stored(&gateway, &write.asker, file).await.map(Json)
}

pub async fn abandon(
    State(gateway): State<Gateway>,
    Named(id): Named<UploadId>,
    write: Write<Nothing>,
) -> Result<Json<UploadView>, Problem> {
    let caller = &write.asker.caller;
    let upload = gateway.engine.files().upload(caller, id).await?;
    gateway.engine.files().abandon(caller, id).await?;
    Ok(Json(upload_view(upload, gateway.limits.body_bytes_max)))
}

async fn query<T>(parts: &mut Parts) -> Result<QueryParameters<T>, Problem>
where
    T: serde::de::DeserializeOwned + JsonSchema + 'static,
{
    QueryParameters::from_request_parts(parts, &()).await
}

async fn read_bytes(
    gateway: &Gateway,
    asker: &Asker,
    parts: &Parts,
    body: axum::body::Body,
) -> Result<Bytes, Problem> {
    // Bytes are stored as they come, so compressed ones would be another file.
    media_type(&parts.headers)?;
    read_within_quota(gateway, &asker.caller, body, gateway.limits.body_bytes_max).await
}

/// The file that the caller has just stored. If it was used and erased meanwhile, it is gone.
async fn stored(gateway: &Gateway, asker: &Asker, file: FileId) -> Result<FileView, Problem> {
    let known = gateway.engine.files().kept(&asker.caller.teamspace, &file).await?;
    let known = known.ok_or_else(|| Problem::not_found("file"))?;
    Ok(file_view(file, &known, &asker.caller))
}
