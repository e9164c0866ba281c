//! Lists and downloads of files by their own names.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use engine::ports::store::ListOf;
use protocol::caller::Caller;
use protocol::file::File;
use protocol::ids::FileId;
use protocol::ledger::Subject;

use super::serving::{Served, serve};
use super::view::{FileView, file_view};
use crate::http::shared::auth::Asker;
use crate::http::shared::cursors;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::{Named, QueryParameters};
use crate::http::shared::paging::{ListPage, PageInput, parse_limit};
use crate::http::shared::problem::Problem;

const LIST: &str = "files";

/// An operator sees all files of the teamspace, other callers those that they stored and that
/// nothing of theirs refers to yet.
pub async fn list(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<PageInput>,
) -> Result<Json<ListPage<FileView>>, Problem> {
    let limit = parse_limit(input.limit.as_deref())?;
    let caller = &asker.caller;
    let before = cursors::row_before(&gateway, caller, LIST, input.cursor.as_deref())?;
    let read = gateway.engine.read();
    let page = read.list(&caller.teamspace, ListOf::Files, before, limit).await?;
    let now = gateway.engine.clock().now();
    let is_listed = |known: &File| {
        let is_own = known.is_upload_of(&caller.principal.to_string(), now);
        known.is_kept() && (caller.is_operator() || is_own)
    };
    let items = page.items.iter().filter_map(|item| {
        let Subject::File(file) = &item.stream.subject else { return None };
        let known = item.state.as_file().filter(|known| is_listed(known))?;
        Some(file_view(file.clone(), known, caller))
    });
    let items = items.collect();
    let next_cursor = cursors::next_row(&gateway, caller, LIST, page.next);
    Ok(Json(ListPage { items, next_cursor }))
}

pub async fn download(
    State(gateway): State<Gateway>,
    asker: Asker,
    Named(file): Named<FileId>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let known = gateway.engine.files().readable(&asker.caller, &file).await?;
    let caller: &Caller = &asker.caller;
    let served = Served { file: &file, known: &known, name: None, media_type: None };
    serve(&gateway, &caller.teamspace, served, &headers).await
}
