//! The report: one line for each thing that was measured.

use std::fmt;
use std::time::Duration;

use crate::samples::Samples;

const HEAD: [&str; 5] = ["", "median", "p90", "aim", "beside the bare one"];

/// Lines under a head, in columns.
#[derive(Debug, Default)]
pub(crate) struct Table(Vec<Line>);

/// One line; every column but the first may be empty.
#[derive(Debug)]
pub(crate) struct Line {
    columns: [String; 5],
}

impl Table {
    /// Adds a line of times.
    pub(crate) fn times(&mut self, name: &str, samples: &Samples) -> &mut Line {
        let line = self.line(name, &milliseconds(samples.median()));
        line.columns[2] = milliseconds(samples.p90());
        line
    }

    /// Adds a line of one value.
    pub(crate) fn line(&mut self, name: &str, value: &str) -> &mut Line {
        let mut columns = [const { String::new() }; 5];
        name.clone_into(&mut columns[0]);
        value.clone_into(&mut columns[1]);
        self.0.push(Line { columns });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }
}

impl Line {
    /// Says what the value is meant to be at most.
    pub(crate) fn aim(&mut self, aim: &str) -> &mut Self {
        aim.clone_into(&mut self.columns[3]);
        self
    }

    /// Says more about it.
    pub(crate) fn note(&mut self, note: &str) -> &mut Self {
        note.clone_into(&mut self.columns[4]);
        self
    }

    /// Compares with the least that the system allows.
    pub(crate) fn beside(&mut self, time: Duration, bare: Duration) {
        let more = milliseconds(time.saturating_sub(bare));
        let ratio = time.as_secs_f64() / bare.as_secs_f64();
        self.columns[4] = format!("+{more}, x{ratio:.1}");
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = HEAD.map(str::to_owned);
        let lines = std::iter::once(&head).chain(self.0.iter().map(|line| &line.columns));
        let width = |column: usize| {
            let cells = lines.clone().map(|line| line[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let [name, median, p90, aim] = [0, 1, 2, 3].map(width);
        for [c0, c1, c2, c3, c4] in lines.clone() {
            let line = format!("{c0:name$}  {c1:>median$}  {c2:>p90$}  {c3:aim$}  {c4}");
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
