use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;

/// A line's commands, one word after the other: `◌` is a hole, `~` a mere wrapper, `?` a maybe.
fn shown(line: &str) -> String {
    let found = analyze(line);
    let word = |word: &Word| {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Hole => "◌".to_owned(),
        };
        word.pieces().iter().map(piece).collect::<String>()
    };
    let command = |command: &Simple| {
        let mark = match command.role {
            Role::Runs => "",
            Role::Wraps => "~",
            Role::Perhaps => "?",
        };
        let words: Vec<String> = command.words.iter().map(word).collect();
        format!("{mark}{}", words.join("_"))
    };
    let mut parts: Vec<String> = found.commands.iter().map(command).collect();
    parts.extend(
        found
            .writes
            .iter()
            .map(|target| format!(">{}", word(target))),
    );
    parts.extend(
        found
            .reads
            .iter()
            .map(|source| format!("<{}", word(source))),
    );
    parts.extend(found.assigns.then(|| "assigns".to_owned()));
    parts.extend(found.unparsable.then(|| "unparsable".to_owned()));
    parts.join(" / ")
}

fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(line, want)| shown(line) != *want)
        .map(|(line, want)| format!("{line:?}\n  want {want}\n  got  {}", shown(line)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_way_to_join_commands_shows_them_all() {
    check(&[
        ("git status", "git_status"),
        ("a && b", "a / b"),
        ("a || b", "a / b"),
        ("a ; b", "a / b"),
        ("a;b", "a / b"),
        ("a | b", "a / b"),
        ("a |& b", "a / b"),
        ("a & b", "a / b"),
        ("a &", "a"),
        ("a\nb", "a / b"),
        ("a\n\n  b  ", "a / b"),
        ("(a; b)", "a / b"),
        ("{ a; b; }", "a / b"),
        ("! a", "a"),
        (
            "if a; then b; elif c; then d; else e; fi",
            "a / b / c / d / e",
        ),
        ("while a; do b; done", "a / b"),
        ("until a; do b; done", "a / b"),
        ("for x in 1 2; do b $x; done", "b_◌ / assigns"),
        ("for PATH in /tmp; do git; done", "git / assigns"),
        ("case x in a) b;; *) c;; esac", "b / c"),
        ("f() { a; }; f", "a / f / assigns"),
        ("function f { a; }", "a / assigns"),
        ("cd sub && git push", "cd_sub / git_push"),
        ("a # ; b", "a"),
        ("# a\nb", "b"),
        ("", ""),
        ("# only words", ""),
        ("a;\nb;\n", "a / b"),
        ("a && # why\n\n b", "a / b"),
        ("a |\nb", "a / b"),
        ("a &\nb &", "a / b"),
        ("a &&! b", "a / b"),
        ("case x in a)\n b\n ;;\n *) esac", "b"),
        ("if a\nthen\n b\nelse\n c\nfi", "a / b / c"),
        ("(a\n b\n)", "a / b"),
        ("f() {\n a\n}\nf", "a / f / assigns"),
        ("while a\ndo\n # b\n c\ndone", "a / c"),
    ]);
}

#[test]
fn what_hides_in_words_is_found() {
    check(&[
        ("echo $(rm f)", "echo_◌ / rm_f"),
        ("echo `rm f`", "echo_◌ / rm_f"),
        ("echo \"$(rm f)\"", "echo_◌ / rm_f"),
        ("echo \"a `rm f` b\"", "echo_a ◌ b / rm_f"),
        ("echo a$(rm f)b", "echo_a◌b / rm_f"),
        ("cat <(rm f)", "cat_◌ / rm_f"),
        ("cat >(rm f)", "cat_◌ / rm_f"),
        ("cat < <(rm f)", "cat / rm_f / <◌"),
        ("cat <<< $(rm f)", "cat / rm_f"),
        (
            "X=$(touch f) npm --version",
            "npm_--version / touch_f / assigns",
        ),
        ("X=1 npm", "npm / assigns"),
        ("X=1", "assigns"),
        ("X=(a $(rm f))", "rm_f / assigns"),
        ("X=1 Y=2", "assigns"),
        ("export X=$(rm f)", "export / rm_f / assigns"),
        ("echo ${X:-$(rm f)}", "echo_◌ / rm_f"),
        ("echo ${X:=y}", "echo_◌ / assigns"),
        ("echo \"${X:-`rm f`}\"", "echo_◌ / unparsable"),
        ("echo $((1 + $(rm f)))", "echo_◌ / rm_f / unparsable"),
        ("echo $((X=1))", "echo_◌ / assigns"),
        ("((X++))", "unparsable"),
        ("[ -f \"$(rm f)\" ]", "[_◌ / rm_f"),
        ("[[ -f x ]] && a", "[[_◌ / a"),
        ("case $(rm f) in x) a;; esac", "rm_f / a"),
        ("for x in $(rm f); do a; done", "rm_f / a / assigns"),
        ("echo $(echo $(rm f))", "echo_◌ / echo_◌ / rm_f"),
        ("cat <<E\n$(rm f)\nE\n", "cat / rm_f"),
        ("cat <<E\n`rm f`\nE\n", "cat / unparsable"),
        ("cat <<'E'\n$(rm f)\nE\n", "cat"),
        ("cat <<-E\n\ttext\n\tE\n", "cat"),
        ("cat <<E | b\ntext\nE\n", "cat / b"),
        ("cat <<E && b\ntext\nE\n", "cat / b"),
        ("cat <<E > f\ntext\nE\n", "cat / >f"),
        ("cat <<E\ntext\nE\nrm f", "cat / rm_f"),
    ]);
}

#[test]
fn quotes_are_taken_off_as_bash_does() {
    check(&[
        ("g\"i\"t st'at'us", "git_status"),
        ("\\git status", "git_status"),
        ("$'git' status", "git_status"),
        ("$'\\x67it' x", "git_x"),
        ("git 'a b'", "git_a b"),
        ("git \"a  $X  b\"", "git_a  ◌  b"),
        ("git \" a\"", "git_ a"),
        ("git \"a\nb\"", "git_a\nb"),
        ("git \"\\$(x) \\\" \\n\"", "git_$(x) \" \\n"),
        ("git ''", "git_"),
        ("git a\\ b", "git_a b"),
        ("git a\\;b", "git_a;b"),
        ("git *.rs ~/x {a,b} a?b [ab]", "git_◌.rs_◌/x_◌a,b◌_a◌b_◌ab]"),
        ("git '*' \"~\" \\*", "git_*_~_*"),
        ("git a~b --x=~/y", "git_a~b_--x=◌/y"),
        ("git {1..3}", "git_◌"),
        ("git {} x{}y", "git_{}_x{}y"),
        ("git 100 -5 16#ff", "git_100_-5_16#ff"),
        ("git a#b", "git_a#b"),
        ("écho grün \"漢字\" '🙂' \\é", "écho_grün_漢字_🙂_é"),
        ("é=1 rm", "rm / assigns / unparsable"),
        ("$X status", "◌_status"),
        ("${X}it status", "◌it_status"),
        ("$(echo rm) f", "◌_f / echo_rm"),
        ("{rm,-rf,x}", "unparsable"),
        ("echo \"x\"#; rm f", "echo_x# / rm_f"),
        ("git \"cost: 5$\"", "git_cost: 5$"),
        ("git status \\\n  --short", "git_status_--short"),
        ("./git status", "./git_status"),
    ]);
}

#[test]
fn redirections_onto_files_are_seen_and_nothing_is_nothing() {
    check(&[
        ("a > f", "a / >f"),
        ("a >> f", "a / >f"),
        ("a >| f", "a / >f"),
        ("a &> f", "a / >f"),
        ("a &>> f", "a / >f"),
        ("a >& f", "a / >f"),
        ("a 2> f", "a / >f"),
        ("> f", ">f"),
        ("> f a", "a / >f"),
        ("a > \"$X\"", "a / >◌"),
        ("a > $(rm f)", "a / rm_f / >◌"),
        ("(a) > f", "a / >f"),
        ("{ a; } > f", "a / >f"),
        ("if a; then b; fi > f", "a / b / >f"),
        ("a > /dev/null", "a"),
        ("a > /dev/null 2>&1", "a"),
        ("a 2>/dev/null | b", "a / b"),
        ("a &> /dev/null", "a"),
        ("a 2>&1", "a"),
        ("a >&2", "a"),
        ("a 2>&-", "a"),
        ("a < f", "a / <f"),
        ("a < /dev/null", "a"),
        ("a < /dev/tcp/h/1", "a / >/dev/tcp/h/1"),
        ("a > /dev/null2", "a / >/dev/null2"),
        ("a > /dev/null/../x", "a / >/dev/null/../x"),
        ("f() { a; } > g", "a / >g / assigns"),
        ("> f a b", "a_b / >f"),
        ("2> f a; b", "a / b / >f"),
        ("> f export X", "export_X / >f / assigns"),
        ("a2>f", "a2 / >f"),
        ("a 2>f", "a / >f"),
        ("a 3<f", "a / <f"),
        ("a >f 2>g", "a / >f / >g"),
        ("a 1>&2 3>&-", "a"),
    ]);
}

#[test]
fn wrappers_show_what_they_run() {
    check(&[
        ("timeout 5 rm f", "~timeout_5_rm_f / rm_f"),
        (
            "timeout -k 2 -s KILL 5 rm f",
            "~timeout_-k_2_-s_KILL_5_rm_f / rm_f",
        ),
        (
            "timeout --signal=KILL 5 rm",
            "~timeout_--signal=KILL_5_rm / rm",
        ),
        ("nice rm f", "~nice_rm_f / rm_f"),
        ("nice -n 5 rm f", "~nice_-n_5_rm_f / rm_f"),
        ("nice -5 rm f", "~nice_-5_rm_f / rm_f"),
        ("nohup rm f", "~nohup_rm_f / rm_f"),
        ("time rm f", "~time_rm_f / rm_f"),
        ("time X=1 rm f", "~time_X=1_rm_f / rm_f / assigns"),
        ("command rm f", "~command_rm_f / rm_f"),
        ("command -v rm", "command_-v_rm"),
        ("/usr/bin/timeout 5 rm f", "~/usr/bin/timeout_5_rm_f / rm_f"),
        (
            "./timeout 5 rm f",
            "./timeout_5_rm_f / ?5_rm_f / ?rm_f / ?f",
        ),
        ("env rm f", "~env_rm_f / rm_f"),
        ("env A=1 rm f", "env_A=1_rm_f / rm_f"),
        ("env -i rm f", "env_-i_rm_f / rm_f"),
        ("env", "env"),
        ("xargs rm", "~xargs_rm / rm_◌"),
        ("xargs", "~xargs / echo_◌"),
        ("xargs -0 -n 1 rm -f", "~xargs_-0_-n_1_rm_-f / rm_-f_◌"),
        ("xargs -I{} rm {}", "~xargs_-I{}_rm_{} / rm_◌"),
        ("xargs -I X rm aXb", "~xargs_-I_X_rm_aXb / rm_a◌b"),
        ("find . -name x", "find_._-name_x"),
        ("find . -exec rm {} \\;", "~find_._-exec_rm_{}_; / rm_◌"),
        ("find . -exec rm {} +", "~find_._-exec_rm_{}_+ / rm_◌"),
        ("find . -exec a \\; -delete", "find_._-exec_a_;_-delete / a"),
        (
            "find . -exec a \\; -exec b \\;",
            "~find_._-exec_a_;_-exec_b_; / a / b",
        ),
        ("find $X -exec a \\;", "find_◌_-exec_a_; / a"),
        ("sh -c 'rm f; b'", "sh_-c_rm f; b / rm_f / b"),
        ("bash -lc 'rm f'", "bash_-lc_rm f / rm_f"),
        (
            "bash -o pipefail -c 'a | b'",
            "bash_-o_pipefail_-c_a | b / a / b",
        ),
        ("bash -c \"rm $X\"", "bash_-c_rm ◌ / unparsable"),
        ("bash x.sh -c y", "bash_x.sh_-c_y"),
        ("sh -c 'a > f'", "sh_-c_a > f / a / >f"),
        ("sh -c 'X=1 a'", "sh_-c_X=1 a / a / assigns"),
        (
            "env A=1 sh -c 'rm f'",
            "env_A=1_sh_-c_rm f / sh_-c_rm f / rm_f",
        ),
        ("sudo rm f", "sudo_rm_f / rm_f"),
        ("sudo -u root rm f", "sudo_-u_root_rm_f / rm_f"),
        ("su -c 'rm f'", "su_-c_rm f / rm_f"),
        ("eval rm f", "eval_rm_f / rm_f"),
        ("eval 'rm f; b'", "eval_rm f; b / rm_f / b"),
        ("eval $X", "eval_◌ / unparsable"),
        ("exec rm f", "exec_rm_f / rm_f"),
        ("trap 'rm f' EXIT", "trap_rm f_EXIT / rm_f"),
        ("setsid -f rm f", "setsid_-f_rm_f / ?-f_rm_f / ?rm_f / ?f"),
        (
            "timeout 5 nice sudo sh -c 'rm f'",
            "~timeout_5_nice_sudo_sh_-c_rm f / ~nice_sudo_sh_-c_rm f / sudo_sh_-c_rm f / sh_-c_rm f / rm_f",
        ),
    ]);
}

#[test]
fn shells_show_what_they_read() {
    check(&[
        ("bash <<< 'rm f'", "bash / rm_f"),
        ("bash <<E\nrm f\nE\n", "bash / rm_f"),
        ("bash -s <<'E'\nrm $X\nE\n", "bash_-s / rm_◌"),
        ("bash <<< \"rm $X\"", "bash / ?◌"),
        ("bash <<< 'sh <<< \"rm f\"'", "bash / sh / rm_f"),
        ("cat <<< 'rm f'", "cat"),
        ("echo rm f | bash", "echo_rm_f / bash / ?◌"),
        ("sudo sh < x", "sudo_sh / sh / ?◌ / <x"),
        ("setsid bash <<< 'rm f'", "setsid_bash / ?bash / rm_f"),
        ("bash /dev/stdin <<< 'rm f'", "bash_/dev/stdin / rm_f"),
        ("bash x.sh <<< 'rm f'", "bash_x.sh"),
        ("python3 - <<'E'\nprint()\nE\n", "python3_-"),
        (
            "git commit -F - <<'E' && b\na - <<F\nE\n",
            "git_commit_-F_- / b",
        ),
        ("bash - <<E\nrm f\nE\n", "bash_- / rm_f"),
        ("source x", "source_x / ?◌"),
        (". <(echo rm f)", "._◌ / ?◌ / echo_rm_f"),
    ]);
}

#[test]
fn what_bash_may_read_otherwise_is_not_understood() {
    for line in [
        "echo \"unterminated",
        "echo 'unterminated",
        "echo $(unterminated",
        "if a; then b",
        "a &&",
        "git st\\\natus",
        "a ||bad==[ ``\nbad",
        "a *<<<$\nbad",
        ">[\\; bad",
        "X=1  `` bad",
        "echo $'a\\\\' ; rm f ; echo '",
        "echo \"${X:-'}\"; rm f; echo \"'}\"",
        "echo `echo '`' ; rm f; echo '`'",
        "echo `echo \\`rm f\\``",
        "git\u{a0}status",
        "git status\r\nrm f",
        "git \u{b}status",
        "cat <<E\n\\\nE\nrm f\nE\n",
        "cat <<E\nEx\nrm f\nE",
        "cat <<A <<B\nA\nB\n",
        "cat <<E",
        "a > /dev/null b",
        "echo =~ a;b",
        "a (b)",
        "time if a; then b; fi",
        "coproc rm f",
        "then rm f",
        "else() { a; }",
        "function then { a; }",
        "! { rm f; }",
        "$ rm f",
        "git p$$ x",
        "X=1 Y=2 -A=1 | b",
        "X=1 Y=2 -A[0]=1 | b",
        "env -S 'rm f'",
        "timeout $X rm f",
        "timeout --wat 5 rm f",
        "xargs --process-slot-var=PATH rm",
        "nice -$X rm",
        "echo ${X@P}",
        "echo $((a[$(rm f)]))",
        "echo $(( 'a' ))",
        "sh -c",
        "bash -oc pipefail 'rm f'",
        "zsh -c 'rm f'",
        "bash $X",
        "a {x}>f",
        "a\0b",
        &format!("echo {}", "x".repeat(MAX_LINE)),
        &format!("{}a{}", "(".repeat(200), ")".repeat(200)),
        &format!("{}a{}", "$(".repeat(100), ")".repeat(100)),
        &format!("{}a", "nice ".repeat(20)),
        &format!("a{}", ";a".repeat(MAX_COMMANDS + 1)),
    ] {
        assert!(analyze(line).unparsable, "{line:?}: {}", shown(line));
    }
}

#[test]
fn tokens_that_bash_reads_otherwise_are_not_understood() {
    for line in [
        "&>> h>*> source h>&T",
        "a && &>> h>*> source h>&T",
        "> f a > g",
        "> f X=1 a 2>&1",
        "> f a <<< b",
        "rm -f2>g",
        "rm -f<<E\nE\n",
        "a 0<f",
        "a >2>f",
        "a <>f",
        "a<>(b)",
        "a >& -b",
        "a;&>f",
        "a;;",
        "a;; b",
        "a\n& b",
        "a\n; b",
        "a\n\\\n&& b",
        "a | ! b",
        "time",
        "time && a",
        "{ }",
        "for x in 1; do done",
        "if a; then fi",
        "case x in a) b esac",
        "case x in-a) b;; esac",
        "select x in-a b; do c; done",
        "f{ a; }",
        "function f{ a; }",
        "a ]\\\nb",
        "cat <<< $'a\\\\' ; rm f ; echo '",
        "X=$'a\\\\' ; rm f ; echo '",
        "[ a > b ]",
        "[ a < b ]",
        "[ a -a ( b ) ]",
        "[[ a == b & -n c ]]",
        "[[ a == -n c ]]",
        "[[ a b ]]",
        "[[ a ==b ]]",
        "[[ a =~b ]]",
        "[[ (a)b ]]",
        "[[ -f ]]",
        "[[ ]]",
    ] {
        assert!(analyze(line).unparsable, "{line:?}: {}", shown(line));
    }
}

#[test]
fn words_that_builtins_evaluate_are_not_understood() {
    for line in [
        "test -v 'a[$(rm f)]'",
        "test -v \"$X\"",
        "test \"$X\" 'a[$(rm f)]'",
        "test $X = y",
        "test 'a[$(rm f)]' -eq 0",
        "test ! -v 'a[$(rm f)]'",
        "test x = y -a -v 'a[0]'",
        "[ -v 'a[$(rm f)]' ]",
        "[ 'a[$(rm f)]' -eq 0 ]",
        "[ $X ]",
        "command [ -v 'a[$(rm f)]' ]",
        "builtin test -v 'a[$(rm f)]'",
        "[[ -v 'a[$(rm f)]' ]]",
        "[[ -v a[$X] ]]",
        "[[ a == b && -v 'a[$(rm f)]' ]]",
        "[[ x -eq 1 ]]",
        "[[ $X -gt 1 ]]",
        "[[ 1 -lt \"$X\" ]]",
        "[[ ! ( 'a[$(rm f)]' -eq 1 ) ]]",
        "printf -v 'a[$(rm f)]' x",
        "printf '-va[$(rm f)]' x",
        "printf \"$X\" 'a[$(rm f)]' x",
        "read 'a[$(rm f)]' <<< x",
        "read -r $X",
        "mapfile -C 'rm f;' -c 1 x",
        "readarray -c1 -C 'rm f;' x",
        "mapfile 'a[$(rm f)]'",
        "compgen -C 'rm f'",
        "compgen -W '$(rm f)'",
        "complete -C 'rm f' x",
        "declare 'a[$(rm f)]=1'",
        "declare -i X='a[$(rm f)]'",
        "declare -n X='a[$(rm f)]'",
        "declare -a 'X=($(rm f))'",
        "typeset \"$X\"",
        "local 'a[$(rm f)]=1'",
        "export 'a[$(rm f)]=1'",
        "readonly 'a[$(rm f)]=1'",
        "unset 'a[$(rm f)]'",
        "unset $X",
        "let 'a[$(rm f)]'",
        "let X=Y",
        "wait -p 'a[$(rm f)]' -n",
        "getopts ab 'a[$(rm f)]'",
        "bind -x '\"x\": rm f'",
        "bind '\"x\": rm f'",
        "enable -f ./x.so x",
        "enable -n test",
        "fc -s rm",
        "jobs -x rm f",
        "shopt -s expand_aliases",
        "alias x=rm",
        "hash -p /usr/bin/rm x",
        "/usr/bin/../bin/bash -c 'rm f'",
        "set -k",
        "set -o posix",
        "set $X",
        "echo $((X))",
        "echo $(($X))",
        "echo $[X]",
        "X='a[$(rm f)]'; echo $((X))",
        "for ((i = X; i < 3; i++)); do a; done",
        "echo ${a[$X]}",
        "echo ${a[X]}",
        "echo ${#a[X]}",
        "echo ${X:Y}",
        "echo ${X:$Y:1}",
        "echo ${!X}",
        "a[X]=1",
        "a=([X]=1)",
    ] {
        assert!(analyze(line).unparsable, "{line:?}: {}", shown(line));
    }
}

#[test]
fn builtins_with_plain_words_are_understood() {
    for line in [
        "test -f x",
        "test -z \"$X\"",
        "test -v X",
        "[ -d src ] && a",
        "[ \"$X\" = y ]",
        "[ \"$X\" = y -o ! -e z ]",
        "[ $? -eq 0 ]",
        "[ \"$X\" -gt 3 ]",
        "[[ -f x ]] && a",
        "[[ $X == y* ]]",
        "[[ $X =~ ^[a-z]+ ]]",
        "[[ $X =~ ^[0-9]+$ ]]",
        "[[ $# -lt 2 || -v X ]]",
        "[[ ! -e x && ( a == b || c != d ) ]]",
        "[[ a < b ]]",
        "[[ a<b&&(c) ]]",
        "[ ! -e a ] || b",
        "[[ $X ]]",
        "printf '%s\\n' \"$X\"",
        "printf '[%s]' $X",
        "printf -v X %s y",
        "while read -r line; do a; done",
        "mapfile -t X",
        "declare -x X=1",
        "export PATH=\"$PATH:/x\"",
        "unset X",
        "wait",
        "wait $!",
        "set -euo pipefail",
        "set -- a b",
        "shopt -u x",
        "jobs -p",
        "echo $((1 + 2 * 0x1f))",
        "echo $((X=1))",
        "echo ${a[0]} ${a[@]} ${#a[*]}",
        "echo ${X:1:2} ${X:-y} ${X%.*} ${#X}",
        "a[0]=1",
        "a=(x y)",
    ] {
        assert!(!analyze(line).unparsable, "{line:?}: {}", shown(line));
    }
}

#[test]
fn builtins_that_set_variables_assign() {
    for line in [
        "read PATH <<< x",
        "printf -v PATH x",
        "mapfile PATH",
        "getopts a PATH",
        "unset PATH",
        "command export PATH=x",
        "builtin declare PATH=x",
    ] {
        assert!(analyze(line).assigns, "{line:?}");
    }
}

#[test]
fn hard_lines_are_read_in_good_time() {
    let start = std::time::Instant::now();
    for piece in [
        "(", "$(", "{ ", "a|", "\"$(", "`", "<<E ", "${a", "if ", "[[ ", "((", "a=(", "'",
    ] {
        for count in [50, 500, 1000, 2000, MAX_LINE / piece.len()] {
            let _ = analyze(&piece.repeat(count));
        }
        println!("{piece:?} {:?}", start.elapsed());
    }
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

/// What bash says about a line when it only reads it.
fn complaint(line: &str) -> String {
    let mut bash = Command::new("bash")
        .args(["--norc", "-n"])
        .env_remove("BASH_ENV")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    bash.stdin
        .take()
        .unwrap()
        .write_all(line.as_bytes())
        .unwrap();
    let output = bash.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn bash_takes_what_is_understood() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus/shell");
    let mut wrong = String::new();
    let mut count = 0;
    for entry in std::fs::read_dir(corpus).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        let text = String::from_utf8_lossy(&text);
        for line in text.split('\x0c').filter(|line| !analyze(line).unparsable) {
            let said = complaint(line);
            if !said.is_empty() {
                wrong += &format!("{line:?}: {said}");
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 100, "only {count} lines are understood");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(line in "\\PC*") {
        let _ = analyze(&line);
    }

    #[test]
    fn no_shell_like_text_makes_it_panic(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "a", " ", "\n", "'", "\"", "`", "$", "$(", ")", "(", "{", "}", "<", ">", "<<E\n",
                "E\n", "&", "|", ";", "#", "\\", "=", "X=", "if ", "then ", "fi", "do ", "done",
                "for x in ", "[[ ", "]]", "((", "))", "${", "*", "~", "-", "é", "漢", "🙂", "xargs ", "env ",
                "sh -c ", "find . -exec ", "eval ", "time ", "-I", "1", "2>", "&>", "!", "case ",
                "esac", ";;", "in ",
            ]),
            0..30,
        )
    ) {
        let _ = analyze(&parts.concat());
    }
}
