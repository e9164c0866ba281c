//! `tasuki usage`: what is used of the quotas, and the quotas of a teamspace.

use anyhow::Result;
use clap::Args;
use serde_json::{Map, Value, json};

use super::reach::Reach;
use crate::client::{Call, percent_encode};
use crate::{exit_code, output};

#[derive(Debug, Args)]
pub struct UsageArgs {
    #[command(flatten)]
    reach: Reach,
    /// Another teamspace than your own, for operators of the server
    #[arg(long, value_name = "ID")]
    of: Option<String>,
    /// Set a quota of that teamspace, or `default`, for operators of the server; once for each
    #[arg(long, value_name = "QUOTA=NUMBER", value_parser = parse_quota, requires = "of")]
    set: Vec<(String, Option<u32>)>,
}

/// Typed in place of a number: as the server has it.
const DEFAULT: &str = "default";

pub async fn run(args: UsageArgs) -> Result<u8> {
    let reached = args.reach.connect().await?;
    let path = match &args.of {
        Some(teamspace) => format!("/v1/usage?teamspace={}", percent_encode(teamspace)),
        None => "/v1/usage".to_owned(),
    };
    let mut answer = reached.client.call(Call::get(path)).await?.success()?;
    if !args.set.is_empty() {
        let mut quotas = answer["quotas"].as_object().cloned().unwrap_or_default();
        change(&mut quotas, args.set);
        let body = json!({ "teamspace": args.of, "quotas": quotas });
        answer = reached.client.call(Call::put("/v1/quotas", body)).await?.success()?;
    }
    if args.reach.json {
        output::json(&answer);
    } else {
        output::line(&table(&answer));
        if answer["counting"] == true {
            output::remark("what was stored before the server started is still being counted");
        }
    }
    reached.finish().await;
    Ok(exit_code::OK)
}

fn change(quotas: &mut Map<String, Value>, set: Vec<(String, Option<u32>)>) {
    for (quota, limit) in set {
        match limit {
            Some(limit) => quotas.insert(quota, limit.into()),
            None => quotas.remove(&quota),
        };
    }
}

fn parse_quota(text: &str) -> Result<(String, Option<u32>), String> {
    let expected = || format!("expected QUOTA=NUMBER, or QUOTA={DEFAULT}");
    let (quota, limit) = text.split_once('=').ok_or_else(expected)?;
    let limit = match limit {
        DEFAULT => None,
        limit => Some(limit.parse().map_err(|_| expected())?),
    };
    Ok((quota.to_owned(), limit))
}

/// The teamspace first, then the caller or, for operators, the principals that use most.
fn table(answer: &Value) -> String {
    let of = |who: &str, quotas: &Value| {
        let quotas = quotas.as_array().into_iter().flatten();
        quotas.map(|one| row(who, one)).collect::<Vec<_>>()
    };
    let mut rows = of(answer["teamspace"].as_str().unwrap_or_default(), &answer["whole"]);
    let principals = answer["principals"].as_array();
    for one in principals.into_iter().flatten() {
        rows.extend(of(one["principal"].as_str().unwrap_or_default(), &one["quotas"]));
    }
    if rows.is_empty() {
        rows = of("you", &answer["own"]);
    }
    // Those of customers and members who have used nothing yet.
    for (quota, limit) in answer["quotas"].as_object().into_iter().flatten() {
        if !rows.iter().any(|row| row[1] == *quota) {
            let whose = quota.split('_').next().unwrap_or_default();
            let limit = format!("{limit} (set)");
            rows.push(vec![format!("each {whose}"), quota.clone(), "–".to_owned(), limit]);
        }
    }
    output::table(&["who", "quota", "used", "limit"], rows)
}

fn row(who: &str, one: &Value) -> Vec<String> {
    let limit = match one["limit"].as_u64() {
        Some(limit) if one["set"] == true => format!("{limit} (set)"),
        Some(limit) => limit.to_string(),
        None => "none".to_owned(),
    };
    let quota = one["quota"].as_str().unwrap_or_default().to_owned();
    vec![who.to_owned(), quota, one["used"].to_string(), limit]
}
