//! What must hold for every input: one function for each fuzz target in `tests/fuzz`.
//!
//! A function takes any bytes and panics when a property does not hold. Inputs of several parts
//! have a form feed between them, so that a corpus is text that people can write. The functions
//! stand beside the private code that they are about; this is where the targets find them, and
//! where tests replay what fuzzing has found.

pub use crate::gate::fuzz::{rules, shell};
pub use crate::provider::fuzz::sse;
pub use crate::tools::fuzz::edit;

/// Stands between the parts of an input.
pub(crate) const BETWEEN: u8 = b'\x0c';

/// The first parts of an input and the rest, as texts; `None` when they are none.
pub(crate) fn parts<const COUNT: usize>(data: &[u8]) -> Option<[&str; COUNT]> {
    let text = std::str::from_utf8(data).ok()?;
    let mut parts = text.splitn(COUNT, char::from(BETWEEN));
    Some(std::array::from_fn(|_| parts.next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// Panics name the file: the fuzz functions know their input only as bytes.
    fn replay(target: &str, holds: fn(&[u8])) {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/fuzz/corpus")
            .join(target);
        let mut count = 0;
        for entry in std::fs::read_dir(&corpus).unwrap() {
            let path = entry.unwrap().path();
            let data = std::fs::read(&path).unwrap();
            if std::panic::catch_unwind(|| holds(&data)).is_err() {
                panic!("{} breaks what must hold for every input", path.display());
            }
            count += 1;
        }
        assert!(count > 10, "{count} files in {}", corpus.display());
    }

    #[test]
    fn what_fuzzing_found_about_shell_lines_stays_mended() {
        replay("shell", super::shell);
    }

    #[test]
    fn what_fuzzing_found_about_rules_stays_mended() {
        replay("rules", super::rules);
    }

    #[test]
    fn what_fuzzing_found_about_event_streams_stays_mended() {
        replay("sse", super::sse);
    }

    #[test]
    fn what_fuzzing_found_about_edits_stays_mended() {
        replay("edit", super::edit);
    }
}
