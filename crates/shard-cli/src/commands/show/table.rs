//! Lists, as a terminal shows them.

use shard_core::gate::visible;

/// Between two columns.
const GAP: &str = "  ";

/// Rows under their headings, each column as wide as it must be.
pub(in crate::commands) fn table<const N: usize>(
    headings: [&str; N],
    rows: &[[String; N]],
) -> String {
    let rows: Vec<[String; N]> = std::iter::once(headings.map(str::to_owned))
        .chain(
            rows.iter()
                .map(|row| row.each_ref().map(|cell| visible(cell))),
        )
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths);
        let padded: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        padded.join(GAP).trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// How long ago something was, in the largest unit that fits.
pub(in crate::commands) fn age(then: u64, now: u64) -> String {
    let seconds = now.saturating_sub(then) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [
            ["1".to_owned(), "grün\u{1b}".to_owned(), String::new()],
            ["22".to_owned(), "x".to_owned(), "last".to_owned()],
        ];
        assert_eq!(
            table(["ID", "NAME", "AGE"], &rows),
            "ID  NAME   AGE\n1   grün␛\n22  x      last\n"
        );
    }

    #[test]
    fn ages_are_short() {
        let ages = [0, 59, 60, 3599, 3600, 86_399, 86_400, 864_000].map(|s| age(0, s * 1000));
        assert_eq!(ages, ["0s", "59s", "1m", "59m", "1h", "23h", "1d", "10d"]);
        assert_eq!(age(5, 0), "0s"); // clocks differ
    }
}
