//! Words of a command: quotes taken off, with holes where bash computes the text.

use tree_sitter::Node;

/// One word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word(Vec<Piece>);

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
        Self(vec![Piece::Text(text.into())])
    }

    /// A word of which nothing is known.
    pub(crate) fn hole() -> Self {
        Self(vec![Piece::Hole])
    }

    /// Its parts. An empty word has one empty text.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Its text, when all of it is certain.
    pub(crate) fn text(&self) -> Option<String> {
        match self.0.as_slice() {
            [Piece::Text(text)] => Some(text.clone()),
            _ => None,
        }
    }

    /// The certain text that it starts with.
    pub(crate) fn prefix(&self) -> &str {
        match self.0.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// The same with every `mark` in certain text turned into a hole, for `xargs -I` and `find`.
    pub(crate) fn with_holes_at(&self, mark: &str) -> Self {
        let mut units = Units::default();
        for piece in &self.0 {
            match piece {
                Piece::Hole => units.hole(),
                Piece::Text(text) => {
                    for (nth, part) in text.split(mark).enumerate() {
                        if nth > 0 {
                            units.hole();
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
    Hole,
}

/// A word in the making; whether a character was quoted decides if bash would expand it.
#[derive(Default)]
struct Units(Vec<Unit>);

impl Units {
    fn hole(&mut self) {
        self.0.push(Unit::Hole);
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
        let mut add = |c: Option<char>| match (c, pieces.last_mut()) {
            (Some(c), Some(Piece::Text(text))) => text.push(c),
            (Some(c), _) => pieces.push(Piece::Text(c.to_string())),
            (None, Some(Piece::Hole)) => {}
            (None, _) => pieces.push(Piece::Hole),
        };
        let mut before = None;
        let mut units = self.0.into_iter().peekable();
        while let Some(unit) = units.next() {
            match unit {
                Unit::Hole | Unit::Plain('*' | '?' | '[') => add(None),
                // `{}` is no brace expansion; find and xargs live by it.
                Unit::Plain('{') if matches!(units.peek(), Some(Unit::Plain('}'))) => {
                    units.next();
                    add(Some('{'));
                    add(Some('}'));
                }
                Unit::Plain('{' | '}') => add(None),
                Unit::Plain('~') if matches!(before, None | Some('=' | ':')) => add(None),
                Unit::Plain(c) | Unit::Quoted(c) => add(Some(c)),
            }
            before = match unit {
                Unit::Plain(c) | Unit::Quoted(c) => Some(c),
                Unit::Hole => Some(' '),
            };
        }
        if pieces.is_empty() {
            pieces.push(Piece::Text(String::new()));
        }
        Word(pieces)
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
        "number" if node.child_count() > 0 => units.hole(),
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
        | "arithmetic_expansion"
        | "brace_expression" => units.hole(),
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
                units.hole();
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
