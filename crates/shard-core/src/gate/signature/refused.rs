//! Commands that are never remembered by their form.
//!
//! The lists are on the safe side: what is missing from an offer costs one more question, and an
//! exact grant is offered all the same.

use super::super::shell::runs_others;

/// Programs whose arguments or input are code.
const INTERPRETERS: &str = "
    awk gawk mawk nawk sed gsed perl raku python pypy ipython ruby irb node nodejs ts-node tsx php
    lua luajit tclsh wish expect r rscript julia octave gnuplot java jshell scala kotlin groovy
    clojure clj bb elixir iex erl escript ghci runghc runhaskell ocaml swift dart guile racket
    sbcl clisp gforth osascript pwsh powershell sqlite duckdb bc dc m4 ed ex vi vim nvim view
    emacs emacsclient nano gdb lldb csh tcsh mksh nu xonsh elvish wasmtime wasmer mono wine qemu
    rename prename erb tex latex pdflatex xelatex lualatex latexmk";

/// Programs that run what their arguments name, beyond those that a shell line is read through.
const WRAPPERS: &str = "
    at batch crontab run-parts start-stop-daemon daemonize tmux screen dtach abduco direnv mise
    asdf hyperfine chronic rr heaptrack proot cgexec choom catchsegv ld.so gtime su runas
    machinectl systemctl launchctl shutdown reboot poweroff halt kill pkill killall dbus-send
    gio xdg-open open man tar bsdtar cpio pax zip parallel sem entr watchexec watchman nodemon
    foreman overmind honcho act ccache sccache distcc fd fdfind less more most run sudoedit
    visudo";

/// Builtins that change where or as what the rest of a line runs, or that read a line as code.
const STATE: &str = "
    cd pushd popd dirs set shopt enable export declare typeset local readonly unset alias unalias
    hash read mapfile readarray getopts let eval exec source . trap builtin command type umask
    ulimit exit logout return break continue complete compgen compopt bind fc history jobs fg bg
    disown wait suspend caller [ [[ test coproc function";

/// Programs that run tasks which a file of the project describes: the operand names code.
const TASK_RUNNERS: &str = "
    make gmake bmake just task rake invoke inv fab tox nox turbo nx lerna gulp grunt ninja samu
    cmake ctest meson scons waf doit pre-commit husky lefthook mvn mvnw gradle gradlew sbt lein
    mill ant bazel bazelisk buck pants rails django-admin alembic prisma dune mix rebar cabal
    stack xcodebuild msbuild dotnet zig";

/// Programs that fetch packages, or fetch and run them.
const PACKAGES: &str = "
    npm npx pnpm pnpx yarn yarnpkg bun bunx deno corepack pip pipx uv uvx poetry pdm hatch pipenv
    rye pixi conda mamba micromamba easy_install gem bundle bundler composer cpan cpanm luarocks
    opam ghcup rustup cargo-binstall nuget nix nix-shell nix-env nix-build nix-store guix brew apt
    apt-get aptitude dpkg dnf yum rpm zypper pacman yay paru apk emerge snap flatpak port pkg
    choco winget scoop vcpkg conan go-task";

/// Programs that delete, or overwrite beyond recovery.
const DELETION: &str = "
    rm rmdir unlink shred srm wipe trash trash-put trash-empty rip truncate dd mkfs wipefs
    blkdiscard fdisk parted dropdb borg restic tmpwatch tmpreaper fstrim cryptsetup";

/// Programs that talk to other machines, or to a service that does.
const NETWORK: &str = "
    curl wget wget2 http https xh aria2c axel ssh scp sftp sshfs mosh autossh sshpass
    ssh-copy-id ssh-add ssh-keyscan rsync rclone nc ncat netcat socat telnet ftp lftp tftp ping
    ping6 traceroute tracepath mtr dig host nslookup drill whois nmap masscan tcpdump openssl
    gnutls-cli mail mailx sendmail mutt msmtp swaks gh glab hub tea svn hg bzr cvs fossil jj
    docker docker-compose podman nerdctl buildah skopeo kubectl oc helm k9s minikube kind
    terraform tofu pulumi ansible ansible-playbook vagrant packer aws gcloud gsutil az doctl
    heroku flyctl fly vercel netlify wrangler firebase supabase psql pg_dump pg_restore
    createdb mysql mariadb mongo mongosh redis-cli kafkacat kcat mosquitto_pub ollama lynx
    links elinks w3m youtube-dl yt-dlp smbclient mount umount ip iptables nft tailscale ngrok
    cloudflared gpg gpg-agent ffmpeg ffprobe ffplay magick convert pandoc shard";

/// Programs of many parts, and the parts that neither delete, nor fetch, nor run what an operand
/// names. Only with such a part right behind the program.
const PARTS: [(&str, &str); 3] = [
    (
        "git",
        "add blame cat-file commit describe diff log ls-files ls-tree merge-base rev-list rev-parse
         shortlog show show-ref status",
    ),
    (
        "cargo",
        "bench build check clippy doc fmt metadata nextest test tree",
    ),
    ("go", "build doc fmt list test version vet"),
];

/// Long options whose value names a program or code, whatever program they are for. They may be
/// cut short.
const CODE_OPTIONS: &str = "
    --command --compress-program --config --eval --exec --exec-path --ext-diff --init-file
    --load-plugin --open-files-in-pager --pager --plugin --rcfile --receive-pack --require --rsh
    --textconv --upload-pack";

/// The same for options that are taken to the letter.
const CODE_FLAGS: &str = "
    --pre --hostname-bin --filter -wrapper -specs -fplugin -exec -toolexec --toolexec -vettool
    --vettool";

/// What `find` does besides finding.
const FIND_ACTIONS: &str = "-delete -exec -ok -fls -fprint";

/// Whether a command of this program, bare or as written, is never remembered by its form.
pub(super) fn is_refused(name: &str, arguments: &[String]) -> bool {
    let base = name.rsplit('/').next().unwrap_or(name).to_lowercase();
    // `python3.12` is python.
    let plain = base.trim_end_matches(|c: char| c.is_ascii_digit() || ".-_".contains(c));
    let groups = [
        INTERPRETERS,
        WRAPPERS,
        STATE,
        TASK_RUNNERS,
        PACKAGES,
        DELETION,
        NETWORK,
    ];
    let listed = |group: &str| has(group, &base) || has(group, plain);
    let of_a_family = ["ld-", "mkfs.", "git-"].map(|family| base.starts_with(family));
    if base.is_empty() || groups.into_iter().any(listed) || of_a_family.contains(&true) {
        return true;
    }
    if base == "find" {
        let acts = |word: &String| {
            let mut actions = FIND_ACTIONS.split_whitespace();
            actions.any(|action| word.starts_with(action))
        };
        return arguments.iter().any(acts);
    }
    if runs_others(&base) || runs_others(plain) {
        return true;
    }
    let parts = PARTS.iter().find(|(program, _)| *program == base);
    if let Some((_, parts)) = parts
        && !arguments.first().is_some_and(|part| has(parts, part))
    {
        return true;
    }
    arguments.iter().any(|word| names_code(word))
}

fn has(group: &str, name: &str) -> bool {
    group.split_whitespace().any(|it| it == name)
}

fn names_code(word: &str) -> bool {
    let option = word.split('=').next().unwrap_or(word);
    let like = |long: &str| {
        option.starts_with(long) || option.len() >= SHORTEST && long.starts_with(option)
    };
    has(CODE_FLAGS, option) || CODE_OPTIONS.split_whitespace().any(like)
}

/// Shortest beginning of a long option that is taken for it, dashes counted.
const SHORTEST: usize = 5;
