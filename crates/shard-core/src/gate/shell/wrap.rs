//! Programs that run other programs.
//!
//! Some say no more than "run this" and need no rule of their own; some change who or what runs
//! it and need one besides the rule for what they run. Of one that is not known in detail, every
//! tail of its arguments may be a command.

use super::word::{Piece, Word};
use super::{Analysis, Role, builtins, script};

/// Folders whose programs are what their bare name says.
pub(crate) const SYSTEM_FOLDERS: [&str; 3] = ["/bin/", "/usr/bin/", "/usr/local/bin/"];

/// How a wrapper's arguments are read.
struct Shape {
    /// Options that take a value, as the next word or attached.
    valued: &'static [&'static str],
    /// Options without a value.
    flags: &'static [&'static str],
    /// Words between the options and the command.
    operands: usize,
    /// Whether it needs a rule of its own.
    role: Role,
}

fn shape(name: &str) -> Option<Shape> {
    let shape = |valued, flags, operands, role| Shape {
        valued,
        flags,
        operands,
        role,
    };
    let (wraps, runs) = (Role::Wraps, Role::Runs);
    Some(match name {
        "timeout" => shape(
            &["-k", "--kill-after", "-s", "--signal"],
            &["--preserve-status", "--foreground", "-v", "--verbose"],
            1,
            wraps,
        ),
        "nice" => shape(&["-n", "--adjustment"], &[], 0, wraps),
        "nohup" => shape(&[], &[], 0, wraps),
        "time" => shape(&[], &["-p"], 0, wraps),
        "command" => shape(&[], &["-p"], 0, wraps),
        "builtin" => shape(&[], &[], 0, runs),
        "exec" => shape(&["-a"], &["-c", "-l", "-cl", "-lc"], 0, runs),
        "sudo" | "doas" => shape(
            &[
                "-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-D", "-R",
            ],
            &[
                "-n",
                "-E",
                "-H",
                "-S",
                "-k",
                "-b",
                "-A",
                "-P",
                "--non-interactive",
                "--set-home",
            ],
            0,
            runs,
        ),
        "busybox" | "toybox" => shape(&[], &[], 0, runs),
        _ => return None,
    })
}

/// Wrappers whose arguments are not known in detail.
const VAGUE: [&str; 34] = [
    "setsid",
    "stdbuf",
    "ionice",
    "chrt",
    "taskset",
    "flock",
    "watch",
    "parallel",
    "strace",
    "ltrace",
    "script",
    "unshare",
    "nsenter",
    "chroot",
    "systemd-run",
    "runuser",
    "pkexec",
    "setpriv",
    "prlimit",
    "unbuffer",
    "entr",
    "expect",
    "gdb",
    "valgrind",
    "perf",
    "firejail",
    "bwrap",
    "fakeroot",
    "numactl",
    "ssh-agent",
    "dbus-run-session",
    "xvfb-run",
    "coproc",
    "rlwrap",
];

/// Programs that run scripts of commands.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "ksh", "rbash", "zsh", "fish"];

/// Adds a command and what it runs in turn.
pub(super) fn add(words: Vec<Word>, level: usize, found: &mut Analysis) {
    let Some(first) = words.first() else { return };
    if level > super::MAX_SCRIPTS {
        found.unparsable = true;
        return;
    }
    let written = first.text().unwrap_or_default();
    builtins::judge(program(&written), &words[1..], found);
    match program(&written) {
        "env" => env(words, level, found),
        "xargs" => xargs(words, level, found),
        "find" => find(words, level, found),
        name if SHELLS.contains(&name) => shell(words, level, found),
        "su" => su(words, level, found),
        "source" | "." => {
            found.push(words, Role::Runs);
            found.push(vec![Word::hole()], Role::Perhaps);
        }
        "eval" => eval(words, level, found),
        "trap" => trap(words, level, found),
        "command" if asks_only(&words) => found.push(words, Role::Runs),
        // It is a keyword, behind which bash wants a command.
        "time" if words.len() == 1 => found.unparsable = true,
        name if VAGUE.contains(&name) => vague(words, 1, found),
        // Whether it is what it is called, only the file tells.
        name if name.contains('/') && runs_others(name.rsplit('/').next().unwrap_or_default()) => {
            vague(words, 1, found);
        }
        name => match shape(name) {
            Some(shape) => plain(words, &shape, level, found),
            None => found.push(words, Role::Runs),
        },
    }
}

/// A program's bare name when it lies in a system folder, else the name as written.
pub(crate) fn program(written: &str) -> &str {
    let bare = SYSTEM_FOLDERS
        .iter()
        .find_map(|folder| written.strip_prefix(folder));
    bare.filter(|bare| !bare.contains('/')).unwrap_or(written)
}

fn asks_only(words: &[Word]) -> bool {
    let option = words.get(1).and_then(Word::text);
    option.is_some_and(|option| matches!(option.as_str(), "-v" | "-V"))
}

/// Whether a program of this name runs what its words say.
pub(crate) fn runs_others(name: &str) -> bool {
    SHELLS.contains(&name)
        || VAGUE.contains(&name)
        || matches!(name, "env" | "xargs" | "find" | "su")
        || shape(name).is_some()
}

/// The wrapper itself and every tail of its arguments.
fn vague(words: Vec<Word>, from: usize, found: &mut Analysis) {
    let shell = |word: &Word| {
        let name = word.text().unwrap_or_default();
        SHELLS.contains(&name.rsplit('/').next().unwrap_or_default())
    };
    if words.iter().any(shell) {
        found.unparsable |= words.iter().any(|word| word.prefix().starts_with('-'));
        found.runs_input = true;
    }
    let tails: Vec<Vec<Word>> = (from..words.len())
        .take(16)
        .map(|at| words[at..].to_vec())
        .collect();
    found.push(words, Role::Runs);
    for tail in tails {
        found.push(tail, Role::Perhaps);
    }
}

/// A wrapper whose options all are known, else the line counts as not understood.
fn plain(words: Vec<Word>, shape: &Shape, level: usize, found: &mut Analysis) {
    let Some(start) = skip_options(&words, shape) else {
        found.unparsable = true;
        return vague(words, 1, found);
    };
    let mut inner = words[start..].to_vec();
    // `time` and `sudo` take assignments before the command.
    let assigned = inner.iter().take_while(|word| assignment(word)).count();
    found.assigns |= assigned > 0;
    inner.drain(..assigned);
    if inner.is_empty() {
        return found.push(words, Role::Runs);
    }
    found.push(words, shape.role);
    add(inner, level + 1, found);
}

/// Where the wrapped command starts.
fn skip_options(words: &[Word], shape: &Shape) -> Option<usize> {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if !word.prefix().starts_with('-') {
            // A word that is computed may be an option.
            word.text().is_some().then_some(())?;
            break;
        }
        let option = word.text()?;
        let attached = |valued: &&str| {
            option.strip_prefix(*valued).is_some_and(|rest| {
                if valued.starts_with("--") {
                    rest.starts_with('=')
                } else {
                    !rest.is_empty()
                }
            })
        };
        let number = option[1..].chars().all(|c| c.is_ascii_digit()) && option.len() > 1;
        at += match option.as_str() {
            "--" => {
                at += 1;
                break;
            }
            text if shape.flags.contains(&text) => 1,
            text if shape.valued.contains(&text) => 2,
            _ if shape.valued.iter().any(attached) => 1,
            _ if number && shape.valued.contains(&"-n") => 1,
            _ => return None,
        };
    }
    let operands = words.get(at..at + shape.operands)?;
    operands
        .iter()
        .all(|word| word.text().is_some())
        .then_some(at + shape.operands)
}

fn assignment(word: &Word) -> bool {
    let name = word.prefix().split_once('=').map(|(name, _)| name);
    name.is_some_and(|name| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '+')
    })
}

/// `env`: plain it is transparent; with assignments or options it changes what runs.
fn env(words: Vec<Word>, level: usize, found: &mut Analysis) {
    let mut at = 1;
    let mut role = Role::Wraps;
    while let Some(word) = words.get(at) {
        let text = word.text();
        at += match text.as_deref() {
            _ if assignment(word) => 1,
            Some("-" | "-i" | "--ignore-environment" | "-0" | "--null") => 1,
            Some("-u" | "--unset" | "-C" | "--chdir") => 2,
            Some(option) if option.starts_with("--unset=") || option.starts_with("--chdir=") => 1,
            // `-S` splits a text into words, and what is computed may be anything.
            None => return opaque(words, found),
            Some(option) if option.starts_with('-') => return opaque(words, found),
            Some(_) => break,
        };
        role = Role::Runs;
    }
    let inner = words.get(at..).unwrap_or_default().to_vec();
    if inner.is_empty() {
        return found.push(words, Role::Runs);
    }
    found.push(words, role);
    add(inner, level + 1, found);
}

fn opaque(words: Vec<Word>, found: &mut Analysis) {
    found.unparsable = true;
    vague(words, 1, found);
}

/// `xargs`: what it runs gets words from its input, which nobody knows.
fn xargs(words: Vec<Word>, level: usize, found: &mut Analysis) {
    let shape = Shape {
        valued: &[
            "-d",
            "-n",
            "-P",
            "-s",
            "-L",
            "-E",
            "-a",
            "-I",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--max-chars",
            "--max-lines",
            "--arg-file",
            "--replace",
        ],
        flags: &[
            "-0",
            "--null",
            "-r",
            "--no-run-if-empty",
            "-t",
            "--verbose",
            "-x",
            "--exit",
        ],
        operands: 0,
        role: Role::Wraps,
    };
    let Some(start) = skip_options(&words, &shape) else {
        return opaque(words, found);
    };
    let options = &words[1..start];
    let mark = options.iter().enumerate().find_map(|(at, word)| {
        let text = word.text()?;
        match text
            .strip_prefix("-I")
            .or(text.strip_prefix("--replace="))?
        {
            "" => options.get(at + 1)?.text(),
            attached => Some(attached.to_owned()),
        }
    });
    let mut inner = words[start..].to_vec();
    if inner.is_empty() {
        inner.push(Word::literal("echo"));
    }
    match mark {
        Some(mark) if mark.is_empty() => return opaque(words, found),
        Some(mark) => inner = inner.iter().map(|word| word.with_holes_at(&mark)).collect(),
        None => inner.push(Word::hole()),
    }
    found.push(words, Role::Wraps);
    add(inner, level + 1, found);
}

/// `find`: it runs what stands between `-exec` and `;` or `+`. It needs no rule of its own when
/// that is all that it does.
fn find(words: Vec<Word>, level: usize, found: &mut Analysis) {
    let texts: Vec<Option<String>> = words.iter().map(Word::text).collect();
    let text = |at: usize| texts.get(at).and_then(Option::as_deref);
    let (mut at, mut inners, mut only_runs) = (1, Vec::new(), true);
    while at < words.len() {
        match text(at) {
            Some("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let ends = |at: &usize| matches!(text(*at), Some(";" | "+"));
                let end = (at + 1..words.len()).find(ends).unwrap_or(words.len());
                let inner = &words[at + 1..end];
                inners.push(inner.iter().map(|word| word.with_holes_at("{}")).collect());
                at = end;
            }
            Some(word) if word.starts_with("-f") && word != "-follow" && word != "-fstype" => {
                only_runs = false;
            }
            None | Some("-delete") => only_runs = false,
            Some(_) => {}
        }
        at += 1;
    }
    let wraps = only_runs && !inners.is_empty();
    found.push(words, if wraps { Role::Wraps } else { Role::Runs });
    for inner in inners {
        add(inner, level + 1, found);
    }
}

/// A shell: its script, where it has one on the command line, is part of the line.
fn shell(words: Vec<Word>, level: usize, found: &mut Analysis) {
    let known = !matches!(program(words[0].prefix()), "zsh" | "fish");
    let given = script_word(&words[1..]);
    let code = match given {
        Some(at) => words.get(at + 1).cloned(),
        None => None,
    };
    // Options that are computed may be `-c`, and another shell's scripts read otherwise.
    let unclear = words[1..]
        .iter()
        .any(|word| word.text().is_none() && given.is_none());
    found.runs_input |= given.is_none() && takes_input(&words[1..]);
    found.push(words, Role::Runs);
    match code {
        Some(code) => run(&[code], known, level, found),
        None if given.is_some() || unclear => found.unparsable = true,
        None => {}
    }
}

/// Where the script of `-c` stands among a shell's arguments.
fn script_word(arguments: &[Word]) -> Option<usize> {
    let mut wants_script = false;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let option = word.prefix();
        let is_option = option.starts_with(['-', '+']) && option.len() > 1;
        if !is_option {
            return wants_script.then_some(at);
        }
        let short = option.starts_with('-') && !option.starts_with("--");
        if short && option.contains('c') && option.contains(['o', 'O']) {
            // `-oc` takes a word of its own before the script.
            return Some(arguments.len());
        }
        wants_script |= short && option.contains('c');
        let takes_value = matches!(option, "--rcfile" | "--init-file")
            || !option.starts_with("--") && (option.ends_with('o') || option.ends_with('O'));
        at += 1 + usize::from(takes_value);
    }
    wants_script.then_some(arguments.len())
}

/// Whether a shell without `-c` takes its script from its input, not from a file.
fn takes_input(arguments: &[Word]) -> bool {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let option = word.prefix();
        if !option.starts_with(['-', '+']) || matches!(option, "-" | "--") {
            let file = if option.starts_with('-') {
                arguments.get(at + 1)
            } else {
                Some(word)
            };
            return file.is_none_or(|file| {
                file.text().is_none()
                    || ["/dev/", "/proc/"]
                        .iter()
                        .any(|folder| file.prefix().starts_with(folder))
            });
        }
        let short = option.starts_with('-') && !option.starts_with("--");
        if short && option.contains('s') || matches!(option, "--rcfile" | "--init-file") {
            return true;
        }
        let takes_value = !option.starts_with("--") && option.ends_with(['o', 'O']);
        at += 1 + usize::from(takes_value);
    }
    true
}

/// Adds a script made of words, as `eval` joins them.
fn run(words: &[Word], known: bool, level: usize, found: &mut Analysis) {
    let texts: Option<Vec<String>> = words.iter().map(Word::text).collect();
    match texts.filter(|_| known) {
        Some(texts) => script(&texts.join(" "), level + 1, found),
        None => found.unparsable = true,
    }
}

fn eval(words: Vec<Word>, level: usize, found: &mut Analysis) {
    let code = words[1..].to_vec();
    let code = match code.first().and_then(Word::text).as_deref() {
        Some("--") => code[1..].to_vec(),
        _ => code,
    };
    found.push(words, Role::Runs);
    if !code.is_empty() {
        run(&code, true, level, found);
    }
}

/// `trap CODE SIGNAL…` runs code later.
fn trap(words: Vec<Word>, level: usize, found: &mut Analysis) {
    let code: Vec<Word> = words[1..].iter().take(2).cloned().collect();
    let all_known = words.iter().all(|word| word.text().is_some());
    found.push(words, Role::Runs);
    match code.first().map(|word| word.prefix().to_owned()) {
        _ if !all_known => found.unparsable = true,
        Some(option) if matches!(option.as_str(), "-" | "" | "-l" | "-p") => {}
        Some(option) if option == "--" => run(&code[1..], true, level, found),
        Some(_) => run(&code[..1], true, level, found),
        None => {}
    }
}

/// `su … -c CODE`; without code it is a shell that reads its input.
fn su(words: Vec<Word>, level: usize, found: &mut Analysis) {
    let at = words
        .iter()
        .position(|word| matches!(word.prefix(), "-c" | "--command" | "--session-command"));
    let attached = words.iter().find_map(|word| match word.pieces() {
        [Piece::Text(text)] => text.strip_prefix("--command=").map(Word::literal),
        _ => None,
    });
    let code = attached.or_else(|| at.and_then(|at| words.get(at + 1).cloned()));
    let bundled = words[1..].iter().any(|word| {
        let option = word.prefix();
        option.starts_with('-') && !option.starts_with("--") && option.len() > 2
    });
    if bundled || words.iter().any(|word| word.text().is_none()) {
        found.unparsable = true;
    }
    found.push(words, Role::Runs);
    match code {
        Some(code) => run(&[code], true, level, found),
        None => found.runs_input = true,
    }
}
