//! `/.well-known/aaep-…`: the server's manifest, signed and unsigned, and the keys that sign it.
//! These are public. `/v1/aaep/keys`: managing the keys, for operators of the whole server.

use std::sync::Arc;

use aaep::keys::Listed;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::aaep::manifest_signing::{Ending, ManifestSigner, Published};
use protocol::canonical;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::aaep::state::Aaep;
use crate::http::shared::auth::Asker;
use crate::http::shared::input::Write;
use crate::http::shared::problem::Problem;

/// How long a copy may be cached. The next key is published as soon as the one before it begins to
/// sign, so a copy that is an hour old is good enough.
const CACHE_CONTROL: &str = "public, max-age=3600";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RotateInput {
    /// The key that signs now. If another key signs, nothing is changed.
    #[serde(default)]
    pub kid: Option<String>,
    /// An attacker may have the keys: all of them are replaced, and none stays published.
    #[serde(default)]
    pub compromised: bool,
}

/// A current, former or future key of the manifest.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeyView {
    pub kid: String,
    /// `signing`, `next` or `retired`.
    pub role: String,
    /// Since when it has this role.
    pub since: String,
    /// When it stops being published; only for retired keys.
    pub until: Option<String>,
}

/// All keys, the one that signs first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct KeysView {
    pub items: Vec<KeyView>,
}

pub async fn manifest(State(gateway): State<Aaep>, headers: HeaderMap) -> Response {
    published(&gateway, &headers, "application/json", |all| all.manifest)
}

pub async fn signed_manifest(State(gateway): State<Aaep>, headers: HeaderMap) -> Response {
    published(&gateway, &headers, "application/jose", |all| all.signed_manifest)
}

pub async fn keys(State(gateway): State<Aaep>, headers: HeaderMap) -> Response {
    published(&gateway, &headers, "application/jwk-set+json", |all| all.keys)
}

pub async fn list(State(gateway): State<Aaep>, asker: Asker) -> Result<Json<KeysView>, Problem> {
    asker.operator()?.server_operator()?;
    let manifest_signer = manifest_signer(&gateway)?;
    Ok(Json(view(manifest_signer.list())))
}

pub async fn rotate(
    State(gateway): State<Aaep>,
    write: Write<RotateInput>,
) -> Result<Json<KeysView>, Problem> {
    let (write, input) = write.split();
    write.asker.operator()?.server_operator()?;
    let manifest_signer = manifest_signer(&gateway)?;
    let ending = if input.compromised { Ending::Compromised } else { Ending::Retired };
    let seeds = [gateway.engine.new_secret(), gateway.engine.new_secret()];
    let now = gateway.engine.clock().now();
    // It blocks on the disk.
    let rotating = tokio::task::spawn_blocking(move || {
        manifest_signer.rotate(input.kid.as_deref(), ending, &seeds, now)
    });
    match rotating.await {
        Ok(Ok(listed)) => Ok(Json(view(listed))),
        Ok(Err(error)) => {
            tracing::error!(%error, "the keys of the manifest could not be kept");
            Err(Problem::new("internal", "the server failed; its log says why"))
        }
        Err(error) => {
            tracing::error!(%error, "the keys of the manifest were not rotated");
            Err(Problem::new("internal", "the server failed; its log says why"))
        }
    }
}

fn manifest_signer(gateway: &Aaep) -> Result<Arc<ManifestSigner>, Problem> {
    gateway.manifest_signer.clone().ok_or_else(|| Problem::not_found("manifest"))
}

fn published(
    gateway: &Aaep,
    headers: &HeaderMap,
    kind: &'static str,
    choose: impl FnOnce(Published) -> String,
) -> Response {
    let Ok(manifest_signer) = manifest_signer(gateway) else {
        return Problem::not_found("manifest").into_response();
    };
    let text = choose(manifest_signer.published(gateway.engine.clock().now()));
    let hash = canonical::hex(&canonical::sha256(&[text.as_bytes()]));
    let tag = format!("\"{}\"", &hash[..32]);
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == tag.as_str());
    // Pages of any origin may read it: it is public.
    let about = [
        (header::CACHE_CONTROL, CACHE_CONTROL.to_owned()),
        (header::ETAG, tag),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*".to_owned()),
    ];
    if known {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    (about, [(header::CONTENT_TYPE, kind)], text).into_response()
}

fn view(listed: Vec<Listed>) -> KeysView {
    let items = listed.into_iter().map(|one| KeyView {
        kid: one.kid,
        role: one.role.as_str().to_owned(),
        since: one.since.to_string(),
        until: one.until.map(|until| until.to_string()),
    });
    KeysView { items: items.collect() }
}
