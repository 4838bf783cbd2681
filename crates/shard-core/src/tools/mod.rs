//! The built-in tools.
//!
//! One tool a file: its name, description, arguments, what it touches, how it runs and its tests
//! stand side by side. The other files are the pieces that tools share; `regular_file` and
//! `atomic_write` are the only ones that open or change a file.
//!
//! Invariants: a path is resolved again right before use and used only if it still is what the
//! gate judged; no tool opens anything but regular files and folders; every output fits the bound
//! of its call and says so where it was cut; no control sequence of a file reaches an output.

use std::sync::Arc;

use shard_contracts::Tool;

mod arguments;
mod ask_user;
mod atomic_write;
mod bash;
mod closest;
mod diff;
mod edit;
mod file_kind;
mod find;
mod grep;
mod job;
mod line_scan;
mod ls;
mod nearest;
mod read;
mod read_log;
mod regular_file;
mod search;
mod snippet;
mod splice;
mod text_file;
mod text_match;
mod visible;
mod walk;
mod write;

#[cfg(test)]
mod bench;

pub use ask_user::AskUser;
pub use bash::{Bash, Environment};
pub use edit::Edit;
pub use find::Find;
pub use grep::Grep;
pub use ls::Ls;
pub use read::Read;
pub use read_log::ReadLog;
pub use write::Write;

/// The tools for files and for asking, in the order in which a model is told of them. `files` is
/// what one agent has read so far: agents that share it could overwrite what they never saw.
#[must_use]
pub fn builtin(files: &Arc<ReadLog>) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Read::new(Arc::clone(files))),
        Arc::new(Ls),
        Arc::new(Find),
        Arc::new(Grep),
        Arc::new(Write::new(Arc::clone(files))),
        Arc::new(Edit::new(Arc::clone(files))),
        Arc::new(AskUser),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    fn keys(value: &Value) -> BTreeSet<&str> {
        let object = value.as_object().into_iter().flatten();
        object.map(|(key, _)| key.as_str()).collect()
    }

    #[test]
    fn models_are_told_of_the_tools_by_these_names() {
        let check =
            |tool: &dyn Tool, name: &str, required: &[&str], optional: &[&str], read_only| {
                let schema = tool.input_schema();
                let all = required.iter().chain(optional).copied().collect();
                assert_eq!((tool.name(), tool.read_only()), (name, read_only));
                assert_eq!(keys(&schema["properties"]), all, "{name}");
                let said: Vec<&str> = schema["required"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(Value::as_str)
                    .collect();
                assert_eq!(said, required, "{name}");
                assert_eq!(
                    keys(&schema),
                    BTreeSet::from(["properties", "required", "type"])
                );
            };
        let tools = builtin(&Arc::new(ReadLog::new()));
        let [read, ls, find, grep, write, edit, ask_user] = tools.as_slice() else {
            panic!("{} tools", tools.len())
        };
        check(&**read, "read", &["path"], &["offset", "limit"], true);
        assert_eq!(
            keys(&ls.input_schema()["properties"]),
            BTreeSet::from(["limit", "path"])
        );
        assert_eq!((ls.name(), ls.read_only()), ("ls", true));
        check(&**find, "find", &["pattern"], &["path", "limit"], true);
        let more = ["path", "glob", "ignore_case", "literal", "context", "limit"];
        check(&**grep, "grep", &["pattern"], &more, true);
        check(&**write, "write", &["path", "content"], &[], false);
        check(
            &**edit,
            "edit",
            &["path", "old_text", "new_text"],
            &["replace_all"],
            false,
        );
        check(
            &**ask_user,
            "ask_user",
            &["question"],
            &["options", "multiple"],
            true,
        );
    }
}
