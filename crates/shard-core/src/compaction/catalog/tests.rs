use serde_json::{Map, Value, json};

use super::*;

fn step(tool: &str, args: Value, text: &str) -> [NormalizedBlock; 2] {
    let args: Map<String, Value> = args.as_object().cloned().unwrap_or_default();
    let name = || tool.to_owned();
    [
        NormalizedBlock::ToolCall { name: name(), args },
        NormalizedBlock::ToolResult {
            name: name(),
            text: text.to_owned(),
            is_error: false,
        },
    ]
}

fn told(steps: &[[NormalizedBlock; 2]]) -> Vec<String> {
    let context = ExtractorContext {
        cwd: Some(Path::new("/p")),
        ..ExtractorContext::default()
    };
    TypeCatalog.extract(&steps.concat(), &context)
}

#[test]
fn what_was_read_last_counts_with_what_was_put_in_since() {
    let read = step(
        "read",
        json!({ "path": "/p/a.rs" }),
        "     1\tfn one() {\n     2\t}\n",
    );
    let old = step("read", json!({ "path": "a.rs" }), "     1\tfn gone() {\n");
    let edit = step(
        "edit",
        json!({ "path": "./a.rs", "old_text": "x", "new_text": "fn two(x: u8) {\n}" }),
        "edited",
    );
    let grep = step(
        "grep",
        json!({ "pattern": "fn" }),
        "a.rs:9: pub fn three() -> u8 {\nb.rs:1: fn other() {\n",
    );
    let notes = step("read", json!({ "path": "notes.md" }), "     1\tfn text\n");
    assert_eq!(
        told(&[old, read, edit, grep, notes]),
        ["a.rs: fn one() · fn two(x: u8) · pub fn three() -> u8"]
    );
}

#[test]
fn a_file_that_was_written_anew_is_what_was_written() {
    let read = step("read", json!({ "path": "a.py" }), "     1\tdef old():\n");
    let write = step(
        "write",
        json!({ "path": "a.py", "content": "class New:\n    def go(self):\n        pass\n" }),
        "wrote 3 lines to a.py, in place of 1 line",
    );
    assert_eq!(told(&[read, write]), ["a.py: class New · def go(self)"]);
}

#[test]
fn the_files_that_were_changed_last_are_told_and_not_all() {
    let steps = (0..40).map(|at| {
        let tool = if at % 2 == 0 { "read" } else { "edit" };
        let args = json!({ "path": format!("f{at}.go"), "new_text": format!("func F{at}()") });
        step(tool, args, &format!("     1\tfunc F{at}()\n"))
    });
    let told = told(&steps.collect::<Vec<_>>());
    assert_eq!(told.len(), FILES);
    assert_eq!(told.last().map(String::as_str), Some("f39.go: func F39()"));
    assert!(told.iter().all(|line| !line.starts_with("f38")), "{told:?}");
}
