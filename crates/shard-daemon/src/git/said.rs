//! What git complains about, for people.

use shard_process::Exit;

/// What matters of what git says.
pub(super) fn complaint(said: &str, exit: Exit) -> String {
    if said.contains("dubious ownership") {
        return "the repository belongs to another user; if you trust it, name it with \
                `git config --global --add safe.directory`"
            .to_owned();
    }
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let named = lines().find_map(|line| {
        let rest = line.strip_prefix("fatal: ");
        rest.or_else(|| line.strip_prefix("error: "))
    });
    match named.or_else(|| lines().next()) {
        Some(line) => line.chars().take(300).collect(),
        None => format!("it ended with {exit:?}"),
    }
}

/// The text with dots in the place of absolute paths.
pub(super) fn without_paths(said: &str) -> String {
    let shown = |word: &str| {
        let bare = word.trim_start_matches(['\'', '"', '(']);
        match bare.starts_with('/') {
            true => format!("{}…", &word[..word.len() - bare.len()]),
            false => word.to_owned(),
        }
    };
    let words: Vec<String> = said.split(' ').map(shown).collect();
    words.join(" ")
}
