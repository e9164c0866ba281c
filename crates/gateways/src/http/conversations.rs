//! Conversations: a chat with a customer, its transfers to people, the queues in which it waits,
//! and the graphs that route it.

pub mod access;
pub mod announced;
pub mod bundle_view;
pub mod bundles;
pub mod by_tools;
pub mod callbacks;
pub mod choices;
pub mod erase;
pub mod export;
pub mod graph_operations;
pub mod graphs;
pub mod history;
pub mod lifecycle;
pub mod model_history;
pub mod names;
pub mod operations;
pub mod queue_news;
pub mod queue_report;
pub mod queues;
pub mod signals;
pub mod to_people;
pub mod tool_targets;
pub mod transcript;
pub mod transfer_list;
pub mod transfer_news;
pub mod transfer_operations;
pub mod transfer_record;
pub mod transfer_view;
pub mod transfer_waits;
pub mod transfers;
pub mod view;

use axum::Router;

use super::shared::gateway::Gateway;
use super::shared::routes::Routes;
use graph_operations::GRAPHS;
use operations::CONVERSATIONS;
use transfer_operations::TRANSFERS;

pub fn routes(gateway: Gateway) -> Router {
    with_transfers(Routes::new(&[&CONVERSATIONS, &TRANSFERS, &GRAPHS]))
        .route("/v1/conversations", |at| at.get(lifecycle::list).post(lifecycle::open))
        .route("/v1/conversations/{conversation}", |at| at.get(lifecycle::show))
        .route("/v1/conversations/{conversation}/messages", |at| {
            at.get(transcript::read).post(lifecycle::say)
        })
        .route("/v1/conversations/{conversation}/messages/{number}/attachments/{index}", |at| {
            at.get(transcript::download)
        })
        .route("/v1/conversations/{conversation}/history", |at| at.get(model_history::history))
        .route("/v1/conversations/{conversation}/commands", |at| at.post(lifecycle::route))
        .route("/v1/conversations/{conversation}/progress", |at| at.post(lifecycle::progress))
        .route("/v1/conversations/{conversation}/agent", |at| at.put(lifecycle::select))
        .route("/v1/conversations/{conversation}/agents", |at| at.get(choices::list))
        .route("/v1/conversations/{conversation}/tool-calls", |at| at.post(by_tools::called))
        .route("/v1/conversations/{conversation}/signals", |at| at.post(signals::observe))
        .route("/v1/conversations/{conversation}/tokens", |at| at.post(lifecycle::mint))
        .route("/v1/conversations/{conversation}/close", |at| at.post(lifecycle::close))
        .route("/v1/conversations/{conversation}/erase", |at| at.post(erase::erase))
        .route("/v1/conversations/{conversation}/export", |at| at.get(export::export))
        .route("/v1/graphs", |at| at.get(graphs::list))
        .route("/v1/graphs/{graph}", |at| at.get(graphs::show).put(graphs::save))
        .route("/v1/graphs/{graph}/remove", |at| at.post(graphs::remove))
        .route("/v1/agents/{agent}/handoff-tools", |at| at.get(by_tools::definitions))
        .with_state(gateway)
}

fn with_transfers(routes: Routes<Gateway>) -> Routes<Gateway> {
    routes
        .route("/v1/conversations/{conversation}/transfers", |at| at.post(transfers::request))
        .route("/v1/conversations/{conversation}/callbacks", |at| at.post(callbacks::ask))
        .route("/v1/conversations/{conversation}/callbacks/done", |at| at.post(callbacks::settle))
        .route("/v1/bundles/{bundle}", |at| at.get(bundles::show))
        .route("/v1/transfers", |at| at.get(transfer_list::list))
        .route("/v1/transfers/{transfer}", |at| at.get(transfers::show))
        .route("/v1/transfers/{transfer}/pickup", |at| at.post(transfers::pickup))
        .route("/v1/transfers/{transfer}/accept", |at| at.post(transfers::accept))
        .route("/v1/transfers/{transfer}/decline", |at| at.post(transfers::decline))
        .route("/v1/transfers/{transfer}/hold", |at| at.post(transfers::hold))
        .route("/v1/transfers/{transfer}/resume", |at| at.post(transfers::resume))
        .route("/v1/transfers/{transfer}/complete", |at| at.post(transfers::complete))
        .route("/v1/transfers/{transfer}/end", |at| at.post(transfers::end))
        .route("/v1/transfers/{transfer}/cancel", |at| at.post(transfers::cancel))
        .route("/v1/transfers/{transfer}/fail", |at| at.post(transfers::fail))
        .route("/v1/transfers/{transfer}/transfer", |at| at.post(transfers::transfer))
        .route("/v1/transfers/{transfer}/note", |at| at.post(transfers::note))
        .route("/v1/transfers/{transfer}/whisper", |at| at.post(transfers::whisper))
        .route("/v1/transfers/{transfer}/rate", |at| at.post(transfers::rate))
        .route("/v1/reports/queues", |at| at.get(queue_report::report))
        .route("/v1/queues", |at| at.get(queues::list))
        .route("/v1/queues/{queue}", |at| at.get(queues::show).put(queues::configure))
}
