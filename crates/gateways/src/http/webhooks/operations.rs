//! The operations on webhooks.

use super::deliveries::EventInput;
use super::lifecycle::{PauseInput, ResumeInput, RotateInput, WebhookInput};
use super::view::{AttemptView, DeliveriesView, WebhookView};
use crate::http::shared::input::Nothing;
use crate::http::shared::operation::{Operation, Response, action, read, schema};
use crate::http::shared::paging::{ListPage, PageInput};

pub const WEBHOOKS: [Operation; 12] = [
    Operation {
        query: Some(schema::<PageInput>),
        response: Response::Json(schema::<ListPage<WebhookView>>),
        ..read("/v1/webhooks", "list_webhooks", "Lists your webhooks; operators see all.")
    },
    Operation {
        status: 201,
        response: Response::Json(schema::<WebhookView>),
        ..action("/v1/webhooks", "create_webhook", "Makes a webhook.", schema::<WebhookInput>)
    },
    Operation {
        response: Response::Json(schema::<WebhookView>),
        ..read("/v1/webhooks/{webhook}", "show_webhook", "Shows a webhook and how it does.")
    },
    Operation {
        method: "put",
        request: Some(schema::<WebhookInput>),
        response: Response::Json(schema::<WebhookView>),
        ..read("/v1/webhooks/{webhook}", "change_webhook", "Replaces what is delivered, and where.")
    },
    Operation {
        response: Response::Json(schema::<WebhookView>),
        ..action(
            "/v1/webhooks/{webhook}/rotate_key",
            "rotate_webhook_key",
            "Makes a new key; the old one signs for a while, too.",
            schema::<RotateInput>,
        )
    },
    Operation {
        response: Response::Json(schema::<WebhookView>),
        ..action(
            "/v1/webhooks/{webhook}/pause",
            "pause_webhook",
            "Stops deliveries; nothing is lost.",
            schema::<PauseInput>,
        )
    },
    Operation {
        response: Response::Json(schema::<WebhookView>),
        ..action(
            "/v1/webhooks/{webhook}/resume",
            "resume_webhook",
            "Goes on where deliveries stopped, or anew after an event.",
            schema::<ResumeInput>,
        )
    },
    Operation {
        response: Response::Json(schema::<WebhookView>),
        ..action(
            "/v1/webhooks/{webhook}/remove",
            "remove_webhook",
            "Ends a webhook.",
            schema::<Nothing>,
        )
    },
    Operation {
        response: Response::Json(schema::<DeliveriesView>),
        ..read("/v1/webhooks/{webhook}/deliveries", "list_deliveries", "Shows what was tried.")
    },
    Operation {
        is_keyed: false,
        response: Response::Json(schema::<AttemptView>),
        ..action(
            "/v1/webhooks/{webhook}/test",
            "test_webhook",
            "Posts a test and says what the endpoint answered.",
            schema::<Nothing>,
        )
    },
    Operation {
        is_keyed: false,
        response: Response::Json(schema::<AttemptView>),
        ..action(
            "/v1/webhooks/{webhook}/redeliver",
            "redeliver_event",
            "Posts an event once more, now.",
            schema::<EventInput>,
        )
    },
    Operation {
        response: Response::Json(schema::<DeliveriesView>),
        ..action(
            "/v1/webhooks/{webhook}/discard",
            "discard_delivery",
            "Gives up a delivery that was set aside.",
            schema::<EventInput>,
        )
    },
];
