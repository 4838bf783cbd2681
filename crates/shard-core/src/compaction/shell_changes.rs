//! Files that a shell line plainly changes: a guess for a summary, never for a permission.
//!
//! Knows `rm` and `mv`, with and without `git`, `sed -i`, and output that goes to a file. Whatever
//! has quotes, patterns or variables in its name is left out, and so is what a here-document holds.

use std::sync::LazyLock;

use regex::Regex;

use super::excerpt::start;
use super::files::Kind;

/// Bytes of a command that are looked at.
const LOOK: usize = 4 * 1024;

#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static REDIRECTION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:^|[\s;&|])1?>{1,2}\s*([\w./+-]+)").unwrap());

#[expect(clippy::unwrap_used, reason = "a constant that a test compiles")]
static QUOTED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"'[^']*'|"[^"]*""#).unwrap());

/// The files that a command that ended well made, changed or took away.
pub(super) fn shell_changes(command: &str) -> Vec<(Kind, String)> {
    let command = start(command, LOOK);
    if !["rm", "mv", "sed", ">", "tee"]
        .iter()
        .any(|word| command.contains(word))
    {
        return Vec::new();
    }
    // A quote stays as a mark, which no plain name has.
    let command = QUOTED.replace_all(command, "'");
    let mut changes = Vec::new();
    for line in before_here_document(&command) {
        for simple in line.split(['&', ';', '|', '(', ')']) {
            take(simple, &mut changes);
        }
        let written = REDIRECTION
            .captures_iter(line)
            .filter_map(|found| found.get(1));
        changes.extend(written.map(|path| (Kind::Edited, path.as_str())));
    }
    let plain = changes.into_iter().filter(|(_, path)| is_plain(path));
    plain.map(|(kind, path)| (kind, path.to_owned())).collect()
}

/// The lines up to the first that begins a here-document, and that one.
fn before_here_document(command: &str) -> impl Iterator<Item = &str> {
    let mut ended = false;
    command.lines().take_while(move |line| {
        let goes_on = !ended;
        ended |= line.contains("<<");
        goes_on
    })
}

fn take<'a>(simple: &'a str, changes: &mut Vec<(Kind, &'a str)>) {
    let simple = simple.split(['<', '>']).next().unwrap_or_default();
    let mut words = simple.split_whitespace();
    let mut name = words.next();
    if name == Some("git") {
        name = words.next().filter(|name| matches!(*name, "rm" | "mv"));
    }
    let words: Vec<_> = words.collect();
    let files: Vec<_> = words.iter().filter(|word| !word.starts_with('-')).collect();
    match (name, files.as_slice()) {
        (Some("rm"), files) => changes.extend(files.iter().map(|file| (Kind::Removed, **file))),
        (Some("mv"), [from, to]) => {
            changes.extend([(Kind::Removed, **from), (Kind::Created, **to)]);
        }
        (Some("sed"), [.., file]) if words.iter().any(|word| word.starts_with("-i")) => {
            changes.push((Kind::Edited, **file));
        }
        (Some("tee"), [file]) => changes.push((Kind::Edited, **file)),
        _ => {}
    }
}

fn is_plain(path: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "./_-+@".contains(c);
    !path.starts_with("/dev/") && path.chars().all(plain) && path.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_changes_are_seen_and_nothing_else() {
        use Kind::{Created, Edited, Removed};
        let check = |command: &str, want: &[(Kind, &str)]| {
            let want: Vec<_> = want
                .iter()
                .map(|(kind, path)| (*kind, (*path).to_owned()))
                .collect();
            assert_eq!(shell_changes(command), want, "{command}");
        };
        check(
            "rm -rf a.txt b/c.txt",
            &[(Removed, "a.txt"), (Removed, "b/c.txt")],
        );
        check(
            "cd x && git mv a.rs b.rs",
            &[(Removed, "a.rs"), (Created, "b.rs")],
        );
        check("sed -i 's/a/b/' src/a.rs", &[(Edited, "src/a.rs")]);
        check(
            "cat > notes.md <<'EOF'\nrm everything\nEOF",
            &[(Edited, "notes.md")],
        );
        check(
            "cargo test 2>&1 | tee log.txt >> all.log",
            &[(Edited, "log.txt"), (Edited, "all.log")],
        );
        check("ls > /dev/null 2>/dev/null; rm *.o \"$x\" 'a b'", &[]);
        check(
            "git commit -m 'format > everything; rm it'; cargo fmt -- --check",
            &[],
        );
        check("if [ 3 -gt 2 ]; then echo; fi", &[]);
    }
}
