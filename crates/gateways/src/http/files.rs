//! Files: uploads in pieces, and downloads. A piece is as large as any body may be, so that no
//! request holds more memory than others do.

pub mod download;
pub mod operations;
pub mod serving;
pub mod uploads;
pub mod view;

use axum::Router;

use super::shared::gateway::Gateway;
use super::shared::routes::Routes;
use operations::FILES;

pub fn routes(gateway: Gateway) -> Router {
    Routes::new(&[&FILES])
        .route("/v1/files", |at| at.get(download::list).post(uploads::store))
        .route("/v1/files/{file}", |at| at.get(download::download))
        .route("/v1/uploads", |at| at.post(uploads::begin))
        .route("/v1/uploads/{upload}", |at| at.get(uploads::show).put(uploads::append))
        .route("/v1/uploads/{upload}/finish", |at| at.post(uploads::finish))
        .route("/v1/uploads/{upload}/abandon", |at| at.post(uploads::abandon))
        .with_state(gateway)
}
