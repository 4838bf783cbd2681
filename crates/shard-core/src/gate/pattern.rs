//! Patterns for shell commands and for tool names.
//!
//! A command is matched as the row of its words. What bash computes is a hole: for a pattern to
//! cover it, a `*` must stand there; for a pattern to *possibly* cover it, anything may.

use super::shell::{Piece, Word};

/// How sure a match is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    /// It does not match, whatever bash computes.
    No,
    /// It may.
    Perhaps,
    /// It does.
    Yes,
}

/// Whether a pattern covers a command for certain, so that an `allow` may rest on it.
pub(super) fn covers(pattern: &str, words: &[Word]) -> bool {
    let Some(name) = words.first().and_then(Word::text) else {
        return false;
    };
    !name.is_empty()
        && variants(pattern).iter().any(|pattern| {
            names(&name).iter().any(|name| {
                let tokens = tokens(Some(name), words, How::Strictly);
                fits(pattern, &tokens, How::Strictly)
            })
        })
}

/// How a pattern that refuses or asks looks at a command: generously.
pub(super) fn touches(pattern: &str, words: &[Word]) -> Match {
    let name = words.first().and_then(Word::text);
    let names: Vec<Option<String>> = match &name {
        Some(name) => names(name).into_iter().map(Some).collect(),
        None => vec![None],
    };
    let plain = plain_program(pattern);
    let patterns: Vec<Vec<char>> = variants(pattern)
        .into_iter()
        .chain(variants(&plain))
        .collect();
    let any = |how| {
        names.iter().any(|name| {
            let tokens = tokens(name.as_ref(), words, how);
            patterns.iter().any(|pattern| fits(pattern, &tokens, how))
        })
    };
    // What lies elsewhere may be a link, or a copy under its old name.
    let last = name.as_ref().and_then(|name| name.rsplit_once('/'));
    let alike = || {
        last.is_some_and(|(_, last)| {
            let tokens = tokens(Some(&last.to_owned()), words, How::Possibly);
            let fit = |pattern: &Vec<char>| fits(pattern, &tokens, How::Possibly);
            patterns.iter().any(fit)
        })
    };
    match () {
        () if any(How::Loosely) => Match::Yes,
        () if any(How::Possibly) || alike() => Match::Perhaps,
        () => Match::No,
    }
}

/// How literally text is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// A blank in a pattern is a break between words.
    Strictly,
    /// It is also a blank inside a word.
    Loosely,
    /// And a hole is whatever fits.
    Possibly,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    Break,
    Hole,
}

/// The pattern, and without its trailing ` *`, which also matches nothing.
fn variants(pattern: &str) -> Vec<Vec<char>> {
    let pattern = pattern.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = pattern
        .strip_suffix(" *")
        .map(|short| short.chars().collect());
    std::iter::once(pattern.chars().collect())
        .chain(short)
        .collect()
}

/// The name as written, and bare when it lies in a system folder.
fn names(written: &str) -> Vec<String> {
    let bare = super::shell::program(written);
    let mut names = vec![written.to_owned()];
    if bare != written {
        names.push(bare.to_owned());
    }
    names
}

/// A rule against `/bin/rm` means `rm`.
fn plain_program(pattern: &str) -> String {
    let pattern = pattern.trim_start();
    let end = pattern.find(char::is_whitespace).unwrap_or(pattern.len());
    let (name, rest) = pattern.split_at(end);
    format!("{}{rest}", super::shell::program(name))
}

fn tokens(name: Option<&String>, words: &[Word], how: How) -> Vec<Token> {
    let mut row = Vec::new();
    let mut free = false;
    for (nth, word) in words.iter().enumerate() {
        // Unquoted, a word that is computed may be no word at all, or several.
        let all_hole = matches!(word.pieces(), [Piece::Hole]) && how == How::Possibly;
        if nth > 0 && !free && !all_hole {
            row.push(Token::Break);
        }
        free = all_hole;
        if let (0, Some(name)) = (nth, name) {
            row.extend(name.chars().map(Token::Char));
            continue;
        }
        for piece in word.pieces() {
            match piece {
                Piece::Text(text) => row.extend(text.chars().map(Token::Char)),
                Piece::Hole => row.push(Token::Hole),
            }
        }
    }
    row
}

/// Glob matching over tokens: which prefixes of the pattern fit what was read so far.
fn fits(pattern: &[char], tokens: &[Token], how: How) -> bool {
    let mut state = vec![false; pattern.len() + 1];
    state[0] = true;
    skip_stars(pattern, &mut state);
    for token in tokens {
        let mut next = vec![false; pattern.len() + 1];
        for (at, &wanted) in pattern.iter().enumerate() {
            if !state[at] {
                continue;
            }
            if wanted == '*' {
                next[at] = true;
            } else if accepts(wanted, *token, how) {
                next[at + 1] = true;
            }
        }
        if *token == Token::Hole && how == How::Possibly {
            // A hole stands for any text: from here on every later place is possible.
            if let Some(first) = state.iter().position(|&on| on) {
                next[first..].fill(true);
            }
        }
        skip_stars(pattern, &mut next);
        state = next;
    }
    state[pattern.len()]
}

fn skip_stars(pattern: &[char], state: &mut [bool]) {
    for (at, &c) in pattern.iter().enumerate() {
        if c == '*' && state[at] {
            state[at + 1] = true;
        }
    }
}

fn accepts(wanted: char, token: Token, how: How) -> bool {
    match (wanted, token) {
        (' ', Token::Break) => true,
        (' ', Token::Char(' ')) => how != How::Strictly,
        (wanted, Token::Char(c)) => wanted == c && wanted != ' ',
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell::analyze;
    use super::*;

    fn only(line: &str) -> Vec<Word> {
        let found = analyze(line);
        assert_eq!(found.commands.len(), 1, "{line}: {found:?}");
        found.commands[0].words.clone()
    }

    #[test]
    fn an_allow_needs_every_word_to_be_certain_or_under_a_star() {
        let check = |pattern: &str, line: &str, want: bool| {
            assert_eq!(covers(pattern, &only(line)), want, "{pattern} / {line}");
        };
        check("cargo test *", "cargo test", true);
        check("cargo test *", "cargo test --lib a/b", true);
        check("cargo test *", "cargo testing", false);
        check("cargo test", "cargo test --lib", false);
        check("cargo *test", "cargo a b test", true);
        check("git status", "git   status", true);
        check("git status", "/usr/bin/git status", true);
        check("git status", "/usr/local/bin/git status", true);
        check("git status", "./git status", false);
        check("git status", "/tmp/git status", false);
        check("git status", "/usr/bin/../../tmp/git status", false);
        check("git status", "/bin/x/git status", false);
        check("/usr/bin/git status", "/usr/bin/git status", true);
        check("/usr/bin/git status", "git status", false);
        check("./git *", "./git status", true);
        check("git status", "git 'status'", true);
        check("git status", "'git status'", false);
        check("git log *", "git 'log x'", false);
        check("git status", "git status ''", false);
        check("git status", "git $X", false);
        check("git status *", "git status $X", true);
        check("git status *", "git $X status", false);
        check("git *", "$X status", false);
        check("*", "$X status", false);
        check("*", "rm -rf /", true);
        check("git status", "git statu?", false);
        check("cat a*", "cat *", false);
    }

    #[test]
    fn a_refusal_looks_through_holes_folders_and_quotes() {
        let check = |pattern: &str, line: &str, want: Match| {
            assert_eq!(touches(pattern, &only(line)), want, "{pattern} / {line}");
        };
        check("rm -rf /*", "rm -rf /", Match::Yes);
        check("rm -rf /*", "rm -rf /home/me", Match::Yes);
        check("rm -rf /*", "rm -rf build", Match::No);
        check("rm -rf /*", "/bin/rm -rf /", Match::Yes);
        check("/bin/rm *", "rm x", Match::Yes);
        check("rm *", "\\rm x", Match::Yes);
        check("rm *", "r\"m\" x", Match::Yes);
        check("rm -rf /*", "rm $X", Match::Perhaps);
        check("rm -rf /*", "rm $X -rf /", Match::Perhaps);
        check("rm -rf /*", "$X", Match::Perhaps);
        check("rm -rf /*", "ls $X", Match::No);
        check("rm -rf /*", "rm -rf /$X", Match::Yes);
        check("rm -rf /*", "rm -rf \"$HOME\"", Match::Perhaps);
        check("git push *", "git \"push origin\"", Match::Yes);
    }
}
