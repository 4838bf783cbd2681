use serde_json::{Map, Value, json};
use shard_contracts::{
    Access, Artifact, Artifacts, BoxFuture, CallFacts, Mode, Tool, ToolContext, ToolOutput, Vote,
};
use shard_types::{EntryId, Message, Role};

use super::section::find;
use super::{Build, Plan, Review, builtin};

fn plan_in(texts: &[&str]) -> Option<Artifact> {
    let texts: Vec<_> = texts
        .iter()
        .map(|text| json!({"type": "text", "text": text}))
        .collect();
    let message = Message {
        id: "msg-7".parse::<EntryId>().unwrap(),
        role: Role::Assistant,
        content: serde_json::from_value(Value::Array(texts)).unwrap(),
        partial: false,
    };
    Plan.on_turn_end(&message)
}

fn kept(text: &str) -> Artifacts {
    let mut kept = Artifacts::default();
    let details = Map::from_iter([("text".to_owned(), text.into())]);
    kept.keep(Artifact {
        kind: "plan".to_owned(),
        details,
    });
    kept
}

#[test]
fn a_section_ends_where_the_next_of_its_level_begins() {
    let check = |text: &str, want: Option<&str>| assert_eq!(find(text, "The Plan"), want, "{text}");
    check("", None);
    check("The Plan\n1. a", None);
    check("#The Plan\n1. a", None);
    check("    ## The Plan\n1. a", None);
    check("## The Plan", None);
    check("## The Plan\n \n", None);
    check("## The Planning\na", None);
    check("words\n## The Plan\n\n1. a\n2. b\n", Some("1. a\n2. b"));
    check("## The Plan\r\n1. a\r\n", Some("1. a"));
    check(
        "## The Plan\na\n### Steps\nb\n## After\nc",
        Some("a\n### Steps\nb"),
    );
    check("### The Plan\na\n# Top\nb", Some("a"));
    for heading in [
        "# the plan",
        "  ## THE PLAN:",
        "### **The Plan** ##",
        "## __The Plan__:",
    ] {
        check(&format!("{heading}\na"), Some("a"));
    }
    // The last counts that says something.
    check("## The Plan\na\n## The Plan\nb", Some("b"));
    check("## The Plan\na\n## The Plan\n", Some("a"));
    check(
        "## The Plan\na\n### The Plan\nb",
        Some("a\n### The Plan\nb"),
    );
    // What is in a fence is no heading.
    check("```\n## The Plan\na\n```\n", None);
    check(
        "## The Plan\n```sh\n# no heading\n```\nb\n## After",
        Some("```sh\n# no heading\n```\nb"),
    );
    check(
        "## The Plan\n~~~~\n~~~\n## in\n~~~~\nb",
        Some("~~~~\n~~~\n## in\n~~~~\nb"),
    );
    check(
        "`## x`\n## The Plan\na ```b``` c\n## d",
        Some("a ```b``` c"),
    );
    check(
        "## The Plan\n```\n# never closed",
        Some("```\n# never closed"),
    );
}

#[test]
fn a_plan_is_kept_with_the_id_of_its_message() {
    let plan = plan_in(&["I looked.", "## Implementation Plan\n1. é", "2. b"]).unwrap();
    assert_eq!(plan.kind, "plan");
    assert_eq!(
        Value::Object(plan.details),
        json!({"text": "1. é\n\n2. b", "messageId": "msg-7"})
    );
    assert_eq!(plan_in(&["I looked, and have questions."]), None);
    assert_eq!(plan_in(&[]), None);
}

#[test]
fn only_the_mode_that_works_shows_the_plan_and_only_so_much_of_it() {
    let none = Artifacts::default();
    assert_eq!(Build.prompt_section(&none), None, "no plan, no change");
    assert_eq!(Build.prompt_section(&kept(" \n")), None);
    let with = kept("1. look\n2. do");
    let section = Build.prompt_section(&with).unwrap();
    assert!(section.starts_with("## Active Plan\n"), "{section}");
    assert!(section.ends_with("\n\n1. look\n2. do"), "{section}");
    for mode in [&Plan as &dyn Mode, &Review] {
        assert_eq!(mode.prompt_section(&with), mode.prompt_section(&none));
    }
    for long in [
        "é".repeat(20_000),
        "1. do what is to be done\n".repeat(1000),
    ] {
        let section = Build.prompt_section(&kept(&long)).unwrap();
        assert!(section.len() < 17_000, "{}", section.len());
        let size = format!("bytes of {}; ask for the rest", long.trim().len());
        assert!(section.contains(&size), "{}", &section[16_000..]);
    }
}

/// A tool of this name that reads or does not.
struct Named(&'static str, bool);

impl Tool for Named {
    fn name(&self) -> &str {
        self.0
    }
    fn description(&self) -> &str {
        ""
    }
    fn input_schema(&self) -> Value {
        Value::Null
    }
    fn read_only(&self) -> bool {
        self.1
    }
    fn execute<'a>(
        &'a self,
        _: Map<String, Value>,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(ToolOutput::text("")))
    }
}

#[test]
fn each_mode_offers_its_tools_and_has_its_say() {
    let paths = || vec!["x".to_owned()];
    let samples = [
        (Named("read", true), Access::Read(paths())),
        (Named("ask_user", true), Access::Nothing),
        (Named("write", false), Access::Write(paths())),
        (Named("deploy", false), Access::Unknown),
        (Named("bash", false), Access::Command("git diff".to_owned())),
    ];
    // Offered or not, and the vote.
    let want = [
        (
            "build",
            ["+abstain", "+abstain", "+abstain", "+abstain", "+abstain"],
        ),
        ("plan", ["+abstain", "+abstain", "-veto", "-veto", "-veto"]),
        ("review", ["+abstain", "+abstain", "-veto", "-veto", "+ask"]),
    ];
    let got: Vec<_> = builtin()
        .iter()
        .map(|mode| {
            let say = samples.each_ref().map(|(tool, access)| {
                let offered = if mode.offers(tool) { "+" } else { "-" };
                let vote = mode.vote(&CallFacts {
                    tool: tool.0,
                    read_only: tool.1,
                    input: &Map::new(),
                    access,
                    paths: &[],
                    cwd: std::path::Path::new("/w"),
                    mode: &**mode,
                });
                let vote = match vote {
                    Vote::Abstain => "abstain",
                    Vote::Allow => "allow",
                    Vote::Ask { .. } => "ask",
                    Vote::Veto { .. } => "veto",
                };
                format!("{offered}{vote}")
            });
            (mode.name().to_owned(), say)
        })
        .collect();
    let want: Vec<_> = want
        .iter()
        .map(|(name, say)| ((*name).to_owned(), say.map(str::to_owned)))
        .collect();
    assert_eq!(got, want);
}
