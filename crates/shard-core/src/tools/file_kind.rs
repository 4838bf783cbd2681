//! What a file holds, told from its first bytes or its name.

use std::path::Path;

/// How many bytes are looked at.
pub(crate) const SAMPLE: usize = 8192;

/// Starts that name a format which is no text.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF8", "GIF image"),
    (b"\x00\x00\x01\x00", "ICO image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"PK\x05\x06", "ZIP archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"7z\xbc\xaf\x27\x1c", "7-zip archive"),
    (b"\x7fELF", "ELF binary"),
    (b"\xcf\xfa\xed\xfe", "Mach-O binary"),
    (b"\xca\xfe\xba\xbe", "Java class or Mach-O binary"),
    (b"\0asm", "WebAssembly module"),
    (b"!<arch>\n", "static library"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"wOFF", "WOFF font"),
    (b"wOF2", "WOFF2 font"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
];

/// What the file is when it is no text that can be read line by line.
pub(crate) fn binary(sample: &[u8]) -> Option<&'static str> {
    let sample = &sample[..sample.len().min(SAMPLE)];
    if sample.starts_with(b"RIFF") && sample.get(8..12) == Some(b"WEBP") {
        return Some("WebP image");
    }
    let known = MAGIC.iter().find(|(start, _)| sample.starts_with(start));
    known
        .map(|(_, kind)| *kind)
        .or_else(|| mostly_noise(sample).then_some("unknown format"))
}

/// A stray NUL does not make a log unreadable, so it takes many bytes that no text has. Bytes
/// that are not UTF-8 count only beside a NUL: text in an older encoding is full of them.
fn mostly_noise(sample: &[u8]) -> bool {
    if !sample.contains(&0) {
        return false;
    }
    let plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b'\x08' | b'\x0c' | b'\x1b');
    let controls = sample.iter().filter(|b| b.is_ascii_control() && !plain(b));
    let invalid = sample.utf8_chunks().filter(|c| !c.invalid().is_empty());
    (controls.count() + invalid.count()) * 10 > sample.len()
}

/// The usual short name of the language, by the file's name.
pub(crate) fn language(path: &str) -> Option<String> {
    let path = Path::new(path);
    let name = path.file_name()?.to_str()?;
    match name {
        "Dockerfile" => return Some("dockerfile".to_owned()),
        "Makefile" => return Some("makefile".to_owned()),
        _ => {}
    }
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    let language = match extension.as_str() {
        "rs" => "rust",
        "py" | "pyi" => "python",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "jsx",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "tsx",
        "rb" => "ruby",
        "kt" | "kts" => "kotlin",
        "h" => "c",
        "cc" | "cxx" | "hpp" | "hh" | "cpp" => "cpp",
        "cs" => "csharp",
        "sh" | "bash" | "zsh" => "bash",
        "md" | "markdown" => "markdown",
        "yml" | "yaml" => "yaml",
        "json" | "jsonl" => "json",
        "htm" | "html" => "html",
        "ex" | "exs" => "elixir",
        "hs" => "haskell",
        "pl" => "perl",
        "ps1" => "powershell",
        "c" | "css" | "scss" | "diff" | "go" | "graphql" | "ini" | "java" | "lua" | "php"
        | "proto" | "r" | "scala" | "sql" | "svelte" | "swift" | "toml" | "vue" | "xml" | "zig" => {
            return Some(extension);
        }
        _ => return None,
    };
    Some(language.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_named() {
        let check =
            |sample: &[u8], want: Option<&str>| assert_eq!(binary(sample), want, "{sample:?}");
        check(b"", None);
        check(b"plain\ntext\n", None);
        check(b"caf\xe9 cr\xe8me", None);
        check(b"a log line with one\0 NUL and \x1b[31mred\x1b[0m\n", None);
        check(b"\x89PNG\r\n\x1a\n....", Some("PNG image"));
        check(b"RIFF\x10\0\0\0WEBPVP8 ", Some("WebP image"));
        check(b"\x7fELF\x02\x01\x01", Some("ELF binary"));
        check(b"\xff\xfeh\0i\0", Some("UTF-16 text"));
        check(b"a\0\x01\x02b\xff\xfe\0", Some("unknown format"));
    }

    #[test]
    fn a_language_is_told_by_the_name() {
        let check =
            |path: &str, want: Option<&str>| assert_eq!(language(path).as_deref(), want, "{path}");
        check("src/main.rs", Some("rust"));
        check("A.TOML", Some("toml"));
        check("build/Makefile", Some("makefile"));
        check("notes", None);
        check("x.unknown", None);
    }
}
