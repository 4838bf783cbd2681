//! Words of a command: quotes taken off, with holes where bash computes the text.

use tree_sitter::Node;

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pieces: Vec<Piece>,
    /// What its holes stand for, in their order.
    holes: Vec<Hole>,
}

/// What a hole stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hole {
    /// Any text, and any number of words.
    Words,
    /// Any text, within one word.
    Quoted,
    /// A number, such as `$?`.
    Number,
    /// Part of a file's name, within one folder.
    Glob,
    /// One of several texts in braces, which starts or ends here.
    Brace,
    /// The home folder.
    Home,
    /// The folder that the line is in, or was in before.
    Folder,
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Certain text.
    Text(String),
    /// Anything, several words or none: an expansion, a glob, a tilde.
    Hole,
}

impl Word {
    /// A word that is certain.
    pub(crate) fn literal(text: impl Into<String>) -> Self {
        Self {
            pieces: vec![Piece::Text(text.into())],
            holes: Vec::new(),
        }
    }

    /// A word of which nothing is known.
    pub(crate) fn hole() -> Self {
        Self {
            pieces: vec![Piece::Hole],
            holes: vec![Hole::Words],
        }
    }

    /// A path below a folder of which nothing is known.
    pub(crate) fn below_a_hole(path: &str) -> Self {
        Self {
            pieces: vec![Piece::Hole, Piece::Text(format!("/{path}"))],
            holes: vec![Hole::Words],
        }
    }

    /// What follows `of=` or `--option=`, if there is such a start.
    pub(crate) fn after_equals(&self) -> Option<Self> {
        let (_, value) = self.prefix().split_once('=')?;
        let text = (!value.is_empty()).then(|| Piece::Text(value.to_owned()));
        Some(Self {
            pieces: text
                .into_iter()
                .chain(self.pieces[1..].iter().cloned())
                .collect(),
            holes: self.holes.clone(),
        })
    }

    /// Its parts. An empty word has one empty text.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// What its holes stand for, in their order.
    pub(crate) fn holes(&self) -> &[Hole] {
        &self.holes
    }

    /// Whether bash may make several words, or none, of it.
    pub(crate) fn splits(&self) -> bool {
        let whole = |hole: &Hole| matches!(hole, Hole::Quoted | Hole::Number);
        !self.holes.iter().all(whole)
    }

    /// Whether it is some number.
    pub(crate) fn is_number(&self) -> bool {
        self.pieces.len() == 1 && self.holes == [Hole::Number]
    }

    /// Whether it is a brace by itself, which opens or closes a group.
    pub(super) fn is_brace(&self) -> bool {
        self.pieces.len() == 1 && self.holes == [Hole::Brace]
    }

    /// Its text, when all of it is certain.
    pub(crate) fn text(&self) -> Option<String> {
        match self.pieces.as_slice() {
            [Piece::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }

    /// The certain text that it starts with.
    pub(crate) fn prefix(&self) -> &str {
        match self.pieces.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// The same with every `mark` in certain text turned into a hole, for `xargs -I` and `find`.
    pub(crate) fn with_holes_at(&self, mark: &str) -> Self {
        let mut units = Units::default();
        let mut holes = self.holes.iter();
        for piece in &self.pieces {
            match piece {
                Piece::Hole => units.hole(holes.next().copied().unwrap_or(Hole::Words)),
                Piece::Text(text) => {
                    for (nth, part) in text.split(mark).enumerate() {
                        if nth > 0 {
                            units.hole(Hole::Quoted);
                        }
                        units.quoted(part);
                    }
                }
            }
        }
        units.finish()
    }
}

#[derive(Clone, Copy)]
enum Unit {
    Plain(char),
    Quoted(char),
    Hole(Hole),
}

/// A word in the making; whether a character was quoted decides if bash would expand it.
#[derive(Default)]
struct Units(Vec<Unit>);

impl Units {
    fn hole(&mut self, hole: Hole) {
        self.0.push(Unit::Hole(hole));
    }

    fn quoted(&mut self, text: &str) {
        self.0.extend(text.chars().map(Unit::Quoted));
    }

    /// Unquoted text, in which a backslash quotes the next character.
    fn plain(&mut self, text: &str) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => self.0.extend(chars.next().map(Unit::Quoted)),
                _ => self.0.push(Unit::Plain(c)),
            }
        }
    }

    fn finish(self) -> Word {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut holes: Vec<Hole> = Vec::new();
        let mut add = |unit: Result<char, Hole>| match (unit, pieces.last_mut()) {
            (Ok(c), Some(Piece::Text(text))) => text.push(c),
            (Ok(c), _) => pieces.push(Piece::Text(c.to_string())),
            (Err(next), Some(Piece::Hole)) => {
                let last = holes.pop().unwrap_or(Hole::Words);
                holes.push(last.joined(next));
            }
            (Err(hole), _) => {
                pieces.push(Piece::Hole);
                holes.push(hole);
            }
        };
        let mut before = None;
        let mut units = self.0.into_iter().peekable();
        while let Some(unit) = units.next() {
            match unit {
                Unit::Hole(hole) => add(Err(hole)),
                Unit::Plain('*' | '?' | '[') => add(Err(Hole::Glob)),
                // `{}` is no brace expansion; find and xargs live by it.
                Unit::Plain('{') if matches!(units.peek(), Some(Unit::Plain('}'))) => {
                    units.next();
                    add(Ok('{'));
                    add(Ok('}'));
                }
                Unit::Plain('{' | '}') => add(Err(Hole::Brace)),
                Unit::Plain('~') if matches!(before, None | Some('=' | ':')) => {
                    let next = units.peek();
                    let own = matches!(next, None | Some(Unit::Plain('/')));
                    add(Err(if own { Hole::Home } else { Hole::Words }));
                }
                Unit::Plain(c) | Unit::Quoted(c) => add(Ok(c)),
            }
            before = match unit {
                Unit::Plain(c) | Unit::Quoted(c) => Some(c),
                Unit::Hole(_) => Some(' '),
            };
        }
        if pieces.is_empty() {
            pieces.push(Piece::Text(String::new()));
        }
        Word { pieces, holes }
    }
}

impl Hole {
    /// What two holes next to each other stand for.
    fn joined(self, next: Self) -> Self {
        match (self, next) {
            (one, other) if one == other => one,
            (Self::Brace, _) | (_, Self::Brace) => Self::Brace,
            (Self::Quoted | Self::Number, Self::Quoted | Self::Number) => Self::Quoted,
            _ => Self::Words,
        }
    }

    /// What an expansion stands for.
    fn of(node: Node<'_>, text: &str, quoted: bool) -> Self {
        let raw = &text[node.byte_range()];
        match (node.kind(), raw) {
            (_, "$?" | "$#" | "$$" | "$!" | "${#}" | "${?}") => Self::Number,
            (_, "$HOME" | "${HOME}") => Self::Home,
            (_, "$PWD" | "${PWD}" | "$OLDPWD" | "${OLDPWD}") => Self::Folder,
            // It is one path, whatever its name.
            ("process_substitution", _) => Self::Quoted,
            _ if quoted && !raw.contains('@') => Self::Quoted,
            _ => Self::Words,
        }
    }
}

/// Reads a word from its node. `None` when bash may read it otherwise.
pub(super) fn read(node: Node<'_>, text: &str) -> Option<Word> {
    let mut units = Units::default();
    literal(node, text, &mut units, 0)?;
    Some(units.finish())
}

fn literal(node: Node<'_>, text: &str, units: &mut Units, depth: usize) -> Option<()> {
    let raw = &text[node.byte_range()];
    match node.kind() {
        _ if depth > super::MAX_DEPTH => return None,
        "command_name" => literal(node.child(0)?, text, units, depth + 1)?,
        // A number may have its base or digits computed.
        "number" if node.child_count() > 0 => units.hole(Hole::Words),
        "word" | "number" => units.plain(raw),
        "raw_string" => units.quoted(raw.strip_prefix('\'')?.strip_suffix('\'')?),
        "ansi_c_string" => ansi(raw.strip_prefix("$'")?.strip_suffix('\'')?, units)?,
        "string" => string(node, text, units)?,
        "concatenation" => {
            let mut end = node.start_byte();
            for child in children(node) {
                // A gap inside a word would be two words to bash.
                (child.start_byte() == end).then_some(())?;
                end = child.end_byte();
                match child.kind() {
                    "$" => units.quoted("$"),
                    _ => literal(child, text, units, depth + 1)?,
                }
            }
        }
        // `$"…"` is translated by the locale's catalog.
        "translated_string"
        | "simple_expansion"
        | "expansion"
        | "command_substitution"
        | "process_substitution"
        | "arithmetic_expansion" => units.hole(Hole::of(node, text, false)),
        "brace_expression" => units.hole(Hole::Brace),
        _ => return None,
    }
    Some(())
}

/// Text in double quotes. The grammar skips blanks next to expansions; here they belong to it.
fn string(node: Node<'_>, text: &str, units: &mut Units) -> Option<()> {
    let (mut end, last) = (node.start_byte() + 1, node.end_byte().checked_sub(1)?);
    let inside = |child: &Node<'_>| child.start_byte() > node.start_byte();
    for child in children(node).filter(inside) {
        let gap = &text[end.min(child.start_byte())..child.start_byte()];
        gap.chars()
            .all(|c| matches!(c, ' ' | '\t' | '\n'))
            .then_some(())?;
        units.quoted(gap);
        end = child.end_byte();
        match child.kind() {
            "\"" if child.start_byte() == last => {}
            "$" => units.quoted("$"),
            "string_content" => double_quoted(&text[child.byte_range()], units),
            "expansion" | "simple_expansion" | "command_substitution" | "arithmetic_expansion" => {
                units.hole(Hole::of(child, text, true));
            }
            _ => return None,
        }
    }
    Some(())
}

fn double_quoted(raw: &str, units: &mut Units) {
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('\n')) => _ = chars.next(),
            ('\\', Some('$' | '`' | '"' | '\\')) => {
                units.0.extend(chars.next().map(Unit::Quoted));
            }
            _ => units.0.push(Unit::Quoted(c)),
        }
    }
}

/// `$'…'`. The grammar takes an escaped backslash before the closing quote for an escaped quote,
/// so a bare quote in here means that the string ended earlier.
fn ansi(raw: &str, units: &mut Units) -> Option<()> {
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        let quoted = match c {
            '\'' => return None,
            '\\' => match chars.next()? {
                same @ ('\\' | '\'' | '"' | '?') => same,
                'n' => '\n',
                't' => '\t',
                'x' => {
                    let digit = |c: &char| c.is_ascii_hexdigit();
                    let mut code = 0;
                    for _ in 0..2 {
                        let Some(c) = chars.next_if(digit) else { break };
                        code = code * 16 + c.to_digit(16)?;
                    }
                    // Bytes past ASCII join up to characters, and a zero ends the string.
                    char::from_u32(code).filter(|c| c.is_ascii() && *c != '\0')?
                }
                _ => return None,
            },
            c => c,
        };
        units.0.push(Unit::Quoted(quoted));
    }
    Some(())
}

/// All children of a node. With a cursor: finding each by its number takes time that grows with
/// the square of the line.
pub(super) fn children(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let mut cursor = node.walk();
    let mut more = cursor.goto_first_child();
    std::iter::from_fn(move || {
        let child = more.then(|| cursor.node());
        more = more && cursor.goto_next_sibling();
        child
    })
}
