//! What lines of compilers, linters and test runners look like.

use std::sync::LazyLock;

use regex::{Captures, Regex, RegexSet};

macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Kind { $($name),* }
        const KINDS: &[Kind] = &[$(Kind::$name),*];
        const PATTERNS: &[&str] = &[$($pattern),*];
    };
}

// The first that matches a line says what it is.
patterns! {
    RustMessage = r"^(error|warning)(?:\[(E\d{4})\])?: (.+)$";
    Arrow = r"^\s*--> (.+?):(\d+):(\d+)$";
    RustLabel = r"^\s*\|\s.*\^+ (\S.*)$";
    RustSides = r"^\s+(left|right): (.+)$";
    RustTest = r"^test (\S+)(?: - .*)? \.\.\. FAILED$";
    Nextest = r"^\s+(?:FAIL|TIMEOUT) \[[^\]]*\] (?:\([^)]*\) )?(\S+) (\S+)$";
    Panic = r"^thread '(.+?)'.* panicked at (?:'(.*)', )?(\S+?):(\d+):(\d+):?$";
    TestResult = r"^test result: FAILED\. (\d+ passed; \d+ failed)";
    Tsc = r"^(\S.*?)\((\d+),\d+\): error (TS\d+: .+)$";
    TscPretty = r"^(\S.*?):(\d+):\d+ - error (TS\d+: .+)$";
    GoFail = r"^\s*--- FAIL: (\S+)";
    GoTestLine = r"^\s+(\w+_test\.go):(\d+): (.+)$";
    Go = r"^(?:vet: )?(\S+\.go):(\d+)(?::\d+)?: (.+)$";
    Compiler = r"^(\S.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.+)$";
    Linker = r"^(?:.*: )?(undefined reference to .+|cannot find -l\S+.*|undefined symbol: .+)$";
    Ruff = r"^(\S+\.pyi?):(\d+):\d+: ([A-Z]{1,4}\d{2,4} .+|[a-z-]+: .+)$";
    RuffFull = r"^([A-Z]{1,4}\d{2,4}(?: \[\*\])? .+|invalid-syntax: .+)$";
    Pytest = r"^(FAILED|ERROR) (\S+\.py)(?:::(.+?))?(?: - (.+))?$";
    PytestResult = r"^=* ?(\d+ (?:failed|errors?)\b.*?) in [\d.]+s\b.*$";
    Unittest = r"^(?:FAIL|ERROR): (\w+) \(([\w.]+)\)$";
    PythonFile = r#"^\s+File "(.+?)", line (\d+)"#;
    PythonError = r"^((?:\w+\.)*\w*(?:Error|Exception|Exit|Interrupt)(?:: .+)?)$";
    ScriptFail = r"^\s*FAIL\s+(?:\|.*?\| )?(\S+\.\w+)(?: [>›] (.+)| \[.*\]| \(.*\))?$";
    JestTest = r"^\s+● (.+)$";
    ScriptPlace = r"^\s+(?:❯|at) (?:.* \()?(?:file://)?([^\s()]+?):(\d+):\d+\)?$";
    ScriptError = r"^\s*(?:Uncaught )?((?:\w+)?Error(?: \[\w+\])?: .+)$";
    ScriptResult = r"^\s*Tests:?\s+(.*\d+ failed.*)$";
    EslintRow = r"^\s+(\d+):\d+\s+(error|warning)\s+(.+?)(?:\s{2,}(\S+))?$";
    ScriptFile = r"^(/?[^\s:]+\.(?:[cm]?[jt]sx?|vue|svelte))$";
}

#[expect(clippy::unwrap_used, reason = "constants that a test compiles")]
static SET: LazyLock<RegexSet> = LazyLock::new(|| RegexSet::new(PATTERNS).unwrap());
#[expect(clippy::unwrap_used, reason = "constants that a test compiles")]
static EACH: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let each = PATTERNS.iter().map(|pattern| Regex::new(pattern).unwrap());
    each.collect()
});

/// What a line says, if it says anything.
pub(super) fn recognize(line: &str) -> Option<(Kind, Captures<'_>)> {
    let at = SET.matches(line).iter().next()?;
    Some((KINDS[at], EACH[at].captures(line)?))
}
