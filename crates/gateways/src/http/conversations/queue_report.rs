//! `GET /v1/reports/queues`: the figures of queues, by day. What each figure counts is in
//! docs/queues.md.

use axum::Json;
use axum::extract::State;
use engine::read::transfers::{Counted, REPORT_TRANSFERS_MAX};
use protocol::ids::AgentId;
use protocol::queue::report::{Counts, Line, REPORT_DAYS_MAX, Requested, Times};
use protocol::time::{Span, Time};
use protocol::visibility::details::sees_reports;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::shared::auth::Asker;
use crate::http::shared::gateway::Gateway;
use crate::http::shared::input::QueryParameters;
use crate::http::shared::problem::Problem;

const DAY: Span = Span::from_hours(24);

/// Which transfers are counted.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportInput {
    /// Requested at this time or later; seven days before `until` when absent.
    #[serde(default)]
    pub from: Option<Time>,
    /// Requested before this time; now when absent, but at most 92 days after `from`.
    #[serde(default)]
    pub until: Option<Time>,
    /// Only those that count for this queue.
    #[serde(default)]
    pub queue: Option<AgentId>,
}

/// The figures of the transfers that were requested in a time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueReport {
    pub from: String,
    pub until: String,
    /// By day in UTC, then by queue. A day on which no person was asked for has no line.
    pub items: Vec<ReportLine>,
}

/// The figures of a queue and a day.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportLine {
    /// The day on which they were requested, such as `2026-02-21`.
    pub day: String,
    pub queue: String,
    #[serde(flatten)]
    pub counts: Counts,
    /// From the request to the first answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Times>,
    /// With people, time on hold included; of those that were answered and are over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<Times>,
}

pub async fn report(
    State(gateway): State<Gateway>,
    asker: Asker,
    QueryParameters(input): QueryParameters<ReportInput>,
) -> Result<Json<QueueReport>, Problem> {
    let caller = asker.member()?.caller;
    if !sees_reports(&caller) {
        let detail = "only a coordinator or an operator may see the figures of queues";
        return Err(Problem::new("not_allowed", detail));
    }
    let (from, until) = range(&input, gateway.engine.clock().now())?;
    let requested = Requested { since: from, until, queue: input.queue };
    let counted = gateway.engine.read().queue_report(&caller.teamspace, requested).await?;
    let Counted::All(report) = counted else {
        let expected = format!("a time with at most {REPORT_TRANSFERS_MAX} transfers");
        return Err(Problem::schema_invalid("until", &expected));
    };
    let (from, until) = (from.to_string(), until.to_string());
    let items = report.lines().into_iter().map(line).collect();
    Ok(Json(QueueReport { from, until, items }))
}

/// The time that is asked for, with what is left out.
fn range(input: &ReportInput, now: Time) -> Result<(Time, Time), Problem> {
    let longest = days(REPORT_DAYS_MAX as i64);
    let (from, until) = match (input.from, input.until) {
        (Some(from), Some(until)) => (from, until),
        (Some(from), None) => (from, now.min(from.plus(longest)).max(from)),
        (None, until) => {
            let until = until.unwrap_or(now);
            (Time::from_millis(until.as_millis() - days(7).as_millis()), until)
        }
    };
    if from > until {
        return Err(Problem::schema_invalid("until", "`from`, or a later time"));
    }
    if until.since(from) > longest {
        let expected = format!("a time at most {REPORT_DAYS_MAX} days after `from`");
        return Err(Problem::schema_invalid("until", &expected));
    }
    Ok((from, until))
}

fn days(n_days: i64) -> Span {
    Span::from_millis(DAY.as_millis() * n_days)
}

fn line(line: Line) -> ReportLine {
    let Line { day, queue, counts, wait, handle } = line;
    let day = day.to_string().split('T').next().unwrap_or_default().to_owned();
    ReportLine { day, queue: queue.to_string(), counts, wait, handle }
}
