//! Sections of a markdown text.

/// What stands under the last heading of this title, up to the next heading that is not below it.
/// `None` if there is no such heading, or nothing under it.
///
/// Models vary a heading's level, case and decoration; its words are what counts. Lines inside of
/// a code fence are no headings.
pub(super) fn find<'a>(text: &'a str, title: &str) -> Option<&'a str> {
    let mut found = None;
    let mut open: Option<(usize, usize)> = None; // level, and where its text begins
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if let Some(mark) = fence_mark(line) {
            match fence {
                None => fence = Some(mark),
                Some(opening) if closes(line, mark, opening) => fence = None,
                Some(_) => {}
            }
            continue;
        }
        let Some((level, words)) = heading(line).filter(|_| fence.is_none()) else {
            continue;
        };
        if let Some((outer, from)) = open
            && level <= outer
        {
            found = said(&text[from..start]).or(found);
            open = None;
        }
        if open.is_none() && words.eq_ignore_ascii_case(title) {
            open = Some((level, at));
        }
    }
    open.and_then(|(_, from)| said(&text[from..])).or(found)
}

fn said(body: &str) -> Option<&str> {
    Some(body.trim()).filter(|body| !body.is_empty())
}

/// The line without an indentation of up to three spaces; with more it is code.
fn outdented(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() <= 3).then_some(text)
}

/// The level and the bare words of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let text = outdented(line)?;
    let words = text.trim_start_matches('#');
    let level = text.len() - words.len();
    if !(1..=6).contains(&level) || !words.starts_with([' ', '\t']) {
        return None;
    }
    let decoration = |c: char| c.is_whitespace() || "#*_:".contains(c);
    Some((level, words.trim_matches(decoration)))
}

/// The backticks or tildes that a line begins with, if they can open or close a code fence.
fn fence_mark(line: &str) -> Option<&str> {
    let text = outdented(line)?;
    let mark = text.chars().next().filter(|c| "`~".contains(*c))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    let opens = length >= 3 && !(mark == '`' && rest.contains('`'));
    opens.then(|| &text[..length])
}

/// Whether a line ends the fence that `opening` began.
fn closes(line: &str, mark: &str, opening: &str) -> bool {
    mark.starts_with(opening) && line.trim() == mark
}
