//! Where a text that a file does not hold may have been meant.

use super::visible;

/// Lines of the file that are compared.
const MAX_LINES: usize = 20_000;
/// Bytes of a line that are compared and shown.
const MAX_LINE: usize = 160;
/// Places shown.
const MAX_PLACES: usize = 3;
/// Lines shown of a place.
const MAX_SHOWN: usize = 6;
/// How alike two lines must be, from 0 to 1.
const ALIKE: f64 = 0.5;

/// The lines of `content` that are most like `wanted`, with their numbers; empty when none is.
pub(crate) fn closest(content: &[u8], wanted: &str) -> String {
    let lines: Vec<&[u8]> = content
        .split(|byte| *byte == b'\n')
        .take(MAX_LINES)
        .collect();
    let wanted: Vec<&str> = wanted.lines().collect();
    // The longest line is the one that stands in the fewest places.
    let Some((anchor, line)) = wanted
        .iter()
        .enumerate()
        .max_by_key(|(_, line)| line.trim().len())
    else {
        return String::new();
    };
    let places = alike(&lines, visible::head(line.trim(), MAX_LINE));
    let shown: Vec<String> = places
        .into_iter()
        .map(|at| place(&lines, at.saturating_sub(anchor), wanted.len()))
        .collect();
    shown.join("\n…\n")
}

/// Where the lines most like `wanted` are, the best first.
fn alike(lines: &[&[u8]], wanted: &str) -> Vec<usize> {
    let score = |line: &&[u8]| {
        let line = String::from_utf8_lossy(&line[..line.len().min(MAX_LINE)]);
        let line = line.trim();
        let (short, long) = (line.len().min(wanted.len()), line.len().max(wanted.len()));
        match short * 2 < long {
            // Half of it would be different, whatever it says.
            true => 0.0,
            false => strsim::normalized_levenshtein(line, wanted),
        }
    };
    let scored = lines.iter().map(score).enumerate();
    let mut scored: Vec<_> = scored.filter(|(_, score)| *score >= ALIKE).collect();
    scored.sort_by(|a, b| b.1.total_cmp(&a.1));
    scored
        .into_iter()
        .map(|(at, _)| at)
        .take(MAX_PLACES)
        .collect()
}

fn place(lines: &[&[u8]], start: usize, length: usize) -> String {
    let shown = lines
        .iter()
        .enumerate()
        .skip(start)
        .take(length.min(MAX_SHOWN));
    let row = |(at, line): (usize, &&[u8])| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = visible::text(&line[..line.len().min(MAX_LINE * 2)]);
        format!("{:>6}\t{}", at + 1, visible::short(&text, MAX_LINE))
    };
    let rows: Vec<String> = shown.map(row).collect();
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_most_like_it_are_shown_with_numbers() {
        let content =
            b"fn alpha() {\r\n    let value = compute(1);\n}\nfn beta() {\n    other\n}\n";
        let got = closest(content, "fn alpha() {\n    let value = compute(2);\n}");
        assert_eq!(
            got,
            "     1\tfn alpha() {\n     2\t    let value = compute(1);\n     3\t}"
        );
        assert_eq!(closest(content, "nothing at all like this line"), "");
        assert_eq!(closest(content, ""), "");
    }

    #[test]
    fn it_stays_small() {
        let content = "some line that repeats over and over\n".repeat(50_000);
        let wanted = "some line that repeats over and ever\n".repeat(100);
        let got = closest(content.as_bytes(), &wanted);
        assert_eq!(got.lines().count(), MAX_PLACES * MAX_SHOWN + MAX_PLACES - 1);
    }
}
