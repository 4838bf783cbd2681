//! Declarations in source text, by their first lines. A guess: good enough to remember names by.

use std::sync::LazyLock;

use regex::Regex;

/// A language whose declarations are recognized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Script,
    Python,
    Go,
    Jvm,
    C,
    Ruby,
    Php,
}

impl Language {
    /// By the extension of the file.
    pub(super) fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        Some(match extension {
            "rs" => Self::Rust,
            "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "mts" | "cts" | "svelte" | "vue" => {
                Self::Script
            }
            "py" | "pyi" => Self::Python,
            "go" => Self::Go,
            "java" | "kt" | "kts" | "cs" | "scala" | "swift" => Self::Jvm,
            "c" | "h" | "cc" | "cpp" | "cxx" | "hpp" | "hh" => Self::C,
            "rb" => Self::Ruby,
            "php" => Self::Php,
            _ => return None,
        })
    }

    /// What the first line of a declaration looks like.
    fn declaration(self) -> &'static Regex {
        #[expect(clippy::unwrap_used, reason = "constants that a test compiles")]
        static DECLARATIONS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
            PATTERNS
                .iter()
                .map(|pattern| Regex::new(pattern).unwrap())
                .collect()
        });
        &DECLARATIONS[self as usize]
    }
}

/// In the order of [`Language`].
const PATTERNS: [&str; 8] = [
    // Fields and locals are no declarations, so `let`, `const` inside of bodies are left out.
    r"^\s*(?:pub(?:\([^)]*\))? )?(?:default |async |const |unsafe |extern (?:\x22[^\x22]*\x22 )?)*(?:fn|struct|enum|union|trait|type|impl|macro_rules!)\b.*",
    r"^(?:\s{0,4}(?:public |private |protected |static |readonly |abstract |override )+(?:async )?[\w$#]+\s*[(<].*|\s*(?:export )?(?:default )?(?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|interface|type|enum|namespace)\b.*|(?:export )(?:const|let)\s.*|const \w+ = (?:async )?(?:\(|function).*)",
    r"^\s{0,4}(?:async )?(?:def|class)\s.*",
    r"^(?:func|type)\s.*",
    r"^\s*(?:(?:public|private|protected|internal|static|final|abstract|override|open|sealed|data|suspend|async|virtual|inline|inner|companion) )*(?:class|interface|enum|record|object|struct|fun|func|protocol|extension|def|trait)\s+\w.*|^\s*(?:(?:public|protected|internal|static|final|abstract|override|virtual|async) )+[\w<>\[\],.? ]+\s+\w+\s*\(.*",
    r"^(?:typedef\s.*|(?:struct|union|enum|class|namespace)\s+\w+.*|template\s*<.*|#define \w+\(.*|(?:(?:static|extern|inline|const|unsigned|signed|virtual|constexpr) )*[A-Za-z_][\w:<>,]*[\s*&]+[\w:~*&]+\s*\([^;]*\)?[^;=]*[{;]?\s*$)",
    r"^\s{0,4}(?:def|class|module)\s.*",
    r"^\s{0,4}(?:(?:public|private|protected|static|final|abstract) )*(?:function|class|interface|trait|enum)\s.*",
];

/// Longest line that is looked at, in bytes.
const LINE: usize = 400;
/// Declarations of one text, at most.
const MOST: usize = 200;

/// The declarations in a text: those that stand at the margin first, each without its body.
pub(super) fn signatures(language: Language, source: &str) -> Vec<String> {
    let declaration = language.declaration();
    let lines = source.lines().filter(|line| line.len() <= LINE);
    let found = lines.filter(|line| declaration.is_match(line)).take(MOST);
    let (outer, inner): (Vec<_>, Vec<_>) = found.partition(|line| !line.starts_with([' ', '\t']));
    let told = outer.into_iter().chain(inner).map(without_body);
    told.filter(|text| !text.is_empty()).collect()
}

fn without_body(line: &str) -> String {
    let line = line.trim();
    let line = match line.find(" {") {
        Some(at) if !line[..at].ends_with('=') => &line[..at],
        _ => line,
    };
    let line = line.trim_end_matches([':', ';', '{', ' ']);
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
