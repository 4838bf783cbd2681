//! Where a word that bash computes may lead, as far as its certain parts tell, and whether that
//! may be a protected file.
//!
//! A word is a pattern over whole paths; so is every kind of protected file. The question is
//! whether some path fits both. What a name alone cannot make dangerous is left out: any file in
//! a hooks folder is protected, but git runs only those with a hook's name.

use std::path::{Path, PathBuf};

use super::shell::{Hole, Piece, Word};

/// Longest pattern that is compared; longer ones count as fitting.
const MAX_TOKENS: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    /// One character that a glob's star may start a name with; with what follows it may be left
    /// out.
    Start,
    /// Any text within a name.
    Name,
    /// Any text.
    Any,
}

/// The folders that a word's start may stand for.
#[derive(Debug)]
pub(super) struct Folders<'a> {
    /// Where relative paths may start.
    pub(super) bases: &'a [PathBuf],
    /// The home folder.
    pub(super) home: Option<&'a Path>,
}

impl Folders<'_> {
    /// The paths that a word certainly names, if only its start is computed and that is known.
    pub(super) fn known(&self, word: &Word) -> Option<Vec<String>> {
        let (anchors, rest) = self.anchors(word)?;
        let rest = match rest {
            [] => "",
            [Piece::Text(rest)] => rest,
            _ => return None,
        };
        let path = |anchor: &&Path| format!("{}{rest}", anchor.display());
        Some(anchors.iter().map(path).collect())
    }

    fn anchors<'w>(&self, word: &'w Word) -> Option<(Vec<&Path>, &'w [Piece])> {
        let [Piece::Hole, rest @ ..] = word.pieces() else {
            return None;
        };
        let starts = match rest.first() {
            Some(Piece::Text(text)) => text.starts_with('/'),
            _ => rest.is_empty(),
        };
        let anchors = match word.holes().first() {
            Some(Hole::Home) if starts => vec![self.home?],
            Some(Hole::Folder) if starts => self.bases.iter().map(PathBuf::as_path).collect(),
            _ => return None,
        };
        Some((anchors, rest))
    }

    /// Whether a computed word may name one of the protected files.
    pub(super) fn may_be_protected(&self, word: &Word, own: &[PathBuf]) -> bool {
        let patterns = self.patterns(word);
        // An agent whose folder lies in Shard's works in it as anywhere.
        let (above, apart): (Vec<&PathBuf>, Vec<&PathBuf>) = own.iter().partition(|folder| {
            self.bases
                .first()
                .is_some_and(|cwd| cwd.starts_with(folder))
        });
        let protected = [protected(), protected_own(&apart)].concat();
        let beyond = protected_own(&above);
        let at_home = |pattern: &[Token]| {
            let cwd = self
                .bases
                .first()
                .map(|cwd| cwd.to_string_lossy().to_lowercase());
            let start = cwd.unwrap_or_default() + "/";
            let mut start = start.chars().map(Token::Char);
            let mut given = pattern.iter().copied();
            start.all(|token| given.next() == Some(token))
        };
        patterns.iter().any(|pattern| {
            pattern.len() > MAX_TOKENS
                || protected.iter().any(|other| meet(pattern, other))
                || !at_home(pattern) && beyond.iter().any(|other| meet(pattern, other))
        })
    }

    fn patterns(&self, word: &Word) -> Vec<Vec<Token>> {
        let (starts, pieces, mut holes) = match self.anchors(word) {
            Some((anchors, rest)) => (anchors, rest, &word.holes()[1..]),
            None => (
                self.bases.iter().map(PathBuf::as_path).collect(),
                word.pieces(),
                word.holes(),
            ),
        };
        // What stands before the first computed part has links and `..` of its own.
        let (folder, name) = match pieces.first() {
            Some(Piece::Text(text)) => text
                .rsplit_once('/')
                .map_or(("", text.as_str()), |(folder, name)| {
                    (if folder.is_empty() { "/" } else { folder }, name)
                }),
            _ => ("", ""),
        };
        let mut tail = Vec::new();
        let text = |text: &str, tail: &mut Vec<Token>| {
            tail.extend(text.to_lowercase().chars().map(Token::Char));
        };
        let mut leads_anywhere = false;
        let mut braces = 0;
        for (nth, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Text(_) if nth == 0 => text(name, &mut tail),
                Piece::Text(part) => {
                    leads_anywhere |= part.contains("..");
                    if braces % 2 == 0 {
                        text(part, &mut tail);
                    }
                }
                Piece::Hole => {
                    let (hole, rest) = holes.split_first().unwrap_or((&Hole::Words, &[]));
                    holes = rest;
                    braces += usize::from(*hole == Hole::Brace);
                    let starts_name = tail.last().is_none_or(|last| *last == Token::Char('/'));
                    match hole {
                        Hole::Glob if starts_name => tail.extend([Token::Start, Token::Name]),
                        Hole::Glob | Hole::Number => tail.push(Token::Name),
                        _ => tail.push(Token::Any),
                    }
                }
            }
        }
        // A bracket of a glob is open in the text behind it, and a brace up to the last one.
        let vague = leads_anywhere
            || braces > 2
            || pieces
                .iter()
                .any(|piece| matches!(piece, Piece::Text(text) if text.contains(']')));
        if vague {
            tail = vec![Token::Any];
        }
        let free = matches!(tail.first(), Some(Token::Any))
            && folder.is_empty()
            && name.is_empty()
            && pieces.len() == word.pieces().len();
        if free {
            return vec![tail];
        }
        let from = |start: &Path| {
            let folder = folder.trim_start_matches(if starts_absolute(word) { '\0' } else { '/' });
            let real = crate::paths::resolve(start, folder).unwrap_or_else(|_| start.join(folder));
            let real = real.to_string_lossy().to_lowercase();
            let mut pattern: Vec<Token> = real
                .trim_end_matches('/')
                .chars()
                .map(Token::Char)
                .collect();
            pattern.push(Token::Char('/'));
            pattern.extend(&tail);
            pattern
        };
        starts.into_iter().map(from).collect()
    }
}

fn starts_absolute(word: &Word) -> bool {
    word.prefix().starts_with('/')
}

/// Names under which git runs a program.
const HOOKS: [&str; 24] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "post-index-change",
];

fn pattern(text: &str) -> Vec<Token> {
    let token = |c| match c {
        '\u{1}' => Token::Any,
        c => Token::Char(c),
    };
    text.to_lowercase().chars().map(token).collect()
}

/// Patterns of what is protected anywhere: the folders themselves, and the files in them that
/// matter.
fn protected() -> Vec<Vec<Token>> {
    let mut all = Vec::new();
    // A bare repository may have any name, but only in a folder of that very name it is likely to
    // be the project's own.
    all.push(pattern("\u{1}/.git"));
    for name in [
        "/hooks",
        "/config",
        "/config.worktree",
        "/config.lock",
        "/commondir",
    ] {
        all.push(pattern(&format!("\u{1}.git{name}")));
    }
    all.extend(
        HOOKS
            .iter()
            .map(|name| pattern(&format!("\u{1}.git/hooks/{name}"))),
    );
    all.extend(protected_own(&[&PathBuf::from("\u{1}/.shard")]));
    all
}

/// The same of Shard's own folders.
fn protected_own(folders: &[&PathBuf]) -> Vec<Vec<Token>> {
    let mut all = Vec::new();
    for folder in folders {
        let folder = folder.to_string_lossy();
        for below in [
            "",
            "/rules",
            "/agents",
            "/extensions",
            "/sessions",
            "/skills",
            "/\u{1}.json",
            "/\u{1}.jsonl",
            "/\u{1}.md",
            "/\u{1}.toml",
            "/\u{1}.lock",
            "/\u{1}.sock",
        ] {
            all.push(pattern(&format!("{folder}{below}")));
        }
    }
    all
}

/// Whether some text fits both patterns.
fn meet(one: &[Token], other: &[Token]) -> bool {
    let width = other.len() + 1;
    let mut seen = vec![false; (one.len() + 1) * width];
    let mut open = vec![(0, 0)];
    while let Some((a, b)) = open.pop() {
        if std::mem::replace(&mut seen[a * width + b], true) {
            continue;
        }
        if a == one.len() && b == other.len() {
            return true;
        }
        // A star may end anywhere.
        match one.get(a) {
            Some(Token::Start) => open.push((a + 2, b)),
            Some(Token::Name | Token::Any) => open.push((a + 1, b)),
            _ => {}
        }
        if other.get(b) == Some(&Token::Any) {
            open.push((a, b + 1));
        }
        let (Some(&left), Some(&right)) = (one.get(a), other.get(b)) else {
            continue;
        };
        let takes = |c: char| match left {
            Token::Char(own) => own == c,
            Token::Start => c != '/' && c != '.',
            Token::Name => c != '/',
            Token::Any => true,
        };
        let after = |at: usize, token: Token| match token {
            Token::Name | Token::Any => at,
            Token::Char(_) | Token::Start => at + 1,
        };
        match right {
            Token::Char(c) if takes(c) => open.push((after(a, left), b + 1)),
            Token::Any => open.push((after(a, left), b)),
            _ => {}
        }
    }
    false
}
