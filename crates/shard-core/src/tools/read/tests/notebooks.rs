//! Notebooks as text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::super::bench::{Bench, said};
use super::pictures::png;

const NOTE: &str = "[the lines are those of this view of the notebook; edit and write work on the \
                    JSON of the file, which grep shows]\n";

fn notebook(cells: &Value) -> String {
    let book = json!({ "nbformat": 4, "nbformat_minor": 5, "cells": cells,
        "metadata": { "language_info": { "name": "python" } } });
    serde_json::to_string_pretty(&book).unwrap()
}

fn drawn(picture: &str) -> Value {
    json!({ "cell_type": "code", "source": "plot()", "execution_count": null, "metadata": {},
        "outputs": [{ "output_type": "display_data", "metadata": {},
            "data": { "image/png": picture, "text/plain": "<Figure>" } }] })
}

#[tokio::test]
async fn a_notebook_comes_as_its_cells_and_what_they_gave() {
    let bench = Bench::new();
    let cells = json!([
        { "cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "words"] },
        { "cell_type": "code", "metadata": {}, "execution_count": 3, "source": ["x = 1\n", "x"],
          "outputs": [
            { "output_type": "stream", "name": "stdout", "text": ["one\n", "\u{1b}[31mtwo\u{1b}[0m\n"] },
            { "output_type": "execute_result", "execution_count": 3, "metadata": {},
              "data": { "text/html": "<b>1</b>", "text/plain": ["1"] } },
            { "output_type": "display_data", "metadata": {}, "data": { "application/x": {}, "text/html": "" } },
            { "output_type": "error", "ename": "E", "evalue": "v",
              "traceback": ["\u{1b}[0;31mE\u{1b}[0m", "line 1\nE: v"] },
            { "output_type": "of tomorrow" },
          ] },
        { "cell_type": "raw", "metadata": {}, "source": "" },
    ]);
    bench.file("n.ipynb", notebook(&cells));
    let lines = [
        "--- cell 1: markdown ---",
        "# Title",
        "words",
        "--- cell 2: python, run as [3] ---",
        "x = 1",
        "x",
        "--- cell 2 printed to stdout ---",
        "one",
        "two",
        "--- cell 2 gave ---",
        "1",
        "--- cell 2 showed what is no text (application/x, text/html) ---",
        "--- cell 2 failed ---",
        "E",
        "line 1",
        "E: v",
        "--- cell 2 has an output of an unknown type ---",
        "--- cell 3: raw ---",
    ];
    let numbered = lines.iter().zip(1..);
    let want: String = numbered
        .map(|(line, n)| format!("{n:>6}\t{line}\n"))
        .collect();
    let text = bench.good("read", json!({ "path": "n.ipynb" })).await;
    assert_eq!(text, want + NOTE);
    let input = json!({ "path": "n.ipynb", "offset": 5, "limit": 2 });
    let want =
        format!("     5\tx = 1\n     6\tx\n{NOTE}[lines 5-6 of 18; continue with offset 7]\n");
    assert_eq!(bench.good("read", input).await, want);
}

#[tokio::test]
async fn the_pictures_of_the_lines_shown_follow() {
    let mut bench = Bench::new();
    let picture = STANDARD.encode(png(30, 20));
    // Written in lines, as some programs do.
    let lines = format!("{}\n{}\n", &picture[..20], &picture[20..]);
    let mut cells = vec![drawn("AAAA"), drawn(&lines)];
    cells.resize(7, drawn(&picture));
    bench.file("n.ipynb", notebook(&json!(cells)));
    let output = bench
        .call("read", json!({ "path": "n.ipynb", "limit": 6 }))
        .await;
    let text = said(&output);
    assert!(
        text.contains("--- cell 2 showed a picture (image/png) ---"),
        "{text}"
    );
    assert!(
        text.contains("[the picture of line 3 is no picture; "),
        "{text}"
    );
    assert!(
        text.contains("[the picture of line 6 (PNG, 30x20) follows]"),
        "{text}"
    );
    assert_eq!(output.images.len(), 1);
    assert_eq!(output.images[0].data, picture);
    let output = bench
        .call("read", json!({ "path": "n.ipynb", "offset": 4 }))
        .await;
    let text = said(&output);
    let more = "[the picture of line 18 and those after it are not shown; read on from there with offset 18]";
    assert!(text.contains(more), "{text}");
    assert_eq!(output.images.len(), 4);
    bench.takes_images = false;
    let output = bench.call("read", json!({ "path": "n.ipynb" })).await;
    assert!(said(&output).contains("[pictures are not shown: this model takes none]"));
    assert!(output.images.is_empty());
}

#[tokio::test]
async fn what_is_no_notebook_of_today_is_text() {
    let bench = Bench::new();
    for text in ["{}", "no JSON", r#"{"nbformat": 3, "cells": []}"#] {
        bench.file("n.ipynb", text);
        let want = format!("     1\t{text}\n");
        assert_eq!(bench.good("read", json!({ "path": "n.ipynb" })).await, want);
    }
    bench.file("n.ipynb", notebook(&json!([])));
    let want = format!("     1\t--- no cells ---\n{NOTE}");
    assert_eq!(bench.good("read", json!({ "path": "n.ipynb" })).await, want);
}

#[tokio::test]
async fn a_notebook_that_was_read_is_edited_as_the_json_that_it_is() {
    let bench = Bench::new();
    let cells = json!([{ "cell_type": "markdown", "metadata": {}, "source": "old words" }]);
    let path = bench.file("n.ipynb", notebook(&cells));
    bench.good("read", json!({ "path": "n.ipynb" })).await;
    let edit =
        json!({ "path": "n.ipynb", "old_text": r#""old words""#, "new_text": r#""new words""# });
    let text = bench.good("edit", edit).await;
    assert!(!text.contains("had changed"), "{text}");
    let text = bench.good("read", json!({ "path": "n.ipynb" })).await;
    assert!(text.contains("     2\tnew words\n"), "{text}");
    std::fs::write(&path, "{}").unwrap();
    let write = json!({ "path": "n.ipynb", "content": notebook(&cells) });
    let message = bench.bad("write", write).await;
    assert!(message.contains("changed"), "{message}");
}
