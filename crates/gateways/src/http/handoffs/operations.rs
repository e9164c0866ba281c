//! The operations on handoffs.

use protocol::handoff::Offer;
use protocol::handoff::check::{Delegation, DraftOrProposal, Proposal};
use protocol::handoff::edit::OfferEdit;
use protocol::handoff::progress::ProgressReport;

use super::acp::{AcpRequest, AcpResponse};
use crate::http::handoffs::completion::{CompleteInput, ConfirmInput, DisputeInput};
use crate::http::handoffs::delegation::ReassignInput;
use crate::http::handoffs::detection::{DetectInput, DetectedView};
use crate::http::handoffs::dry_run::InitiateQuery;
use crate::http::handoffs::erase::EraseInput;
use crate::http::handoffs::lifecycle::{
    AcceptInput, ActivateInput, CloseInput, DiscardInput, RejectInput,
};
use crate::http::handoffs::negotiation::{
    ApproveInput, ExtendSlaInput, RefuseInput, WithdrawInput,
};
use crate::http::handoffs::read::ListInput;
use crate::http::handoffs::recall::RecallInput;
use crate::http::handoffs::view::{ActionDone, HandoffDetail, HandoffView};
use crate::http::shared::entry_view::EntryView;
use crate::http::shared::operation::{self, MakeSchema, Operation, Response, Who, read, schema};
use crate::http::shared::paging::{ListPage, PageInput};

const fn action(
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    request: MakeSchema,
) -> Operation {
    Operation {
        response: Response::Json(schema::<ActionDone>),
        ..operation::action(path, id, summary, request)
    }
}

pub const HANDOFFS: [Operation; 26] = [
    Operation {
        query: Some(schema::<ListInput>),
        response: Response::Json(schema::<ListPage<HandoffView>>),
        ..read("/v1/handoffs", "list_handoffs", "Lists handoffs, newest first.")
    },
    Operation {
        status: 201,
        query: Some(schema::<InitiateQuery>),
        ..action(
            "/v1/handoffs",
            "initiate_handoff",
            "Proposes a task to another agent.",
            schema::<Proposal>,
        )
    },
    Operation {
        status: 201,
        ..action(
            "/v1/handoffs/drafts",
            "draft_handoff",
            "Saves a draft, to be proposed later.",
            schema::<Offer>,
        )
    },
    Operation {
        is_keyed: false,
        response: Response::Json(schema::<DetectedView>),
        ..operation::action(
            "/v1/handoffs/detect",
            "detect_handoffs",
            "Finds the handoffs in the history of a model, and changes nothing.",
            schema::<DetectInput>,
        )
    },
    Operation {
        response: Response::Json(schema::<HandoffDetail>),
        ..read("/v1/handoffs/{handoff}", "show_handoff", "Shows a handoff with its package.")
    },
    Operation {
        method: "put",
        ..action("/v1/handoffs/{handoff}/draft", "edit_draft", "Replaces a draft.", schema::<Offer>)
    },
    action(
        "/v1/handoffs/{handoff}/discard",
        "discard_draft",
        "The sender ends a draft that it will not propose.",
        schema::<DiscardInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/initiate",
        "propose_draft",
        "Proposes a saved draft; an offer in the body replaces it.",
        schema::<DraftOrProposal>,
    ),
    action(
        "/v1/handoffs/{handoff}/accept",
        "accept_handoff",
        "The target agrees; the gate verifies the package.",
        schema::<AcceptInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/reject",
        "reject_handoff",
        "The target declines, with a reason and a detail.",
        schema::<RejectInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/approve",
        "approve_handoff",
        "A human agrees to a handoff whose policy asks for it.",
        schema::<ApproveInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/refuse",
        "refuse_handoff",
        "A human does not agree, which rejects it.",
        schema::<RefuseInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/counter",
        "counter_handoff",
        "After a rejection the sender proposes again. What is left out stays, `null` clears, lists \
         are replaced whole. A policy that binds less needs the approval of a human.",
        schema::<OfferEdit>,
    ),
    action(
        "/v1/handoffs/{handoff}/withdraw",
        "withdraw_handoff",
        "The sender takes it back before it is accepted.",
        schema::<WithdrawInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/extend_sla",
        "extend_sla",
        "A coordinator gives the stage that is running more time.",
        schema::<ExtendSlaInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/delegate",
        "delegate_handoff",
        "The owner hands a part of the task on, as a handoff of its own.",
        schema::<Delegation>,
    ),
    action(
        "/v1/handoffs/{handoff}/reassign",
        "reassign_handoff",
        "A coordinator closes it and hands the task to another agent.",
        schema::<ReassignInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/activate",
        "activate_handoff",
        "The target starts the work and owns the task.",
        schema::<ActivateInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/progress",
        "report_progress",
        "The owner reports how far the work is. No deadline moves.",
        schema::<ProgressReport>,
    ),
    action(
        "/v1/handoffs/{handoff}/recall",
        "recall_handoff",
        "The sender asks for a task back that was accepted.",
        schema::<RecallInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/complete",
        "complete_handoff",
        "The target reports the work as done; final artifacts are verified first.",
        schema::<CompleteInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/confirm",
        "confirm_completion",
        "A verifier other than the owner confirms that the work is done.",
        schema::<ConfirmInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/dispute",
        "dispute_completion",
        "A verifier other than the owner disputes it; the work goes on.",
        schema::<DisputeInput>,
    ),
    action(
        "/v1/handoffs/{handoff}/close",
        "close_handoff",
        "Sender, target or a coordinator makes the record final.",
        schema::<CloseInput>,
    ),
    Operation {
        who: Who::Operator,
        response: Response::Json(schema::<HandoffDetail>),
        ..action(
            "/v1/handoffs/{handoff}/erase",
            "erase_content",
            "Erases what one entry of a closed handoff says; the chain stays whole.",
            schema::<EraseInput>,
        )
    },
    Operation {
        query: Some(schema::<PageInput>),
        response: Response::Json(schema::<ListPage<EntryView>>),
        ..read("/v1/handoffs/{handoff}/history", "handoff_history", "The ledger of a handoff.")
    },
];

pub const ACP: [Operation; 1] = [Operation {
    response: Response::Json(schema::<AcpResponse>),
    ..action(
        "/v1/acp/handoff",
        "acp_handoff",
        "The `acp_handoff` tool: an action and its fields.",
        schema::<AcpRequest>,
    )
}];
