//! What compilers, linters and test runners complain about, read from their output.
//!
//! One pass over the lines: a set of patterns says which of them mean something, and a few lines
//! of memory join what belongs together (a message and its place, a test and why it failed).

mod patterns;

use regex::Captures;

use self::patterns::{Kind, recognize};
use super::excerpt::{ends, line};

/// Bytes of an output that are read at each end.
const LOOK: usize = 16 * 1024;
/// Bytes of one message.
const MESSAGE: usize = 160;
/// Findings of one output.
const MOST: usize = 40;
/// Lines after a message in which its place is looked for.
const NEAR: usize = 6;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    Error,
    Warning,
    Info,
}

/// One complaint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    /// The tool that complains, or what about.
    pub(super) tag: String,
    /// The file that it names.
    pub(super) path: Option<String>,
    /// Its line in there.
    pub(super) line: Option<u32>,
    pub(super) message: String,
}

/// The complaints in what a command printed, in their order.
pub(super) fn findings(command: &str, output: &str) -> Vec<Finding> {
    let mut reader = Reader {
        command,
        ..Reader::default()
    };
    for part in ends(output, LOOK) {
        for text in part.lines() {
            reader.read(text.trim_end());
        }
        _ = reader.settle();
    }
    reader.finish()
}

/// What rustc and cargo say about their own end.
const RUST_ENDINGS: [&str; 8] = [
    "could not compile",
    "aborting due to",
    "test failed, to rerun",
    "process didn't exit",
    "build failed",
    "`",
    "unused manifest key",
    "1 target failed",
];

#[derive(Default)]
struct Reader<'a> {
    command: &'a str,
    found: Vec<Finding>,
    /// A message whose place may follow, and for how many lines it may.
    pending: Option<(Finding, usize)>,
    /// The failed test, by position in `found`, that the next reason belongs to.
    test: Option<usize>,
    /// The last file that a heading or a traceback named.
    file: Option<(String, Option<u32>)>,
    /// The next line is what a panic said.
    panicked: Option<usize>,
    /// The finding that the next words below code explain.
    explained: Option<usize>,
}

impl Reader<'_> {
    fn read(&mut self, text: &str) {
        if let Some(at) = self.panicked.take() {
            self.explain(at, &format!(": {}", text.trim()));
            self.explained = Some(at);
            return;
        }
        let captures = recognize(text);
        if let Some((Kind::Arrow, place)) = &captures {
            if let Some((finding, _)) = &mut self.pending {
                finding.path = Some(place[1].to_owned());
                finding.line = place[2].parse().ok();
            }
            self.explained = self.settle();
            return;
        }
        match &mut self.pending {
            Some((_, 0)) => _ = self.settle(),
            Some((_, lines)) => *lines -= 1,
            None => {}
        }
        if let Some((kind, captures)) = captures {
            self.take(kind, &captures);
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        self.settle();
        self.found
    }

    /// Takes the message that waits for its place as it is, if it says enough without one.
    fn settle(&mut self) -> Option<usize> {
        let (finding, _) = self.pending.take()?;
        let cargo = self.command.contains("cargo") || self.command.contains("rustc");
        let enough = finding.path.is_some() || (cargo && finding.severity == Severity::Error);
        enough.then(|| self.add(finding))?
    }

    /// Adds to what a finding says, within the bound.
    fn explain(&mut self, at: usize, more: &str) {
        let said = &mut self.found[at].message;
        if said.ends_with(more) {
            return;
        }
        *said = line(&format!("{said}{more}"), 2 * MESSAGE);
    }

    fn add(&mut self, finding: Finding) -> Option<usize> {
        let same = self.found.iter().position(|known| *known == finding);
        if same.is_some() || self.found.len() == MOST {
            return same;
        }
        self.found.push(finding);
        Some(self.found.len() - 1)
    }

    fn place(&mut self, tag: &str, place: &Captures<'_>) {
        let finding = finding(Severity::Error, tag, &place[3]);
        self.add(Finding {
            path: Some(place[1].to_owned()),
            line: place[2].parse().ok(),
            ..finding
        });
    }

    /// A test that failed; the same one again is the same finding.
    fn failed(&mut self, tag: &str, path: Option<&str>, name: &str) {
        let known = self
            .found
            .iter()
            .position(|known| known.tag == tag && known.message.split(": ").next() == Some(name));
        self.test = known.or_else(|| {
            self.add(Finding {
                path: path.map(str::to_owned),
                ..finding(Severity::Error, tag, name)
            })
        });
    }

    /// Why the test at hand failed.
    fn reason(&mut self, why: &str) -> bool {
        let Some(test) = self.test.map(|at| &mut self.found[at]) else {
            return false;
        };
        if test.tag == "node" {
            return false;
        }
        if !test.message.contains(": ") {
            test.message += &format!(": {}", line(why, MESSAGE));
        }
        true
    }

    fn take(&mut self, kind: Kind, got: &Captures<'_>) {
        match kind {
            Kind::RustMessage => self.rust(got),
            Kind::RuffFull if self.command.contains("ruff") => {
                self.pending = Some((finding(Severity::Error, "ruff", &got[1]), 2));
            }
            Kind::RuffFull | Kind::Arrow => {}
            Kind::RustLabel => {
                if let Some(at) = self.explained.take() {
                    self.explain(at, &format!(": {}", &got[1]));
                }
            }
            Kind::RustSides => {
                if let Some(at) = self.explained {
                    self.explain(at, &format!("; {}: {}", &got[1], &got[2]));
                }
            }
            Kind::RustTest => self.failed("test", None, &got[1]),
            Kind::Nextest => self.failed("test", None, &got[2]),
            Kind::Panic => self.panic(got),
            Kind::GoFail => self.failed("go test", None, &got[1]),
            Kind::GoTestLine => {
                let place = (got[1].to_owned(), got[2].parse().ok());
                if self.reason(&got[3]) {
                    self.locate(place);
                }
            }
            Kind::Tsc | Kind::TscPretty => self.place("tsc", got),
            Kind::Go if self.command.contains("vet") => self.place("go vet", got),
            Kind::Go => self.place("go", got),
            Kind::Compiler if got[1].ends_with(".py") => self.place("mypy", got),
            Kind::Compiler => self.place("cc", got),
            Kind::Linker => _ = self.add(finding(Severity::Error, "ld", &got[1])),
            Kind::Ruff => self.place("ruff", got),
            Kind::Pytest => self.pytest(got),
            Kind::Unittest => {
                self.failed("unittest", None, &format!("{}.{}", &got[2], &got[1]));
                self.file = None;
            }
            Kind::PythonFile => self.file = Some((got[1].to_owned(), got[2].parse().ok())),
            Kind::PythonError => self.python(got),
            Kind::ScriptFail => self.script_fail(got),
            Kind::JestTest => {
                let path = self.file.as_ref().map(|(path, _)| path.clone());
                self.failed("test", path.as_deref(), &got[1]);
            }
            Kind::ScriptPlace
                if !got[1].contains("node_modules")
                    && !["[", "node:"].iter().any(|own| got[1].starts_with(own)) =>
            {
                let place = (got[1].to_owned(), got[2].parse().ok());
                self.locate(place);
            }
            Kind::ScriptPlace => {}
            Kind::ScriptError => self.script(&got[1]),
            Kind::TestResult | Kind::PytestResult | Kind::ScriptResult => {
                self.add(finding(Severity::Warning, "tests", &got[1]));
                self.test = None;
            }
            Kind::EslintRow => self.eslint(got),
            Kind::ScriptFile => self.file = Some((got[1].to_owned(), None)),
        }
    }

    fn rust(&mut self, got: &Captures<'_>) {
        self.settle();
        let message = &got[3];
        let about_the_end = RUST_ENDINGS
            .iter()
            .any(|ending| message.starts_with(ending));
        if (about_the_end && got.get(2).is_none())
            || message.contains(" generated ")
            || message.contains("previous error")
        {
            return;
        }
        let clippy = self.command.contains("clippy") && got.get(2).is_none();
        let severity = match &got[1] {
            "error" => Severity::Error,
            _ => Severity::Warning,
        };
        let message = match got.get(2) {
            Some(code) => format!("{}: {message}", code.as_str()),
            None => message.to_owned(),
        };
        let tag = if clippy { "clippy" } else { "rustc" };
        self.pending = Some((finding(severity, tag, &message), NEAR));
    }

    fn panic(&mut self, got: &Captures<'_>) {
        let name = got[1].to_owned();
        self.failed("test", None, &name);
        let Some(at) = self.test else { return };
        let test = &mut self.found[at];
        if test.path.is_none() {
            test.path = Some(got[3].to_owned());
            test.line = got[4].parse().ok();
        }
        match got.get(2) {
            Some(said) => test.message += &format!(": {}", line(said.as_str(), MESSAGE)),
            None => self.panicked = Some(at),
        }
        self.test = None;
    }

    fn pytest(&mut self, got: &Captures<'_>) {
        let name = got.get(3).map_or("collection", |name| name.as_str());
        let message = match got.get(4) {
            Some(why) => format!("{name}: {}", why.as_str()),
            None => name.to_owned(),
        };
        self.add(Finding {
            path: Some(got[2].to_owned()),
            ..finding(Severity::Error, "pytest", &message)
        });
    }

    fn python(&mut self, got: &Captures<'_>) {
        let Some((path, at)) = self.file.take() else {
            self.script(&got[1]);
            return;
        };
        if self.reason(&got[1]) {
            self.locate((path, at));
            self.test = None;
            return;
        }
        self.add(Finding {
            path: Some(path),
            line: at,
            ..finding(Severity::Error, "python", &got[1])
        });
    }

    /// An error with a name: of the test at hand, else of the program.
    fn script(&mut self, said: &str) {
        let runs = ["node", "npx", "npm", "pnpm", "yarn", "bun", "deno"];
        let runs = runs.iter().any(|name| self.command.contains(name));
        if !self.reason(said) && runs {
            self.test = self.add(finding(Severity::Error, "node", said));
        }
    }

    fn script_fail(&mut self, got: &Captures<'_>) {
        match got.get(2) {
            Some(name) => self.failed("test", Some(&got[1]), name.as_str()),
            None => self.file = Some((got[1].to_owned(), None)),
        }
    }

    fn eslint(&mut self, got: &Captures<'_>) {
        let Some((path, _)) = &self.file else { return };
        let severity = match &got[2] {
            "error" => Severity::Error,
            _ => Severity::Warning,
        };
        let rule = got.get(4).map(|rule| format!(" ({})", rule.as_str()));
        let message = format!("{}{}", &got[3], rule.unwrap_or_default());
        let found = Finding {
            path: Some(path.clone()),
            line: got[1].parse().ok(),
            ..finding(severity, "eslint", &message)
        };
        self.add(found);
    }

    /// Where the test at hand failed: the first place that is told within the file of the test,
    /// else the first.
    fn locate(&mut self, (path, at): (String, Option<u32>)) {
        let Some(test) = self.test.map(|at| &mut self.found[at]) else {
            return;
        };
        if test.line.is_some()
            || test
                .path
                .as_ref()
                .is_some_and(|known| !same_file(known, &path))
        {
            return;
        }
        test.path.get_or_insert(path);
        test.line = at;
    }
}

fn finding(severity: Severity, tag: &str, message: &str) -> Finding {
    Finding {
        severity,
        tag: tag.to_owned(),
        path: None,
        line: None,
        message: line(message, MESSAGE),
    }
}

/// Whether two paths may mean one file: one of them ends with the other.
pub(super) fn same_file(a: &str, b: &str) -> bool {
    let (a, b) = (plain(a), plain(b));
    let ends = |long: &str, short: &str| {
        let rest = long.strip_suffix(short);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    ends(a, b) || ends(b, a)
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path)
}

#[cfg(test)]
mod tests;
