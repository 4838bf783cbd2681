//! Summaries of recorded sessions, whole. With `UPDATE_GOLDENS=1` they are written anew; read the
//! difference before you keep it.

use std::fs;

use super::*;

/// Summarizes the first `rows` rows of a session.
fn check(session_name: &str, rows: Option<usize>, golden: &str) {
    let entries = session(session_name);
    let rows = rows.unwrap_or(entries.len());
    let cwd = format!("/home/dev/{session_name}");
    let told = summary(&entries[..rows], 0, None, 0, &cwd);
    assert!(told.len() <= LONGEST);
    let path = folder().join("summaries").join(format!("{golden}.md"));
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&path, &told).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap();
    assert_eq!(
        told, wanted,
        "{golden}.md is not what the session gives now"
    );
}

#[test]
fn a_rust_crate_that_does_not_compile() {
    check("ledger", Some(11), "ledger-broken");
}

#[test]
fn a_rust_crate_whose_tests_and_lints_fail() {
    check("ledger", Some(20), "ledger-failing");
}

#[test]
fn a_rust_crate_that_was_mended_and_breaks_again() {
    check("ledger", None, "ledger");
}

#[test]
fn a_script_with_wrong_types_lints_and_tests() {
    check("cart", Some(23), "cart-failing");
}

#[test]
fn a_script_that_was_mended() {
    check("cart", None, "cart");
}

#[test]
fn python_and_c() {
    check("stats", None, "stats");
}
