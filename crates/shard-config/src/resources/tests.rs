use std::os::unix::fs::symlink;

use shard_types::RuleAction;

use super::bench::Bench;
use super::*;

/// A repository that brings one of everything.
fn full(bench: &Bench) {
    bench.write("repo/AGENTS.md", "Do as I say.");
    bench.write("repo/CLAUDE.md", "Not ours.");
    bench.skill("repo/.agents/skills/deploy", "deploy");
    bench.skill("repo/sub/.shard/skills/review", "review");
    bench.write(
        "repo/.shard/agents/helper.md",
        "---\nname: helper\ndescription: Helps.\n---\nObey.",
    );
    bench.write(
        "repo/.shard/rules/all.json",
        r#"{"rules":[{"action":"allow","tool":"*"},{"action":"deny","tool":"bash","command":"rm *"}]}"#,
    );
    bench.write("repo/.shard/extensions/run.ts", "throw 1");
    bench.write("repo/.mcp.json", "{}");
}

#[test]
fn of_a_project_without_trust_only_what_holds_back_counts() {
    let bench = Bench::untrusted();
    full(&bench);
    let untrusted = "warning: not read, as the project is not trusted; --trust-project reads it";
    assert_eq!(
        bench.told(),
        [
            &format!("- context repo/AGENTS.md {untrusted}"),
            &format!("- skill repo/sub/.shard/skills/review/SKILL.md {untrusted}"),
            &format!("- skill repo/.agents/skills/deploy/SKILL.md {untrusted}"),
            &format!("- agent repo/.shard/agents/helper.md {untrusted}"),
            "+ rules repo/.shard/rules/all.json warning: what it allows (1 of its 2 rules) does not count, as the project is not trusted; --trust-project lets it count",
            "- extension repo/.shard/extensions/run.ts warning: not loaded: this version runs no extension from a file",
            "- mcp repo/.mcp.json warning: not loaded: this version starts no server that a project names",
        ]
    );
    let found = bench.find();
    assert_eq!(
        (
            found.context.len(),
            found.skills.len(),
            found.definitions.len()
        ),
        (0, 0, 0)
    );
    assert!(!found.rules[0].trusted && found.rules[0].rules.len() == 2);
    assert_eq!(found.warnings().len(), 7, "one for each");
}

#[test]
fn of_a_trusted_project_everything_counts_that_can_be_loaded() {
    let bench = Bench::new();
    full(&bench);
    let told = bench.told();
    assert_eq!(
        told.iter().filter(|line| line.starts_with('+')).count(),
        5,
        "{told:?}"
    );
    let found = bench.find();
    assert_eq!(found.context[0].text, "Do as I say.");
    let names: Vec<_> = found.skills.iter().map(|skill| &*skill.name).collect();
    assert_eq!(names, ["deploy", "review"]);
    assert_eq!(found.definitions[0].prompt, "Obey.");
    assert!(found.rules[0].trusted);
}

#[test]
fn context_goes_from_the_outside_in_and_the_users_comes_first() {
    let mut bench = Bench::new();
    bench.write("AGENTS.md", "above the repository");
    bench.write("config/SHARD.md", "user");
    bench.write("config/AGENTS.md", "no such place");
    bench.write("repo/AGENTS.md", "outer agents");
    bench.write("repo/SHARD.md", "outer shard");
    bench.write("repo/sub/AGENTS.md", "inner agents");
    let texts = |bench: &Bench| -> Vec<String> {
        let context = bench.find().context.into_iter();
        context.map(|file| file.text).collect()
    };
    assert_eq!(
        texts(&bench),
        ["user", "outer shard", "outer agents", "inner agents"]
    );
    bench.roots.agents_md = false;
    assert_eq!(texts(&bench), ["user", "outer shard"]);
    bench.roots.cwd = bench.path("config");
    assert_eq!(
        texts(&bench),
        ["user"],
        "a file is the user's or the project's, not both"
    );
}

#[test]
fn long_context_is_cut_and_what_is_nearest_has_room_first() {
    let bench = Bench::new();
    bench.write("config/SHARD.md", &format!("x{}", "ü".repeat(40_000)));
    for path in [
        "repo/SHARD.md",
        "repo/AGENTS.md",
        "repo/sub/SHARD.md",
        "repo/sub/AGENTS.md",
    ] {
        bench.write(path, &"y".repeat(60_000));
    }
    let found = bench.find();
    let lengths: Vec<_> = found.context.iter().map(|file| file.text.len()).collect();
    assert_eq!(
        lengths,
        [65_535, 262_144 - 65_535 - 180_000, 60_000, 60_000, 60_000]
    );
    let told = found.warnings();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("config/SHARD.md: only its first 65535 bytes"),
        "{told:?}"
    );
}

#[test]
fn what_is_no_regular_file_is_not_waited_for() {
    let bench = Bench::new();
    bench.fifo("config/SHARD.md");
    bench.fifo("repo/.shard/skills/a/SKILL.md");
    bench.fifo("repo/.shard/agents/a.md");
    bench.fifo("repo/.shard/rules/a.json");
    symlink("/dev/zero", bench.path("repo/AGENTS.md")).unwrap();
    symlink("/dev/zero", bench.path("repo/.shard/agents/b.md")).unwrap();
    symlink("/dev/zero", bench.path("repo/.shard/rules/b.json")).unwrap();
    let told = bench.told();
    assert_eq!(told.len(), 7, "{told:?}");
    for line in told {
        assert!(
            line.contains("is a FIFO") || line.contains("is a device"),
            "{line}"
        );
    }
}

#[test]
fn the_nearest_skill_of_a_name_counts_and_two_in_one_place_are_a_mistake() {
    let bench = Bench::new();
    bench.skill("state/skills/one", "one");
    bench.skill("home/.agents/skills/one", "one");
    bench.skill("home/.agents/skills/two", "two");
    bench.skill("repo/.agents/skills/two", "two");
    bench.skill("repo/sub/.agents/skills/two", "two");
    bench.skill("repo/sub/.agents/skills/zwei", "two");
    let skills = bench.find().skills;
    let descriptions: Vec<_> = skills.iter().map(|skill| &*skill.description).collect();
    assert_eq!(
        descriptions,
        ["of state/skills/one", "of repo/sub/.agents/skills/two"]
    );
    let two = "…repo/sub/.agents/skills/two/SKILL.md has the same name and counts";
    assert_eq!(
        bench.told(),
        [
            "+ skill repo/sub/.agents/skills/two/SKILL.md",
            &format!(
                "- skill repo/sub/.agents/skills/zwei/SKILL.md info: its folder is called \"zwei\"; the name in its front matter counts; warning: {two}; rename one of them"
            ),
            &format!("- skill repo/.agents/skills/two/SKILL.md info: {two}"),
            "+ skill state/skills/one/SKILL.md",
            "- skill home/.agents/skills/one/SKILL.md warning: …state/skills/one/SKILL.md has the same name and counts; rename one of them",
            &format!("- skill home/.agents/skills/two/SKILL.md info: {two}"),
        ]
    );
}

#[test]
fn a_skill_says_what_it_is_for_and_what_else_it_says_is_kept() {
    let bench = Bench::new();
    bench.write(
        "state/skills/pdf/SKILL.md",
        "---\nname: pdf-tools\ndescription: >-\n  Fill in\n  PDF forms.\nlicense: MIT\nallowed-tools: Bash(*)\nmetadata:\n  author: me\n---\n\n# Steps\n\n1. Go.\n",
    );
    bench.write("state/skills/notes.txt", "no folder");
    bench.write("state/skills/empty/README.md", "no skill");
    bench.write("state/skills/.hidden/SKILL.md", "hidden");
    let found = bench.find();
    let [skill] = &found.skills[..] else {
        panic!("{found:?}")
    };
    assert_eq!(skill.description, "Fill in PDF forms.");
    assert_eq!(skill.folder, bench.path("state/skills/pdf"));
    assert_eq!(skill.details["metadata"]["author"], "me");
    assert_eq!(found.found[0].details["allowed-tools"], "Bash(*)");
    assert_eq!(skill.reread().unwrap().1, "# Steps\n\n1. Go.");
}

#[test]
fn a_skill_that_is_not_as_the_standard_has_it_says_why() {
    for (text, want) in [
        ("no front matter", "does not begin with front matter"),
        ("---\ndescription: d\n---\n", "has no `name`"),
        (
            "---\nname: 7\ndescription: d\n---\n",
            "`name` in its front matter must be a text",
        ),
        (
            "---\nname: Not Kebab\ndescription: d\n---\n",
            "single hyphens",
        ),
        ("---\nname: a--b\ndescription: d\n---\n", "single hyphens"),
        (
            "---\nname: ../../etc\ndescription: d\n---\n",
            "single hyphens",
        ),
        (
            "---\nname: a\ndescription: ' '\n---\n",
            "`description` in its front matter must be a text",
        ),
        (
            "---\nname: a\ndescription: Use when: x\n---\n",
            "needs quotes",
        ),
    ] {
        let bench = Bench::new();
        bench.write("state/skills/a/SKILL.md", text);
        let told = bench.told();
        assert!(
            told[0].starts_with("- skill state/skills/a/SKILL.md warning: not loaded: "),
            "{told:?}"
        );
        assert!(told[0].contains(want), "{told:?}");
        assert_eq!(bench.find().skills, []);
    }
}

#[test]
fn a_projects_skill_leads_to_nothing_outside_of_it_and_a_users_may() {
    let bench = Bench::new();
    bench.skill("secret/one", "one");
    std::fs::create_dir_all(bench.path("repo/.shard/skills/two")).unwrap();
    std::fs::create_dir_all(bench.path("state/skills")).unwrap();
    symlink(
        bench.path("secret/one"),
        bench.path("repo/.shard/skills/one"),
    )
    .unwrap();
    symlink(
        bench.path("secret/one/SKILL.md"),
        bench.path("repo/.shard/skills/two/SKILL.md"),
    )
    .unwrap();
    symlink(bench.path("secret/one"), bench.path("state/skills/one")).unwrap();
    // A folder outside whose file leads back in.
    bench.skill("repo/inside", "three");
    std::fs::create_dir_all(bench.path("secret/three")).unwrap();
    symlink(
        bench.path("repo/inside/SKILL.md"),
        bench.path("secret/three/SKILL.md"),
    )
    .unwrap();
    symlink(
        bench.path("secret/three"),
        bench.path("repo/.shard/skills/three"),
    )
    .unwrap();
    let skills = bench.find().skills;
    assert_eq!(skills.len(), 1);
    assert_eq!(skills[0].file, bench.path("state/skills/one/SKILL.md"));
    assert_eq!(skills[0].folder, bench.path("secret/one"));
    let told = bench.told().join("\n");
    assert_eq!(
        told.matches("a link leads out of the project").count(),
        3,
        "{told}"
    );
}

#[test]
fn a_skill_is_read_anew_and_must_still_be_itself() {
    let bench = Bench::new();
    bench.skill("repo/.shard/skills/a", "a");
    let skill = bench.find().skills.remove(0);
    bench.write(
        "repo/.shard/skills/a/SKILL.md",
        "---\nname: a\ndescription: d\n---\nEdited.",
    );
    let (now, body) = skill.reread().unwrap();
    assert_eq!((&*now.description, &*body), ("d", "Edited."));
    let refused = |why: &str| {
        let error = skill.reread().unwrap_err();
        assert!(error.contains(why), "{error}");
    };
    bench.skill("repo/.shard/skills/a", "b");
    refused("calls itself \"b\" by now");
    bench.write(
        "repo/.shard/skills/a/SKILL.md",
        &format!(
            "---\nname: a\ndescription: d\n---\n{}",
            "x".repeat(128 * 1024)
        ),
    );
    refused("has more than 131072 bytes");
    bench.skill("elsewhere", "a");
    std::fs::remove_dir_all(bench.path("repo/.shard/skills/a")).unwrap();
    refused("cannot be found");
    symlink(bench.path("elsewhere"), bench.path("repo/.shard/skills/a")).unwrap();
    refused("leads out of the project");
}

#[test]
fn files_of_a_skill_are_named_in_order_without_running_in_circles() {
    let bench = Bench::new();
    bench.skill("state/skills/a", "a");
    bench.write("state/skills/a/scripts/run.sh", "");
    bench.write("state/skills/a/references/deep/x.md", "");
    bench.write("state/skills/a/assets/logo.png", "");
    bench.write("state/skills/a/other/no.md", "");
    bench.write("state/skills/a/scripts/1/2/3/4/5/6/7/eighth.sh", "");
    bench.write("state/skills/a/scripts/1/2/3/4/5/6/7/8/ninth.sh", "");
    symlink("..", bench.path("state/skills/a/references/deep/loop")).unwrap();
    symlink("nowhere", bench.path("state/skills/a/references/broken.md")).unwrap();
    let skill = bench.find().skills.remove(0);
    let wanted = [
        "assets/logo.png",
        "references/deep/x.md",
        "scripts/1/2/3/4/5/6/7/eighth.sh",
        "scripts/run.sh",
    ];
    assert_eq!(skill.files(), (wanted.map(str::to_owned).to_vec(), false));
    for number in 0..300 {
        bench.write(&format!("state/skills/a/assets/{number:03}"), "");
    }
    let (names, more) = skill.files();
    assert_eq!((names.len(), &*names[255], more), (256, "assets/255", true));
}

#[test]
fn a_definition_has_its_settings_and_its_prompt() {
    let bench = Bench::new();
    bench.write(
        "config/agents/r.md",
        "---\nname: reviewer\ndescription: Reviews.\nmodel: p/m\nmode: review\ntools: [read, grep]\nskills: []\nnames: [Ada]\ntimeout: 600\nlaunch_policy: { max_tasks: 2 }\ntool: x\n---\n\nYou review.\n",
    );
    let found = bench.find();
    let [definition] = &found.definitions[..] else {
        panic!("{found:?}")
    };
    let wanted = Definition {
        name: "reviewer".to_owned(),
        description: "Reviews.".to_owned(),
        model: Some("p/m".to_owned()),
        mode: Some("review".to_owned()),
        tools: Some(vec!["read".to_owned(), "grep".to_owned()]),
        skills: Some(Vec::new()),
        names: Some(vec!["Ada".to_owned()]),
        timeout: Some(600),
        launch_policy: Some(DefinitionLaunchPolicy {
            max_tasks: Some(2),
            max_depth: None,
        }),
        prompt: "You review.".to_owned(),
        path: bench.path("config/agents/r.md"),
    };
    assert_eq!(definition, &wanted);
    assert_eq!(found.warnings().len(), 1);
    assert!(
        found.warnings()[0]
            .ends_with("`tool` in its front matter is ignored; did you mean \"tools\"?")
    );
}

#[test]
fn definitions_stand_nearest_first_and_old_places_last() {
    let bench = Bench::new();
    let write = |path: &str, name: &str| {
        bench.write(
            path,
            &format!("---\nname: {name}\ndescription: {path}\n---\n"),
        );
    };
    write("state/agents/a.md", "a");
    write("state/agents/b.md", "b");
    write("config/agents/b.md", "b");
    write("config/agents/c.md", "c");
    write("repo/.shard/agents/c.md", "c");
    bench.write("state/agents/agent-1/manifest.json", "{}");
    let definitions = bench.find().definitions;
    let from: Vec<_> = definitions.iter().map(|one| &*one.description).collect();
    assert_eq!(
        from,
        [
            "state/agents/a.md",
            "config/agents/b.md",
            "repo/.shard/agents/c.md"
        ]
    );
}

#[test]
fn a_definition_that_does_not_fit_says_where() {
    for (line, want) in [
        ("timeout: soon", "`timeout` in its front matter"),
        ("timeout: 0", "at least one second"),
        ("tools: read", "`tools` in its front matter"),
        ("launch_policy: { maxTasks: 1 }", "launch_policy"),
        ("description: ", "`description`"),
    ] {
        let bench = Bench::new();
        let description = if line.starts_with("description") {
            ""
        } else {
            "description: d\n"
        };
        bench.write(
            "config/agents/a.md",
            &format!("---\nname: a\n{description}{line}\n---\n"),
        );
        let told = bench.told();
        assert!(
            told[0].contains("not loaded: ") && told[0].contains(want),
            "{told:?}"
        );
    }
}

#[test]
fn rules_are_found_nearest_first_and_a_broken_file_fails_closed() {
    let mut bench = Bench::untrusted();
    let rule = |tool: &str| format!(r#"{{"rules":[{{"action":"deny","tool":"{tool}"}}]}}"#);
    bench.write(".shard/rules/outside.json", &rule("outside"));
    bench.write("repo/.shard/rules/a.json", &rule("outer"));
    bench.write("repo/sub/.shard/rules/a.json", &rule("inner"));
    bench.write("repo/sub/.shard/rules/notes.txt", "not rules");
    bench.write("state/rules/b.json", &rule("user"));
    bench.write("state/rules/c.json", "{ broken");
    bench.write(
        "state/rules/d.json",
        r#"{"rules":[{"action":"deny","tool":7},{"action":"allow","tool":7}]}"#,
    );
    bench.permissions = serde_json::from_str(
        r#"{"rules":[{"action":"allow","tool":"config"},{"action":"deny","tool":7}]}"#,
    )
    .unwrap();
    let layers = bench.find().rules;
    let seen: Vec<_> = layers
        .iter()
        .map(|layer| {
            (
                layer.rules.first().map(|rule| rule.tool.as_str()),
                layer.trusted,
                layer.broken_deny.len(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Some("inner"), false, 0),
            (Some("outer"), false, 0),
            (Some("config"), true, 1),
            (Some("user"), true, 0),
            (None, true, 1),
            (None, true, 1)
        ]
    );
    let broken = layers.iter().skip(4).map(|layer| &layer.broken_deny[0]);
    for (text, name) in broken.zip(["c.json", "d.json: rule 0"]) {
        assert!(text.contains(name), "{text}");
    }
    assert_eq!(layers[2].rules[0].action, RuleAction::Allow);
    let told = bench.find().warnings();
    assert_eq!(told.len(), 3, "{told:?}");
    assert!(
        told[0].contains("c.json: line 1") && told[0].ends_with("every call asks"),
        "{told:?}"
    );
    assert!(
        told[2].contains("rules[1]") && told[2].ends_with("the rule is ignored"),
        "{told:?}"
    );
}

#[test]
fn a_folder_of_rules_that_cannot_be_listed_fails_closed() {
    let bench = Bench::new();
    assert_eq!(bench.find().rules, []);
    bench.write("repo/.shard/rules", "no folder");
    let found = bench.find();
    let broken = found.rules[0].broken_deny.concat();
    assert!(
        broken.contains(".shard/rules: it cannot be listed"),
        "{broken}"
    );
    assert_eq!(found.warnings().len(), 1, "told once");
}

#[test]
fn too_many_rule_files_fail_closed_and_too_many_skills_are_told() {
    let bench = Bench::new();
    for number in 0..257 {
        bench.write(&format!("state/rules/{number}.json"), r#"{"rules":[]}"#);
        bench.skill(&format!("state/skills/s{number}"), &format!("s{number}"));
    }
    let found = bench.find();
    assert_eq!(found.skills.len(), 256);
    let broken: Vec<_> = found
        .rules
        .iter()
        .flat_map(|layer| &layer.broken_deny)
        .collect();
    assert_eq!(broken.len(), 1, "{broken:?}");
    assert_eq!(found.warnings().len(), 2, "{:?}", found.warnings());
}

#[test]
fn a_home_folder_that_is_the_project_stays_the_users() {
    let mut bench = Bench::untrusted();
    bench.roots.cwd = bench.path("home");
    bench.roots.state_home = bench.path("home/.shard");
    bench.skill("home/.shard/skills/a", "a");
    bench.skill("home/.agents/skills/b", "b");
    bench.write(
        "home/.shard/agents/c.md",
        "---\nname: c\ndescription: d\n---\n",
    );
    bench.write(
        "home/.shard/rules/r.json",
        r#"{"rules":[{"action":"allow","tool":"x"}]}"#,
    );
    let found = bench.find();
    assert_eq!((found.skills.len(), found.definitions.len()), (2, 1));
    assert!(found.rules[0].trusted && found.rules.len() == 1);
    // Managed worktrees lie below the state, and are projects like any other.
    bench.roots.cwd = bench.path("home/.shard/worktrees/w");
    bench.write("home/.shard/worktrees/w/AGENTS.md", "here");
    bench.skill("home/.shard/worktrees/w/.shard/skills/x", "x");
    bench.roots.trust_project = true;
    let found = bench.find();
    assert_eq!((found.context.len(), found.skills.len()), (1, 3));
}

#[test]
fn an_allowlist_of_skills_leaves_no_other_in_force() {
    let bench = Bench::new();
    bench.skill("state/skills/a", "a");
    bench.skill("state/skills/b", "b");
    let mut found = bench.find();
    assert_eq!(found.allow_skills(&["b".to_owned()]), Ok(()));
    let active: Vec<_> = found.found.iter().filter(|found| found.active).collect();
    assert_eq!(
        (active.len(), &*active[0].name, &*found.skills[0].name),
        (1, "b", "b")
    );
    assert_eq!(
        bench.find().allow_skills(&["c".to_owned()]),
        Err("c".to_owned())
    );
}

#[test]
fn a_difference_names_what_was_added_changed_and_removed() {
    let bench = Bench::new();
    bench.write("repo/AGENTS.md", "one");
    bench.skill("state/skills/a", "a");
    bench.skill("state/skills/b", "b");
    let before = bench.find();
    assert_eq!(bench.find().difference(&before), [""; 0].map(PathBuf::from));
    bench.write("repo/AGENTS.md", "two");
    std::fs::remove_dir_all(bench.path("state/skills/b")).unwrap();
    bench.write("state/rules/r.json", r#"{"rules":[]}"#);
    let wanted = [
        "repo/AGENTS.md",
        "state/rules/r.json",
        "state/skills/b/SKILL.md",
    ];
    let after = bench.find();
    assert_eq!(
        after.difference(&before),
        wanted.map(|path| bench.path(path))
    );
    assert_eq!(
        before.difference(&after),
        wanted.map(|path| bench.path(path))
    );
}
