//! Everything that can go wrong, as HTTP problem details (RFC 9457) with a stable code. This is the
//! one place where errors become statuses; no internal text leaves the server.

use aaep::flaw::Flaw;
use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::ledger::behind::{Behind, Doubt};
use engine::ports::store::StoreError;
use engine::road::submit::SubmitError;
use protocol::handoff::Status;
use protocol::ids::AgentId;
use protocol::json::JsonError;
use protocol::rejection::{Conflict, Rejection};
use protocol::step::{Outcome, Refused};
use protocol::time::Span;
use protocol::transfer::Status as TransferStatus;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::body::BodyError;

/// A refused or failed request.
#[derive(Debug, Clone)]
pub struct Problem {
    pub status: StatusCode,
    pub code: &'static str,
    pub detail: String,
    pub field: Option<String>,
    /// Facts for programs, besides the sentence for people.
    pub facts: Map<String, Value>,
    pub retry_after_s: Option<u64>,
}

/// A longer list of flaws is of no use.
const FLAWS_SHOWN_MAX: usize = 16;

/// Every code this gateway can answer with, and its status.
pub const CODES: [(&str, u16); 64] = [
    ("HANDOFF_ALREADY_CLAIMED", 409),
    ("HANDOFF_DUPLICATE_REQUEST", 409),
    ("HANDOFF_GONE", 410),
    ("agent_not_selectable", 422),
    ("already_answered", 409),
    ("already_exists", 409),
    ("body_too_large", 413),
    ("checkpoint_invalid", 400),
    ("claim_outdated", 409),
    ("contended", 503),
    ("conversation_closed", 409),
    ("cursor_invalid", 400),
    ("epoch_outdated", 409),
    ("epoch_required", 422),
    ("evidence_missing", 422),
    ("file_damaged", 500),
    ("graph_invalid", 422),
    ("hash_mismatch", 422),
    ("host_invalid", 400),
    ("idempotency_key_reused", 422),
    ("identity_mismatch", 403),
    ("internal", 500),
    ("json_invalid", 400),
    ("ledger_behind_checkpoint", 503),
    ("length_ambiguous", 400),
    ("loop_guard", 409),
    ("method_not_allowed", 405),
    ("missing_artifact", 422),
    ("no_capacity", 409),
    ("no_default_queue", 409),
    ("not_allowed", 403),
    ("not_answered", 409),
    ("not_found", 404),
    ("not_holder", 409),
    ("origin_not_allowed", 403),
    ("overloaded", 503),
    ("ownership_conflict", 409),
    ("payload_too_large", 413),
    ("policy_violation", 422),
    ("proof_invalid", 422),
    ("protocol_violation", 422),
    ("question_claimed", 409),
    ("question_finished", 409),
    ("queue_closed", 409),
    ("quota_full", 507),
    ("quota_reached", 429),
    ("rate_limited", 429),
    ("request_timeout", 408),
    ("revision_outdated", 409),
    ("schema_invalid", 422),
    ("sequence_out_of_order", 409),
    ("session_full", 409),
    ("stopping", 503),
    ("storage_full", 507),
    ("storage_reserved", 507),
    ("too_many_streams", 429),
    ("too_many_subscriptions", 429),
    ("too_many_webhooks", 429),
    ("unauthenticated", 401),
    ("unknown_agent", 422),
    ("unknown_outcome", 503),
    ("unsupported_media_type", 415),
    ("upgrade_required", 426),
    ("wrong_state", 409),
];

#[derive(Serialize)]
struct Body<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(flatten)]
    facts: &'a Map<String, Value>,
}

impl Problem {
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        let status =
            CODES.iter().find(|(known, _)| *known == code).map_or(500, |(_, status)| *status);
        Self {
            status: StatusCode::from_u16(status).expect("the table holds real statuses"),
            code,
            detail: detail.into(),
            field: None,
            facts: Map::new(),
            retry_after_s: None,
        }
    }

    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    pub fn not_found(what: &str) -> Self {
        Self::new("not_found", format!("no such {what}"))
    }

    pub fn method_not_allowed() -> Self {
        Self::new("method_not_allowed", "this path does not answer that method")
    }

    pub fn unauthenticated() -> Self {
        Self::new("unauthenticated", "expected a valid token in `Authorization: Bearer …`")
    }

    pub fn schema_invalid(field: &str, expected: &str) -> Self {
        Self::new("schema_invalid", format!("{field}: expected {expected}")).field(field)
    }

    pub fn unsupported_media_type(header: &str, expected: &str) -> Self {
        let detail = format!("{header}: expected {expected}");
        Self::new("unsupported_media_type", detail).field(header)
    }

    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// The first rule that an event breaks, and all of them.
    fn about_event(self, index: usize, flaws: &[Flaw]) -> Self {
        let shown: Vec<_> = flaws.iter().take(FLAWS_SHOWN_MAX).collect();
        let shown = serde_json::to_value(shown).expect("flaws are plain data");
        let first = shown.get(0).cloned().unwrap_or_default();
        self.fact("index", index)
            .fact("rule", first["rule"].clone())
            .fact("tier", first["tier"].clone())
            .fact("expected", first["expected"].clone())
            .fact("flaws", shown)
    }

    /// The handoff or the owners that are in the way.
    fn about_conflict(self, conflict: &Conflict) -> Self {
        match conflict {
            Conflict::Active { handoff } => self.fact("active_handoff_id", handoff.to_string()),
            Conflict::Cycle { chain, .. }
            | Conflict::NotPrevious { chain, .. }
            | Conflict::NotOwner { chain, .. }
            | Conflict::TooManyHops { chain } => {
                let owners: Vec<_> = chain.iter().map(|owner| owner.as_str()).collect();
                self.fact("handoff_chain", owners)
            }
            Conflict::Withheld => self,
        }
    }

    /// The state of a question, or of its last claim.
    fn about_question(self, rejection: &Rejection) -> Self {
        if let Rejection::WrongQuestionState { status, .. } = rejection {
            self.fact("question_status", status.as_str())
        } else if let Rejection::QuestionClaimed { by, until } = rejection {
            self.fact("claimed_by", by.as_str()).fact("until", until.to_string())
        } else if let Rejection::ClaimOutdated { current, .. } = rejection {
            self.fact("epoch", *current)
        } else {
            self
        }
    }

    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    /// Refused logins are counted by address, as there may be no token.
    pub fn too_many_failures(seconds: u64) -> Self {
        let detail = "too many requests without a valid token from this address";
        Self::new("rate_limited", detail).retry_after(seconds)
    }

    pub fn rate_limited(seconds: u64) -> Self {
        Self::new("rate_limited", "too many requests with this token").retry_after(seconds)
    }

    pub fn too_large_too_often(retry_seconds: f64) -> Self {
        let detail = "this teamspace sends more in large bodies than others leave room for";
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a few seconds"
        )]
        Self::new("rate_limited", detail).retry_after(retry_seconds.ceil() as u64)
    }

    pub fn one_host() -> Self {
        Self::new("host_invalid", "Host: expected exactly one such header").field("Host")
    }

    pub fn one_length() -> Self {
        let detail = "expected either Content-Length or Transfer-Encoding, not both";
        Self::new("length_ambiguous", detail).field("Content-Length")
    }

    pub fn too_many_frames(seconds: u64) -> Self {
        Self::new("rate_limited", "too many frames on this connection").retry_after(seconds)
    }

    pub fn too_many_messages(detail: &'static str, seconds: u64) -> Self {
        Self::new("rate_limited", detail).retry_after(seconds)
    }

    /// The request was passed on, and its result is not known.
    pub fn unknown_outcome() -> Self {
        Self::new(
            "unknown_outcome",
            "whether this took effect is not known; repeat it with the same `Idempotency-Key`",
        )
        .retry_after(1)
    }

    /// An agent spoke out of turn, and that was recorded.
    pub fn not_heard(refused: &Refused, outcome: &Outcome) -> Self {
        let code = CODES.iter().map(|(code, _)| *code).find(|code| *code == refused.code);
        Self::new(code.unwrap_or("not_holder"), refused.detail.clone())
            .fact("holder", outcome.holder.as_ref().map(AgentId::as_str))
            .fact("epoch", outcome.epoch)
    }

    /// The gate refused: an accept, and the handoff is rejected now, or a completion, and the work
    /// goes on.
    pub fn refused(refused: &Refused, outcome: &Outcome) -> Self {
        let code = CODES.iter().map(|(code, _)| *code).find(|code| *code == refused.code);
        let status = outcome.status.unwrap_or(Status::Rejected);
        Self::new(code.unwrap_or("policy_violation"), refused.detail.clone())
            .fact("handoff_status", status.as_str())
            .fact("verification_failed", outcome.failed.clone())
    }
}

impl From<Rejection> for Problem {
    fn from(rejection: Rejection) -> Self {
        let mut problem = Self::new(rejection.code(), rejection.to_string());
        problem.field = rejection.field().map(str::to_owned);
        match &rejection {
            Rejection::OwnershipConflict { task_id, conflict } => {
                problem.fact("task_id", task_id.as_str()).about_conflict(conflict)
            }
            Rejection::EvidenceMissing { unanswered } => {
                problem.fact("unanswered", unanswered.clone())
            }
            Rejection::WrongState { state, .. } => problem.fact("handoff_status", state.as_str()),
            Rejection::SchemaInvalid { .. }
            | Rejection::PolicyViolation { .. }
            | Rejection::NotAllowed { .. }
            | Rejection::NotFound { .. }
            | Rejection::UnknownAgent { .. }
            | Rejection::NoDefaultQueue { .. }
            | Rejection::AlreadyExists { .. }
            | Rejection::PayloadTooLarge { .. }
            | Rejection::LoopGuard { .. }
            | Rejection::SequenceOutOfOrder { .. } => problem,
            Rejection::RevisionOutdated { current, .. } => problem.fact("revision", *current),
            Rejection::NotHeard { holder, epoch, .. } => {
                problem.fact("holder", holder.as_str()).fact("epoch", *epoch)
            }
            Rejection::HandoffLoop { hops_max } => problem.fact("hops_max", *hops_max),
            Rejection::EpochRequired
            | Rejection::NotSelectable { .. }
            | Rejection::ConversationClosed { .. } => problem,
            Rejection::AlreadyClaimed { by } => problem.fact("claimed_by", by.as_str()),
            Rejection::DuplicateRequest { transfer, status } => problem
                .fact("transfer_id", transfer.to_string())
                .fact("transfer_status", status.as_str()),
            Rejection::TransferGone { status: Some(status) } => {
                problem.fact("transfer_status", status.as_str())
            }
            Rejection::TransferGone { status: None } => problem,
            Rejection::WrongTransferState { status, .. } => {
                problem.fact("transfer_status", status.as_str())
            }
            Rejection::NotPickedUp { .. } => {
                problem.fact("transfer_status", TransferStatus::Queued.as_str())
            }
            Rejection::LegOpen { leg, to, .. } => problem.fact("leg", *leg).fact("to", to.as_str()),
            Rejection::TooManySubscriptions { n_max } => problem.fact("subscriptions_max", *n_max),
            Rejection::TooManyWebhooks { n_max } => problem.fact("webhooks_max", *n_max),
            Rejection::NoCapacity { agent } => problem.fact("agent", agent.as_str()),
            Rejection::QueueClosed { opens_at, .. } => {
                problem.fact("opens_at", opens_at.map(|at| at.to_string()))
            }
            Rejection::EventRefused { index, flaws } => problem.about_event(*index, flaws),
            Rejection::SessionFull { index, retry_after, .. } => {
                problem.retry_after_s = retry_after.map(whole_seconds);
                problem.fact("index", *index)
            }
            Rejection::QuotaReached { limit, retry_after, .. } => {
                problem.fact("limit", *limit).retry_after(whole_seconds(*retry_after))
            }
            Rejection::LargerThanQuota { limit, .. } => problem.fact("limit", *limit),
            Rejection::QuotaFull { limit, used, .. } => {
                problem.fact("limit", *limit).fact("used", *used)
            }
            Rejection::StorageReserved | Rejection::NotAnswered { .. } => problem,
            Rejection::WrongQuestionState { .. }
            | Rejection::OtherQuestion
            | Rejection::QuestionClaimed { .. }
            | Rejection::ClaimOutdated { .. }
            | Rejection::QuestionFinished { .. } => problem.about_question(&rejection),
        }
    }
}

/// As a header says how long to wait: at least a second.
fn whole_seconds(span: Span) -> u64 {
    span.as_millis().max(0).unsigned_abs().div_ceil(1_000).max(1)
}

impl From<SubmitError> for Problem {
    fn from(error: SubmitError) -> Self {
        match error {
            SubmitError::Rejected(rejection) => rejection.into(),
            SubmitError::KeyReused => Self::new(
                "idempotency_key_reused",
                "this `Idempotency-Key` was used for another request; use a new one",
            )
            .field("Idempotency-Key"),
            SubmitError::Contended => {
                Self::new("contended", "too many concurrent changes; try again").retry_after(1)
            }
            SubmitError::Behind(behind) => behind.into(),
            SubmitError::Store(error) => error.into(),
        }
    }
}

impl From<Behind> for Problem {
    fn from(behind: Behind) -> Self {
        let Behind { ledger_size, lost, doubt } = behind;
        let what = match doubt {
            Doubt::Lost if ledger_size < lost.size => {
                "some entries that a checkpoint vouches for are missing"
            }
            Doubt::Lost => "some entries that a checkpoint vouches for are not the same",
            Doubt::Foreign => {
                "entries after the last checkpoint were not written by this server; tasuki audit \
                 verify names them"
            }
            Doubt::NoWitness => {
                "entries may be missing: checkpoints outside the database, which say how many \
                 there were, are missing or not signed with this server's key"
            }
            Doubt::Unreached => {
                "entries may be missing: the witness, which knows how many there were, does not \
                 answer; it is asked again"
            }
        };
        let remedy = match doubt {
            Doubt::Lost | Doubt::Foreign | Doubt::NoWitness => {
                "once an operator has put back what is missing or declared a fork"
            }
            Doubt::Unreached => "once the witness confirms it or an operator has declared a fork",
        };
        // The number of entries is only for operators of the whole server: the log and `tasuki
        // doctor` show it.
        let detail = format!("{what}; the ledger can be read, and written to {remedy}");
        Self::new("ledger_behind_checkpoint", detail)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "the store failed a request");
        match error {
            StoreError::Full => Self::new("storage_full", "the disk is full; nothing was changed"),
            StoreError::Overloaded => {
                Self::new("overloaded", "the server has too much to do; nothing was changed")
                    .retry_after(1)
            }
            StoreError::Closed => Self::new("stopping", "the server is stopping").retry_after(1),
            StoreError::Unknown => Self::unknown_outcome(),
            StoreError::Corrupt(_) | StoreError::Broken(_) => {
                Self::new("internal", "the server failed; its log says why")
            }
        }
    }
}

impl From<JsonError> for Problem {
    fn from(error: JsonError) -> Self {
        let field = if error.path.is_empty() { "body" } else { &error.path };
        Self::new("json_invalid", error.to_string()).field(field)
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { bytes_max } => {
                Self::new("body_too_large", format!("body: expected at most {bytes_max} bytes"))
                    .field("body")
            }
            BodyError::TooSlow { .. } => {
                Self::new("request_timeout", "the body took too long to arrive").field("body")
            }
            BodyError::Ended => Self::new("quota_reached", "no more may be sent now"),
            BodyError::Broken(_) => {
                Self::new("json_invalid", "the body ended before it was complete").field("body")
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Body {
            kind: format!("urn:tasuki:problem:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
            field: self.field.as_deref(),
            facts: &self.facts,
        };
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        add_headers(headers, &self);
        response
    }
}

/// The headers a problem brings along, whatever shape its body has.
pub fn add_headers(headers: &mut axum::http::HeaderMap, problem: &Problem) {
    if let Some(seconds) = problem.retry_after_s {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if problem.status == StatusCode::UPGRADE_REQUIRED {
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    }
    if problem.status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
}
