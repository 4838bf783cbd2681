use super::*;

fn told(messages: &[&str]) -> Vec<String> {
    let blocks: Vec<_> = messages
        .iter()
        .map(|text| NormalizedBlock::User {
            text: (*text).to_owned(),
        })
        .collect();
    let origins: Vec<u64> = (0..messages.len() as u64).collect();
    let context = ExtractorContext {
        origins: &origins,
        ..ExtractorContext::default()
    };
    SessionGoal.extract(&blocks, &context)
}

#[test]
fn the_first_task_is_the_goal_and_small_talk_is_none() {
    assert_eq!(
        told(&[
            "Hi!",
            "Fix the parser.\n\nIt loops.",
            "ok, thanks",
            "looks right"
        ]),
        ["[1] Fix the parser.\nIt loops."]
    );
    assert_eq!(told(&["hello", "ok"]), ["[0] hello"]);
    assert_eq!(told(&[]), Vec::<String>::new());
}

#[test]
fn changes_of_course_come_after_it() {
    let changes = [
        "Now add a flag for that",
        "ok, great. Now the docs",
        "Instead of a flag, use a file",
        "Also: rename it",
        "Let's switch to tokio",
        "I changed my mind, forget that flag",
        "Next, the tests",
    ];
    for change in changes {
        assert_eq!(
            told(&["Fix the parser", change]),
            ["[0] Fix the parser".to_owned(), format!("[1] {change}")]
        );
    }
    for answer in [
        "yes, the second one",
        "line 12 is wrong",
        "why is it slow now?",
    ] {
        assert_eq!(told(&["Fix the parser", answer]).len(), 1, "{answer}");
    }
    let long = "Das ist eine neue Aufgabe. ".repeat(20);
    assert_eq!(told(&["Fix the parser", &long]).len(), 2);
}

#[test]
fn a_long_task_is_kept_at_length_and_a_change_of_it_less_so() {
    let long = "Now do one of the many things.\n".repeat(100);
    let told = told(&[&long, &long]);
    assert!(told[0].len() > 1000 && told[0].len() <= FIRST + 4);
    assert!(told[1].len() > 200 && told[1].len() <= CHANGE + 4);
}

#[test]
fn a_message_under_the_number_of_another_one_is_news() {
    let blocks = ["Fix the parser", "Now rewrite it in Go"].map(|text| NormalizedBlock::User {
        text: text.to_owned(),
    });
    let context = ExtractorContext {
        previous_summary: Some("## Session Goal\n\n- [0] Fix the parser\n- [4] Also the docs\n"),
        origins: &[0, 4],
        ..ExtractorContext::default()
    };
    assert_eq!(
        SessionGoal.extract(&blocks, &context),
        ["[4] Now rewrite it in Go"]
    );
}
