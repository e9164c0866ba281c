//! The operations on transfers and queues.

use protocol::callback::{Ask, Settle};
use protocol::queue::Settings;
use protocol::transfer::bundle::Bundle;
use protocol::transfer::command::{Request, Transfer};

use crate::http::conversations::callbacks::{CallbackSettled, CallbackView};
use crate::http::conversations::queue_report::{QueueReport, ReportInput};
use crate::http::conversations::queues::{QueueSummary, QueueView};
use crate::http::conversations::transfer_list::{TransferPage, TransfersInput};
use crate::http::conversations::transfer_view::TransferView;
use crate::http::conversations::transfers::{
    CompleteInput, EpochInput, FailInput, NoteInput, PickupInput, RateInput, ReasonInput,
};
use crate::http::shared::operation::{Operation, Response, Who, action, read, schema};
use crate::http::shared::paging::{ListPage, PageInput};

pub const TRANSFERS: [Operation; 23] = [
    Operation {
        status: 201,
        ..party(action(
            "/v1/conversations/{conversation}/transfers",
            "request_human",
            "Asks for a person; from then on the queue holds the conversation.",
            schema::<Request>,
        ))
    },
    Operation {
        status: 201,
        response: Response::Json(schema::<CallbackView>),
        ..party(action(
            "/v1/conversations/{conversation}/callbacks",
            "ask_callback",
            "Asks a queue to call the customer back; a waiting transfer is cancelled.",
            schema::<Ask>,
        ))
    },
    Operation {
        response: Response::Json(schema::<CallbackSettled>),
        ..party(action(
            "/v1/conversations/{conversation}/callbacks/done",
            "settle_callback",
            "The customer was called, or shall not be any more.",
            schema::<Settle>,
        ))
    },
    Operation {
        response: Response::Json(schema::<Bundle>),
        ..read("/v1/bundles/{bundle}", "show_bundle", "Shows what a person was told beforehand.")
    },
    Operation {
        query: Some(schema::<TransfersInput>),
        response: Response::Json(schema::<TransferPage>),
        ..read("/v1/transfers", "list_transfers", "Lists transfers, the newest first.")
    },
    party(read("/v1/transfers/{transfer}", "show_transfer", "Shows how a transfer stands.")),
    party(action(
        "/v1/transfers/{transfer}/pickup",
        "pick_up_transfer",
        "A person takes it from the queue; of several the first has it.",
        schema::<PickupInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/accept",
        "accept_transfer",
        "The person for whom it rings answers, and holds the conversation.",
        schema::<EpochInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/decline",
        "decline_transfer",
        "The person for whom it rings does not; it waits on in its place.",
        schema::<ReasonInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/hold",
        "hold_transfer",
        "The customer is put on hold.",
        schema::<EpochInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/resume",
        "resume_transfer",
        "The person is back.",
        schema::<EpochInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/complete",
        "complete_transfer",
        "It is settled; the previous holder gets the conversation back.",
        schema::<CompleteInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/end",
        "end_transfer",
        "It is over, and so is the conversation.",
        schema::<ReasonInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/cancel",
        "cancel_transfer",
        "Cancels the transfer, or the request for another person.",
        schema::<ReasonInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/fail",
        "fail_transfer",
        "A coordinator gives it up.",
        schema::<FailInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/transfer",
        "transfer_on",
        "The person asks another one in, or passes the conversation on.",
        schema::<Transfer>,
    )),
    party(action(
        "/v1/transfers/{transfer}/note",
        "note_transfer",
        "Something for colleagues; the customer does not see it.",
        schema::<NoteInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/whisper",
        "whisper_transfer",
        "A note for the person who answers, from an adviser or a coordinator.",
        schema::<NoteInput>,
    )),
    party(action(
        "/v1/transfers/{transfer}/rate",
        "rate_transfer",
        "The customer says how it was.",
        schema::<RateInput>,
    )),
    Operation {
        query: Some(schema::<PageInput>),
        response: Response::Json(schema::<ListPage<QueueSummary>>),
        ..read("/v1/queues", "list_queues", "Lists the queues, and how many wait in each.")
    },
    Operation {
        query: Some(schema::<ReportInput>),
        response: Response::Json(schema::<QueueReport>),
        ..read("/v1/reports/queues", "report_queues", "Counts what happened in the queues.")
    },
    Operation {
        response: Response::Json(schema::<QueueView>),
        ..read("/v1/queues/{queue}", "show_queue", "Shows what waits in a queue.")
    },
    Operation {
        method: "put",
        response: Response::Json(schema::<QueueView>),
        ..action(
            "/v1/queues/{queue}",
            "configure_queue",
            "Says how a queue works.",
            schema::<Settings>,
        )
    },
];

const fn party(operation: Operation) -> Operation {
    Operation { who: Who::Party, response: Response::Json(schema::<TransferView>), ..operation }
}
