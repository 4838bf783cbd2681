//! `usage.query`: what provider calls took, summed up.

use std::cmp::Reverse;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use shard_protocol::{UsageGroup, UsageQuery, UsageRow, UsageRows};
use shard_session::{UsageError, UsageRecord, UsageSum, sum_usage};
use shard_types::ErrorCode;

use super::aside;
use crate::client::{Outcome, data, refuse};
use crate::daemon::Daemon;

pub(super) async fn query(daemon: &Daemon, query: UsageQuery) -> Outcome {
    let state_home = daemon.shared.settings.state_home.clone();
    let rows = aside(move || {
        usage_rows(&state_home, &query)
            .map_err(|error| refuse(ErrorCode::InternalError, error.to_string()))
    });
    data(UsageRows { rows: rows.await? })
}

/// What was used, one row for each day, model, agent or project. Days are those of this machine's
/// time zone and stand in their order; of the others the largest comes first. An agent that no
/// daemon looks after counts by its session.
///
/// # Errors
/// When the log cannot be read.
pub fn usage_rows(state_home: &Path, query: &UsageQuery) -> Result<Vec<UsageRow>, UsageError> {
    let span = query.since.unwrap_or(0)..query.until.unwrap_or(u64::MAX);
    let zone = TimeZone::system();
    let sums = sum_usage(state_home, &span, |record| {
        key(record, query.group_by, &zone)
    })?;
    let mut rows: Vec<_> = sums.into_iter().map(|(key, sum)| row(key, &sum)).collect();
    if query.group_by != UsageGroup::Day {
        let tokens = |row: &UsageRow| {
            let counts = [row.input, row.output, row.cache_read, row.cache_write];
            counts.into_iter().fold(0, u64::saturating_add)
        };
        rows.sort_by(|a, b| {
            let by_cost = b.cost.total_cmp(&a.cost);
            by_cost.then_with(|| Reverse(tokens(a)).cmp(&Reverse(tokens(b))))
        });
    }
    Ok(rows)
}

fn key(record: &UsageRecord, group: UsageGroup, zone: &TimeZone) -> String {
    match group {
        UsageGroup::Day => day(record.timestamp, zone),
        UsageGroup::Model => record.usage.model.clone().unwrap_or_default(),
        UsageGroup::Agent => match &record.agent_id {
            Some(agent) => agent.to_string(),
            None => record.session_id.to_string(),
        },
        UsageGroup::Project => record.project.clone(),
    }
}

fn day(timestamp: u64, zone: &TimeZone) -> String {
    let moment = i64::try_from(timestamp).map(Timestamp::from_millisecond);
    match moment {
        Ok(Ok(moment)) => moment.to_zoned_datetime(zone.clone()).date().to_string(),
        _ => "unknown".to_owned(),
    }
}

fn row(key: String, sum: &UsageSum) -> UsageRow {
    UsageRow {
        key,
        input: sum.usage.input,
        output: sum.usage.output,
        cache_read: sum.usage.cache_read.unwrap_or(0),
        cache_write: sum.usage.cache_write.unwrap_or(0),
        cost: sum.usage.cost.unwrap_or(0.0),
        calls: sum.calls,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows(home: &Path, query: serde_json::Value) -> Vec<(String, u64, u64)> {
        let query = serde_json::from_value(query).unwrap();
        let rows = usage_rows(home, &query).unwrap();
        rows.into_iter()
            .map(|row| (row.key, row.input, row.calls))
            .collect()
    }

    #[test]
    fn rows_are_days_in_order_or_the_largest_first() {
        let home = tempfile::tempdir().unwrap();
        let noon = 1_700_000_000_000_u64 - 1_700_000_000_000 % 86_400_000 + 43_200_000;
        let call = |day: u64, agent: Option<&str>, model: &str, input: u64, cost: f64| {
            let mut record = json!({
                "timestamp": noon + day * 86_400_000, "session_id": "session-1", "project": "/p",
                "input": input, "output": 0, "cost": cost, "model": model,
            });
            if let Some(agent) = agent {
                record["agent_id"] = agent.into();
            }
            record.to_string()
        };
        let lines = [
            call(1, Some("agent-1"), "a/m", 5, 0.1),
            call(0, Some("agent-2"), "a/m", 7, 0.1),
            call(0, None, "b/m", 1, 9.0),
        ];
        std::fs::write(home.path().join("usage.jsonl"), lines.join("\n")).unwrap();
        let days = rows(home.path(), json!({"group_by": "day"}));
        assert_eq!(
            days.iter().map(|day| (day.1, day.2)).collect::<Vec<_>>(),
            [(8, 2), (5, 1)]
        );
        assert_eq!(days[0].0.len(), "2023-11-14".len());
        let row = |key: &str, input, calls| (key.to_owned(), input, calls);
        assert_eq!(
            rows(home.path(), json!({"group_by": "model"})),
            [row("b/m", 1, 1), row("a/m", 12, 2)]
        );
        assert_eq!(
            rows(
                home.path(),
                json!({"group_by": "agent", "since": noon, "until": noon + 1})
            ),
            [row("session-1", 1, 1), row("agent-2", 7, 1)]
        );
        assert_eq!(
            rows(home.path(), json!({"group_by": "project"})),
            [row("/p", 13, 3)]
        );
    }

    #[test]
    fn a_day_is_that_of_the_time_zone() {
        let zone = |name: &str| TimeZone::fixed(jiff::tz::offset(name.parse().unwrap()));
        let late = 1_700_004_600_000; // 2023-11-14, 23:30 UTC
        assert_eq!(day(late, &zone("0")), "2023-11-14");
        assert_eq!(day(late, &zone("1")), "2023-11-15");
        assert_eq!(day(u64::MAX, &zone("0")), "unknown");
    }
}
