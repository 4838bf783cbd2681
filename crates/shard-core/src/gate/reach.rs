//! Which files a shell line reads or writes, as far as its words tell.
//!
//! This never permits anything. It lets a rule about files refuse the plain ways around it
//! (`cat .env`), and keeps a broad permission from covering the ways that cannot be told.

use std::path::{Path, PathBuf};

use super::globs::{PathGlob, Place, Seen};
use super::pattern::Match;
use super::shell::{Analysis, Role, Simple, Word};
use super::targets::Folders;

/// What a line does with files.
#[derive(Debug, Default)]
pub(super) struct Reach {
    touched: Vec<Touched>,
    /// It may read files that its words do not name.
    unclear_reads: bool,
    /// It may write files that its words do not name.
    unclear_writes: bool,
    /// Where relative paths may start.
    bases: Vec<PathBuf>,
    /// Computed words that are written.
    computed: Vec<Word>,
    /// Folders that are removed or moved, with all that lies below.
    moved: Vec<PathBuf>,
    /// It writes git's configuration.
    sets_git: bool,
}

#[derive(Debug)]
struct Touched {
    path: PathBuf,
    reads: Match,
    writes: Match,
}

/// Which uses of a file a rule is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Uses {
    /// Reading.
    pub(super) reads: bool,
    /// Writing.
    pub(super) writes: bool,
}

impl Reach {
    /// Looks at the words of a line that runs in `cwd`.
    pub(super) fn of(line: &Analysis, cwd: &Path, home: Option<&Path>) -> Self {
        let mut reach = Self {
            unclear_reads: line.unparsable,
            unclear_writes: line.unparsable,
            ..Self::default()
        };
        let moves = |command: &Simple| {
            let name = command.name();
            name.is_some_and(|name| matches!(name.as_str(), "cd" | "pushd" | "popd"))
        };
        let sure = if line.commands.iter().any(moves) {
            Match::Perhaps
        } else {
            Match::Yes
        };
        let (bases, anywhere) = bases(line, cwd, home);
        reach.bases.clone_from(&bases);
        let mut look = Look {
            cwd,
            bases,
            anywhere,
            home,
            sets: line.assigns,
            sure,
            reach: &mut reach,
        };
        for target in &line.writes {
            look.operand(target, Match::No, Match::Yes);
        }
        for source in &line.reads {
            look.operand(source, Match::Yes, Match::No);
        }
        for command in &line.commands {
            look.command(command);
        }
        reach
    }

    /// Whether the line uses what a rule is about.
    pub(super) fn touches(&self, glob: &PathGlob, uses: Uses, cwd: &Path, seen: &Seen) -> Match {
        let mut best = Match::No;
        if (uses.reads && self.unclear_reads) || (uses.writes && self.unclear_writes) {
            best = Match::Perhaps;
        }
        for touched in &self.touched {
            let reads = if uses.reads { touched.reads } else { Match::No };
            let writes = if uses.writes {
                touched.writes
            } else {
                Match::No
            };
            let how = reads.max(writes);
            let place = Place {
                real: &touched.path,
                cwd,
            };
            if how <= best {
                continue;
            }
            if glob.touches(place) {
                best = how;
            } else if best == Match::No && touched.path.is_dir() && glob.touches_below(place, seen)
            {
                best = Match::Perhaps;
            }
        }
        best
    }

    /// Folders that it takes away with all that lies below.
    pub(super) fn moved(&self) -> impl Iterator<Item = &Path> {
        self.moved.iter().map(PathBuf::as_path)
    }

    /// Whether what it computes may lead to a protected file.
    pub(super) fn may_write_protected(&self, own: &[PathBuf], home: Option<&Path>) -> bool {
        let folders = Folders {
            bases: &self.bases,
            home,
        };
        let leads_there = |word: &Word| folders.may_be_protected(word, own);
        self.sets_git || self.computed.iter().any(leads_there)
    }

    /// Paths that it writes or may write.
    pub(super) fn written(&self) -> impl Iterator<Item = &Path> {
        let writes = |touched: &&Touched| touched.writes > Match::No;
        self.touched
            .iter()
            .filter(writes)
            .map(|touched| touched.path.as_path())
    }
}

struct Look<'a> {
    cwd: &'a Path,
    /// Where relative paths may start.
    bases: Vec<PathBuf>,
    /// It goes to a folder that is computed.
    anywhere: bool,
    home: Option<&'a Path>,
    /// It sets variables, so that none is what it was.
    sets: bool,
    /// How sure a relative path is: after a `cd` it may be another.
    sure: Match,
    reach: &'a mut Reach,
}

impl Look<'_> {
    fn command(&mut self, command: &Simple) {
        let Some(written) = command.name() else {
            self.reach.unclear_reads = true;
            self.reach.unclear_writes = true;
            return;
        };
        let name = written.rsplit('/').next().unwrap_or_default();
        if HARMLESS.contains(&name) {
            return;
        }
        let cap = match command.role {
            Role::Runs => Match::Yes,
            Role::Wraps | Role::Perhaps => Match::Perhaps,
        };
        let (known_reader, known_writer) = (READERS.contains(&name), WRITERS.contains(&name));
        if may_run_code(name, &command.words[1..]) {
            self.reach.unclear_reads = true;
            self.reach.unclear_writes = true;
        }
        let known = known_reader || known_writer;
        if name == "git" {
            self.reach.sets_git |= sets_git(&command.words[1..]);
        }
        let level = |is_one: bool| match (is_one, known) {
            (true, _) => cap,
            (false, true) => Match::No,
            (false, false) => Match::Perhaps,
        };
        let reads = level(known_reader);
        let writes = if sometimes_writes(name, &command.words[1..]) {
            level(known_writer).max(Match::Perhaps)
        } else if may_run_code(name, &command.words[1..]) {
            Match::Perhaps
        } else {
            level(known_writer)
        };
        let arguments = &command.words[1..];
        let pattern = pattern_operand(name, arguments);
        for (at, word) in arguments.iter().enumerate() {
            let most = if Some(at) == pattern {
                Match::Perhaps
            } else {
                Match::Yes
            };
            self.operand(word, reads.min(most), writes.min(most));
            if matches!(name, "rm" | "mv" | "rmdir" | "chmod" | "chown" | "rsync") {
                self.moves(word);
            }
        }
        self.reach.unclear_reads |= name == "git" && git_prints(arguments);
        if matches!(name, "cp" | "mv" | "ln" | "install" | "rsync") {
            self.put_into(arguments);
        }
        if searches_here(name, arguments) {
            self.reach.touched.push(Touched {
                path: self.cwd.to_owned(),
                reads: Match::Perhaps,
                writes: Match::No,
            });
        }
        if INTERPRETERS
            .iter()
            .any(|interpreter| name.starts_with(interpreter))
            && runs_code(arguments)
        {
            self.reach.unclear_reads = true;
            self.reach.unclear_writes = true;
        }
    }

    /// Notes whatever a word may name: all of it, an option's value, or a part of it.
    fn operand(&mut self, word: &Word, reads: Match, writes: Match) {
        let Some(text) = word.text() else {
            // What an unknown program is given, nobody can list; a known one uses it.
            self.reach.unclear_reads |= reads == Match::Yes;
            self.reach.unclear_writes |= writes == Match::Yes;
            let folders = Folders {
                bases: &self.bases,
                home: self.home,
            };
            let known = folders.known(word);
            let certain = known.is_some() && !(self.sets || self.anywhere);
            for path in known.into_iter().flatten() {
                self.note(&path, reads, writes);
            }
            // An option in front of a computed word is no part of its path.
            if !certain && writes == Match::Yes {
                self.reach.computed.push(word.clone());
                self.reach.computed.extend(word.after_equals());
            }
            return;
        };
        if self.reach.touched.len() > MAX_TOUCHED || text.len() > MAX_WORD {
            self.reach.unclear_reads = true;
            self.reach.unclear_writes = true;
            if writes > Match::No {
                self.reach.computed.push(Word::hole());
            }
            return;
        }
        for value in values(&text) {
            self.note(value, reads, writes);
        }
        let separators = |c: char| ":=,'\"()<>{}[];|&@ \n\t".contains(c);
        for part in text
            .split(separators)
            .filter(|part| *part != text && !part.is_empty())
        {
            self.note(part, reads.min(Match::Perhaps), writes.min(Match::Perhaps));
        }
    }

    fn note(&mut self, text: &str, reads: Match, writes: Match) {
        let sure = if text.starts_with('/') {
            Match::Yes
        } else {
            self.sure
        };
        let relative = !text.starts_with('/');
        let bases = if relative { self.bases.len() } else { 1 };
        for base in &self.bases[..bases] {
            let path = crate::paths::resolve(base, text).unwrap_or_else(|_| base.join(text));
            self.reach.touched.push(Touched {
                path,
                reads: reads.min(sure),
                writes: writes.min(sure),
            });
        }
        if relative && self.anywhere && writes > Match::No {
            self.reach.computed.push(Word::below_a_hole(text));
        }
    }

    /// Notes what a copy is called in the folder that it goes to.
    fn put_into(&mut self, arguments: &[Word]) {
        let folders = Folders {
            bases: &self.bases,
            home: self.home,
        };
        let named = |word: &Word| word.text().map(|text| vec![text]).or(folders.known(word));
        let Some((Some(into), sources)) = arguments
            .split_last()
            .map(|(last, rest)| (named(last), rest))
        else {
            return;
        };
        let sources = sources.iter().filter_map(Word::text).take(MAX_TOUCHED);
        let names: Vec<String> = sources
            .filter_map(|text| Some(Path::new(&text).file_name()?.to_str()?.to_owned()))
            .collect();
        for (folder, name) in into
            .iter()
            .flat_map(|folder| names.iter().map(move |name| (folder, name)))
        {
            self.note(&format!("{folder}/{name}"), Match::No, Match::Perhaps);
        }
    }

    /// Notes a folder that is taken away.
    fn moves(&mut self, word: &Word) {
        let folders = Folders {
            bases: &self.bases,
            home: self.home,
        };
        let named = word.text().map(|text| vec![text]).or(folders.known(word));
        for text in named
            .into_iter()
            .flatten()
            .filter(|text| !text.starts_with('-'))
        {
            for base in &self.bases {
                self.reach.moved.extend(crate::paths::resolve(base, &text));
            }
        }
    }
}

/// Where the commands of a line may run, and whether some may run anywhere.
fn bases(line: &Analysis, cwd: &Path, home: Option<&Path>) -> (Vec<PathBuf>, bool) {
    let (mut bases, mut anywhere) = (vec![cwd.to_owned()], false);
    for command in &line.commands {
        let name = command.name().unwrap_or_default();
        if !matches!(name.as_str(), "cd" | "pushd") {
            continue;
        }
        let target = command.words[1..]
            .iter()
            .find(|word| !word.prefix().starts_with('-'));
        let folders = Folders {
            bases: &bases,
            home,
        };
        let targets = match target {
            None if command.words.len() > 1 => continue,
            None => home.map(|home| vec![home.to_string_lossy().into_owned()]),
            Some(word) => word
                .text()
                .map(|text| vec![text])
                .or_else(|| folders.known(word).filter(|_| !line.assigns)),
        };
        let Some(targets) = targets else {
            anywhere = true;
            continue;
        };
        for base in bases.clone() {
            for target in &targets {
                let path = crate::paths::resolve(&base, target);
                let path = path.unwrap_or_else(|_| base.join(target));
                if !bases.contains(&path) {
                    bases.push(path);
                }
            }
        }
        if bases.len() > MAX_BASES {
            return (bases, true);
        }
    }
    (bases, anywhere)
}

const MAX_BASES: usize = 16;

/// Whether git's configuration is written: `git config` with anything that does not only show.
fn sets_git(arguments: &[Word]) -> bool {
    let texts: Vec<Option<String>> = arguments.iter().map(Word::text).collect();
    let mut at = 0;
    // Options of git itself come first.
    let command = loop {
        match texts.get(at).map(Option::as_deref) {
            None => return false,
            Some(Some("-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace")) => at += 2,
            Some(Some(text)) if text.starts_with('-') => at += 1,
            Some(Some(text)) => break text,
            Some(None) => return false,
        }
    };
    let rest = &texts[at + 1..];
    let shows = |text: &Option<String>| {
        text.as_deref().is_some_and(|text| {
            matches!(
                text,
                "--get"
                    | "--get-all"
                    | "--get-regexp"
                    | "--get-urlmatch"
                    | "--get-color"
                    | "-l"
                    | "--list"
                    | "get"
                    | "list"
            )
        })
    };
    command == "config" && !rest.iter().take(2).any(shows) && {
        let operands = rest
            .iter()
            .filter(|text| text.as_deref().is_none_or(|text| !text.starts_with('-')));
        // With a name alone it shows the value.
        let options = rest.len() - operands.clone().count();
        operands.count() != 1 || options > 0
    }
}

/// The whole word, and what follows `--option=`, `of=` or `-o`.
fn values(text: &str) -> impl Iterator<Item = &str> {
    let after_equals = text.split_once('=').map(|(_, value)| value);
    let short = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let attached = short.and_then(|rest| rest.char_indices().nth(1).map(|(at, _)| &rest[at..]));
    let whole = (!text.is_empty()).then_some(text);
    [whole, after_equals, attached].into_iter().flatten()
}

/// Where a program's first operand is a pattern or a script, not a file.
fn pattern_operand(name: &str, arguments: &[Word]) -> Option<usize> {
    let takes_one = [
        "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "jq",
    ];
    let given = |word: &Word| {
        ["-e", "-f", "--regexp", "--file", "--expression"]
            .iter()
            .any(|option| word.prefix().starts_with(option))
    };
    if !takes_one.contains(&name) || arguments.iter().any(given) {
        return None;
    }
    arguments
        .iter()
        .position(|word| !word.prefix().starts_with('-'))
}

/// Whether a script of its own language may write files that no word names, or run programs.
fn may_run_code(name: &str, arguments: &[Word]) -> bool {
    let script = |word: &Word, marks: &[&str]| {
        word.text()
            .is_none_or(|text| marks.iter().any(|mark| text.contains(mark)))
    };
    match name {
        "awk" | "gawk" | "mawk" | "nawk" => {
            let marks = [">", "|", "system", "getline", "@", "-f", "-i", "-E", "--"];
            arguments.iter().any(|word| script(word, &marks))
        }
        _ => false,
    }
}

/// Whether a program that mostly reads may write one of its operands here.
fn sometimes_writes(name: &str, arguments: &[Word]) -> bool {
    let operand = |word: &&Word| !word.prefix().starts_with('-') || word.prefix() == "-";
    let option = |letters: &[char], long: &str| {
        arguments.iter().any(|word| {
            let option = word.prefix();
            word.text().is_none() && option.is_empty()
                || !long.is_empty() && option.starts_with(long)
                || option.starts_with('-') && !option.starts_with("--") && option.contains(letters)
        })
    };
    match name {
        // The second operand is the output; an option's value may look like the first.
        "uniq" | "xxd" => arguments.iter().filter(operand).count() > 1,
        "yq" => option(&['i', 's'], "--inplace") || option(&[], "--split-exp"),
        "zip" | "gzip" | "bzip2" | "xz" | "zstd" | "cpio" | "scp" => true,
        "less" | "more" => option(&['o', 'O'], "--log-file") || option(&['k'], "--LOG-FILE"),
        "view" => arguments
            .iter()
            .any(|word| word.prefix().starts_with(['-', '+'])),
        "file" => option(&['C'], "--compile"),
        "diff" | "sdiff" => option(&['o'], "--output"),
        _ => false,
    }
}

/// Whether git may show what files hold, of this state or of an older one: whatever is not known
/// to show names at most.
fn git_prints(arguments: &[Word]) -> bool {
    let Some(command) = arguments.first().and_then(Word::text) else {
        return true;
    };
    let any = |test: fn(&str) -> bool| {
        let mut texts = arguments[1..].iter().map(Word::text);
        texts.any(|text| text.is_none_or(|text| test(&text)))
    };
    match command.as_str() {
        "status" | "commit" => any(|text| text.starts_with("-v") || text == "--verbose"),
        "log" | "stash" => any(|text| {
            let short = text.starts_with('-') && !text.starts_with("--");
            short && text.contains(['p', 'u', 'L', 'c', 'W', 'U', 'm'])
                || [
                    "--p", "--u", "--c", "--dd", "--w", "--rem", "--bin", "--full", "--func",
                ]
                .iter()
                .any(|option| text.starts_with(option))
                || matches!(text, "show" | "-" | "--ext-diff" | "--inter-hunk-context")
        }),
        "add" => {
            any(|text| text.starts_with("-p") || text.starts_with("-i") || text.starts_with("--p"))
        }
        "push" | "fetch" | "pull" | "branch" | "tag" | "remote" | "rev-parse" | "init"
        | "clone" | "ls-files" | "switch" | "merge" | "rebase" | "worktree" | "rev-list"
        | "describe" | "mv" | "rm" | "reset" | "--version" | "version" | "cherry-pick"
        | "merge-base" | "symbolic-ref" | "shortlog" | "check-ignore" | "gc" | "clean" => false,
        _ => true,
    }
}

/// Whether it looks through the agent's folder without being told so.
fn searches_here(name: &str, arguments: &[Word]) -> bool {
    let recursive = |word: &Word| {
        let option = word.prefix();
        option.starts_with("--recursive")
            || option.starts_with("--dereference-recursive")
            || (option.starts_with('-') && !option.starts_with("--") && option.contains(['r', 'R']))
    };
    matches!(name, "rg" | "ag" | "ack")
        || (name.ends_with("grep") && arguments.iter().any(recursive))
}

/// Whether an interpreter is given code, or reads it from its input.
fn runs_code(arguments: &[Word]) -> bool {
    let code = |word: &Word| {
        let option = word.prefix();
        option.starts_with("--eval")
            || option.starts_with("--print")
            || option == "-"
            || (option.starts_with('-')
                && !option.starts_with("--")
                && option.contains(['c', 'e', 'E', 'r', 'p']))
    };
    arguments.iter().any(code) || arguments.iter().all(|word| word.prefix().starts_with('-'))
}

const MAX_TOUCHED: usize = 512;
const MAX_WORD: usize = 4096;

/// Programs whose words are no files.
const HARMLESS: [&str; 12] = [
    "echo", "printf", "true", "false", ":", "pwd", "sleep", "exit", "seq", "date", "kill", "wait",
];

/// Programs that show or copy what their operands hold.
const READERS: [&str; 68] = [
    "cat", "tac", "nl", "head", "tail", "less", "more", "most", "bat", "batcat", "view", "grep",
    "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "sed", "awk", "gawk", "mawk", "cut", "paste",
    "sort", "uniq", "tr", "wc", "od", "xxd", "hexdump", "strings", "base64", "base32", "basenc",
    "rev", "fold", "fmt", "column", "expand", "join", "comm", "diff", "cmp", "sdiff", "cp", "mv",
    "ln", "install", "rsync", "scp", "dd", "tar", "zip", "gzip", "zcat", "bzip2", "xz", "zstd",
    "cpio", "jq", "yq", "source", ".", "mapfile", "ls", "file", "split",
];

/// Programs that change what their operands name.
const WRITERS: [&str; 22] = [
    "tee", "touch", "rm", "rmdir", "mkdir", "mv", "cp", "ln", "install", "truncate", "chmod",
    "chown", "dd", "sed", "rsync", "shred", "unlink", "split", "patch", "sort", "tar", "csplit",
];

/// Programs that run what they are given as code.
const INTERPRETERS: [&str; 11] = [
    "python",
    "perl",
    "ruby",
    "node",
    "php",
    "lua",
    "deno",
    "bun",
    "tclsh",
    "osascript",
    "Rscript",
];
