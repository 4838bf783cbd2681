//! `shard usage`: tokens and cost, of all agents of this installation. Needs no daemon.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use shard_daemon::usage_rows;
use shard_protocol::{UsageGroup, UsageQuery, UsageRow};
use shard_types::time;

use super::show::{home_as_tilde, table};
use crate::args::UsageArgs;
use crate::failure::{Failure, print, say};
use crate::places::Places;

const HOUR: u64 = 3_600_000;

pub(crate) fn run(args: &UsageArgs) -> Result<(), Failure> {
    let places = Places::find()?;
    let query = UsageQuery {
        since: args.since,
        until: args.until,
        group_by: args.by,
    };
    let mut rows = usage_rows(&places.state_home, &query).map_err(anyhow::Error::from)?;
    if args.json {
        print(&serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    if rows.is_empty() {
        say("nothing was used in that time");
        return Ok(());
    }
    if args.by == UsageGroup::Project {
        let home = places.home.as_deref();
        rows.iter_mut()
            .for_each(|row| row.key = home_as_tilde(&row.key, home));
    }
    print(&listed(&rows, args.by))?;
    Ok(())
}

fn listed(rows: &[UsageRow], by: UsageGroup) -> String {
    let mut total = UsageRow {
        key: "TOTAL".to_owned(),
        input: 0,
        output: 0,
        cache_read: 0,
        cache_write: 0,
        cost: 0.0,
        calls: 0,
    };
    for row in rows {
        total.input = total.input.saturating_add(row.input);
        total.output = total.output.saturating_add(row.output);
        total.cache_read = total.cache_read.saturating_add(row.cache_read);
        total.cache_write = total.cache_write.saturating_add(row.cache_write);
        total.cost += row.cost;
        total.calls += row.calls;
    }
    let cells = |row: &UsageRow| {
        [
            row.key.clone(),
            row.calls.to_string(),
            row.input.to_string(),
            row.output.to_string(),
            row.cache_read.to_string(),
            row.cache_write.to_string(),
            format!("${:.4}", row.cost),
        ]
    };
    let lines: Vec<_> = rows
        .iter()
        .chain((rows.len() > 1).then_some(&total))
        .map(cells)
        .collect();
    let first = match by {
        UsageGroup::Day => "DAY",
        UsageGroup::Model => "MODEL",
        UsageGroup::Agent => "AGENT",
        UsageGroup::Project => "PROJECT",
    };
    table(
        [
            first,
            "CALLS",
            "INPUT",
            "OUTPUT",
            "CACHE READ",
            "CACHE WRITE",
            "COST",
        ],
        &lines,
    )
}

/// A moment: a day such as 2026-11-30, or how long ago, such as 12h or 7d.
pub(crate) fn moment(text: &str) -> Result<u64, String> {
    let wrong = || "write a day such as 2026-11-30, or how long ago, such as 12h or 7d".to_owned();
    for (unit, hours) in [("h", 1), ("d", 24)] {
        if let Some(count) = text.strip_suffix(unit) {
            let count: u64 = count.parse().map_err(|_| wrong())?;
            let ago = count.saturating_mul(hours).saturating_mul(HOUR);
            return Ok(time::now_ms().saturating_sub(ago));
        }
    }
    let day: Date = text.parse().map_err(|_| wrong())?;
    let start = day
        .to_zoned_datetime(TimeZone::system())
        .map_err(|_| wrong())?;
    u64::try_from(start.timestamp().as_millisecond()).map_err(|_| wrong())
}

pub(crate) fn group(text: &str) -> Result<UsageGroup, String> {
    serde_json::from_value(text.into())
        .map_err(|_| "it is one of day, model, agent, project".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_rows_have_a_total() {
        let row = |key: &str, input, cost| UsageRow {
            key: key.to_owned(),
            input,
            output: 2,
            cache_read: 0,
            cache_write: 0,
            cost,
            calls: 1,
        };
        let rows = [row("a/m", 10, 0.5), row("b/m", 1, 0.25)];
        assert_eq!(
            listed(&rows, UsageGroup::Model),
            "MODEL  CALLS  INPUT  OUTPUT  CACHE READ  CACHE WRITE  COST\n\
             a/m    1      10     2       0           0            $0.5000\n\
             b/m    1      1      2       0           0            $0.2500\n\
             TOTAL  2      11     4       0           0            $0.7500\n"
        );
        assert_eq!(listed(&rows[..1], UsageGroup::Model).lines().count(), 2);
    }

    #[test]
    fn a_moment_is_a_day_or_so_long_ago() {
        let now = time::now_ms();
        let ago = |text: &str| now.abs_diff(moment(text).unwrap());
        assert!(ago("2h").abs_diff(2 * HOUR) < 10_000);
        assert!(ago("7d").abs_diff(7 * 24 * HOUR) < 10_000);
        let day = moment("2023-11-15").unwrap() - moment("2023-11-14").unwrap();
        assert_eq!(day, 24 * HOUR);
        for wrong in ["", "d", "yesterday", "2023-13-01", "-1d"] {
            assert!(moment(wrong).is_err(), "{wrong}");
        }
    }
}
