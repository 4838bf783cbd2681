use super::*;

/// Findings in short: `tag path:line message`, with a `?` before what is only a warning.
fn told(command: &str, output: &str) -> Vec<String> {
    let told = findings(command, output).into_iter().map(|finding| {
        let mark = match finding.severity {
            Severity::Error => "",
            _ => "?",
        };
        let path = finding.path.map(|path| format!(" {path}"));
        let line = finding.line.map(|line| format!(":{line}"));
        format!(
            "{mark}{}{}{} {}",
            finding.tag,
            path.unwrap_or_default(),
            line.unwrap_or_default(),
            finding.message
        )
    });
    told.collect()
}

fn check(command: &str, output: &str, want: &[&str]) {
    assert_eq!(told(command, output), want, "{command}");
}

#[test]
fn go_says_where() {
    check(
        "go build ./...",
        "# example.org/shop/cart\ncart/cart.go:12:2: undefined: total\ncart/cart.go:20:9: cannot use x (variable of type int) as string value in return statement\n",
        &[
            "go cart/cart.go:12 undefined: total",
            "go cart/cart.go:20 cannot use x (variable of type int) as string value in return statement",
        ],
    );
    check(
        "go vet ./...",
        "# example.org/shop/cart\nvet: cart/cart.go:8:14: fmt.Printf format %d has arg s of wrong type string\n",
        &["go vet cart/cart.go:8 fmt.Printf format %d has arg s of wrong type string"],
    );
    check(
        "go test ./...",
        "--- FAIL: TestTotal (0.00s)\n    cart_test.go:17: got 3, want 4\n    cart_test.go:18: and more\nFAIL\nFAIL\texample.org/shop/cart\t0.004s\n",
        &["go test cart_test.go:17 TestTotal: got 3, want 4"],
    );
}

#[test]
fn compilers_and_linters_say_where() {
    check(
        "npx tsc --pretty",
        "src/a.ts:3:7 - error TS2322: Type 'string' is not assignable to type 'number'.\n\n3 const a: number = 'x';\n        ~\n\nFound 1 error in src/a.ts:3\n",
        &["tsc src/a.ts:3 TS2322: Type 'string' is not assignable to type 'number'."],
    );
    check(
        "make",
        "clang -c a.c\na.c:1:10: fatal error: 'missing.h' file not found\n    1 | #include \"missing.h\"\n1 error generated.\nmake: *** [Makefile:2: a.o] Error 1\n",
        &["cc a.c:1 'missing.h' file not found"],
    );
    check(
        "npx eslint .",
        "/p/src/a.js\n  1:1  warning  Unexpected console statement  no-console\n  2:5  error    Parsing error: Unexpected token\n\n/p/src/b.js\n  7:3  error  'x' is not defined  no-undef\n\n✖ 3 problems (2 errors, 1 warning)\n",
        &[
            "?eslint /p/src/a.js:1 Unexpected console statement (no-console)",
            "eslint /p/src/a.js:2 Parsing error: Unexpected token",
            "eslint /p/src/b.js:7 'x' is not defined (no-undef)",
        ],
    );
    check(
        "cargo build",
        "warning: unused variable: `x`\n --> src/a.rs:2:9\n  |\n2 |     let x = 1;\n  |         ^ help: if this is intentional, prefix it with an underscore: `_x`\n\nwarning: `a` (lib) generated 1 warning\n",
        &[
            "?rustc src/a.rs:2 unused variable: `x`: help: if this is intentional, prefix it with an underscore: `_x`",
        ],
    );
    check(
        "cargo build",
        "error: no matching package named `serd` found\nlocation searched: crates.io index\n",
        &["rustc no matching package named `serd` found"],
    );
    check(
        "git checkout x",
        "error: pathspec 'x' did not match any file(s) known to git\n",
        &[],
    );
}

#[test]
fn test_runners_say_what_failed_and_why() {
    check(
        "cargo nextest run",
        "        PASS [   0.004s] (1/2) shop cart::adds\n        FAIL [   0.005s] (2/2) shop cart::subtracts\n",
        &["test cart::subtracts"],
    );
    check(
        "cargo test",
        "test cart::adds ... FAILED\n\nfailures:\n\n---- cart::adds stdout ----\nthread 'cart::adds' panicked at src/cart.rs:9:5:\nwrong sum\nnote: run with `RUST_BACKTRACE=1`\n\n\nfailures:\n    cart::adds\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
        &[
            "test src/cart.rs:9 cart::adds: wrong sum",
            "?tests 0 passed; 1 failed",
        ],
    );
    check(
        "python -m unittest",
        "F\n======================================================================\nFAIL: test_sum (test_a.Sums.test_sum)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/p/test_a.py\", line 6, in test_sum\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n",
        &["unittest /p/test_a.py:6 test_a.Sums.test_sum.test_sum: AssertionError: 1 != 2"],
    );
    check(
        "pytest",
        "=========================== short test summary info ============================\nERROR test_b.py - ModuleNotFoundError: No module named 'b'\nFAILED tests/test_a.py::TestA::test_x[1-2] - assert 1 == 2\n=============== 1 failed, 3 passed, 1 error in 0.10s ===============\n",
        &[
            "pytest test_b.py collection: ModuleNotFoundError: No module named 'b'",
            "pytest tests/test_a.py TestA::test_x[1-2]: assert 1 == 2",
            "?tests 1 failed, 3 passed, 1 error",
        ],
    );
}

#[test]
fn the_middle_of_a_long_output_is_not_read() {
    let noise = "ok\n".repeat(100_000);
    let output = format!("a.go:1:1: first\n{noise}a.go:2:2: middle\n{noise}a.go:3:3: last\n");
    check("go build", &output, &["go a.go:1 first", "go a.go:3 last"]);
}

#[test]
fn paths_mean_one_file_when_one_ends_with_the_other() {
    let check = |a: &str, b: &str, want: bool| assert_eq!(same_file(a, b), want, "{a} {b}");
    check("src/a.rs", "./src/a.rs", true);
    check("/p/src/a.rs", "src/a.rs", true);
    check("a.rs", "src/a.rs", true);
    check("a.rs", "src/ba.rs", false);
    check("", "src/a.rs", false);
}
