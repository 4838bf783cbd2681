use super::*;

fn bash(command: &str, output: &str, exit_code: Option<i32>) -> NormalizedBlock {
    NormalizedBlock::Bash {
        command: command.to_owned(),
        output: output.to_owned(),
        exit_code,
    }
}

fn tool(name: &str, path: &str, answer: Result<&str, &str>) -> [NormalizedBlock; 2] {
    let call = NormalizedBlock::ToolCall {
        name: name.to_owned(),
        args: [("path".to_owned(), path.into())].into_iter().collect(),
    };
    let result = NormalizedBlock::ToolResult {
        name: name.to_owned(),
        text: answer.unwrap_or_else(|error| error).to_owned(),
        is_error: answer.is_err(),
    };
    [call, result]
}

fn check(blocks: &[NormalizedBlock], want: &[&str]) {
    let told = OutstandingContext.extract(blocks, &ExtractorContext::default());
    assert_eq!(told, want);
}

const BROKEN: &str = "src/a.ts(3,1): error TS1: wrong\nsrc/b.ts(4,1): error TS2: worse\n";

#[test]
fn an_error_stays_until_its_file_is_changed_or_its_command_succeeds() {
    let failed = bash("npx tsc", BROKEN, Some(2));
    let edit = tool("edit", "/p/src/a.ts", Ok("edited"));
    let blocks = [std::slice::from_ref(&failed), &edit].concat();
    check(
        &blocks,
        &[
            "[ERROR] [tsc] src/b.ts:4: TS2: worse",
            "[RESOLVED] [tsc] src/a.ts:3: TS1: wrong (its file was changed since)",
        ],
    );
    let good = bash("cd web && npx tsc 2>&1 | tail -5", "", Some(0));
    let blocks = [&blocks[..], &[good]].concat();
    check(
        &blocks,
        &["[RESOLVED] [tsc] src/a.ts:3: TS1: wrong (and 1 more) (it succeeded since)"],
    );
    let refused = tool("edit", "src/a.ts", Err("old_text is not in src/a.ts"));
    let blocks = [std::slice::from_ref(&failed), &refused].concat();
    check(
        &blocks,
        &[
            "[ERROR] [tsc] src/a.ts:3: TS1: wrong",
            "[ERROR] [tsc] src/b.ts:4: TS2: worse",
            "[ERROR] [edit] src/a.ts: old_text is not in src/a.ts",
        ],
    );
}

#[test]
fn a_later_run_of_the_command_says_what_is_still_wrong() {
    let blocks = [
        bash("npx tsc", BROKEN, Some(2)),
        bash("npx tsc 2>&1", "src/b.ts(9,1): error TS2: worse\n", Some(2)),
    ];
    check(&blocks, &["[ERROR] [tsc] src/b.ts:9: TS2: worse"]);
}

#[test]
fn a_pipe_does_not_hide_an_error_and_a_search_is_none() {
    let blocks = [
        bash(
            "npx tsc | head -1",
            "src/a.ts(3,1): error TS1: wrong\n",
            Some(0),
        ),
        bash(
            "grep -rn 'error TS' logs",
            "log:1:src/a.ts(3,1): error TS9: old\n",
            Some(0),
        ),
        bash("cat log", "src/a.ts(3,1): error TS9: old\n", Some(0)),
        bash("rg nothing", "", Some(1)),
        bash("git diff --quiet", "", Some(1)),
    ];
    check(
        &blocks,
        &[
            "[ERROR] [tsc] src/a.ts:3: TS1: wrong",
            "[INFO] [no matches] rg nothing",
            "[INFO] [bash:exit 1] git diff --quiet",
        ],
    );
}

#[test]
fn what_ended_otherwise_is_told() {
    let blocks = [
        bash(
            "sleep 9",
            "[timed out after 1 s; everything was ended]",
            None,
        ),
        bash("./deploy", "", None),
        tool("write", "a", Err("the person denied this call"))[1].clone(),
    ];
    check(
        &blocks,
        &[
            "[ERROR] [bash:timeout] `sleep 9` [timed out after 1 s; everything was ended]",
            "[ERROR] [bash:no exit code] `./deploy` printed nothing",
            "[WARN] [denied] write: the person denied this call",
        ],
    );
}

#[test]
fn many_errors_of_one_run_are_counted_and_old_ones_forgotten() {
    let many: String = (0..30)
        .map(|line| format!("a.go:{line}:1: bad {line}\n"))
        .collect();
    let failed = bash("go build", &many, Some(1));
    let told =
        OutstandingContext.extract(std::slice::from_ref(&failed), &ExtractorContext::default());
    assert_eq!(told.len(), 8);
    assert_eq!(
        told[7],
        "[ERROR] [go] a.go:7: bad 7 (and 22 more of this run)"
    );
    let mut blocks = vec![failed];
    blocks.extend((0..25).map(|at| bash(&format!("echo {at}"), "", Some(0))));
    check(&blocks, &[]);
}
