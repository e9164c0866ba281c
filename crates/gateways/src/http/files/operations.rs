//! The operations on files and uploads.

use super::uploads::{PieceInput, StoreInput, UploadInput};
use super::view::{FileView, UploadView};
use crate::http::shared::input::Nothing;
use crate::http::shared::operation::{Operation, Response, Who, action, read, schema};
use crate::http::shared::paging::{ListPage, PageInput};

const BYTES: &str = "application/octet-stream";

pub const FILES: [Operation; 8] = [
    Operation {
        method: "post",
        who: Who::Party,
        query: Some(schema::<StoreInput>),
        text_request: Some(BYTES),
        response: Response::Json(schema::<FileView>),
        status: 201,
        is_keyed: false,
        ..read("/v1/files", "store_file", "Stores a small file in one request.")
    },
    Operation {
        who: Who::Party,
        query: Some(schema::<PageInput>),
        response: Response::Json(schema::<ListPage<FileView>>),
        ..read("/v1/files", "list_files", "Lists files; operators see all.")
    },
    Operation {
        who: Who::Party,
        response: Response::Text(BYTES),
        ..read("/v1/files/{file}", "download_file", "The bytes of a file.")
    },
    Operation {
        who: Who::Party,
        status: 201,
        is_keyed: false,
        response: Response::Json(schema::<UploadView>),
        ..action("/v1/uploads", "begin_upload", "Begins an upload.", schema::<UploadInput>)
    },
    Operation {
        who: Who::Party,
        response: Response::Json(schema::<UploadView>),
        ..read("/v1/uploads/{upload}", "show_upload", "Says where an upload goes on.")
    },
    Operation {
        method: "put",
        who: Who::Party,
        query: Some(schema::<PieceInput>),
        text_request: Some(BYTES),
        response: Response::Json(schema::<UploadView>),
        is_keyed: false,
        ..read("/v1/uploads/{upload}", "append_to_upload", "Adds the next piece of an upload.")
    },
    Operation {
        who: Who::Party,
        is_keyed: false,
        response: Response::Json(schema::<FileView>),
        ..action(
            "/v1/uploads/{upload}/finish",
            "finish_upload",
            "Makes a file of an upload whose bytes have all arrived.",
            schema::<Nothing>,
        )
    },
    Operation {
        who: Who::Party,
        is_keyed: false,
        response: Response::Json(schema::<UploadView>),
        ..action(
            "/v1/uploads/{upload}/abandon",
            "abandon_upload",
            "Drops an upload that is not to be finished.",
            schema::<Nothing>,
        )
    },
];
