use serde_json::{Value, json};
use shard_session::{Header, SessionFile};
use shard_types::{
    CompactionDetails, ContentBlock, EntryBody, EntryId, MessageDetails, Role, SessionId,
    ToolResultContent, ToolResultDetails,
};

use crate::tools::bench::Bench;

/// A session beside the working folder, and the tools of its agent.
struct Talk {
    bench: Bench,
    file: SessionFile,
}

impl Talk {
    fn new() -> Self {
        let bench = Bench::new();
        let header = Header {
            session_id: SessionId::generate(),
            cwd: "/w".to_owned(),
            created_at: 1,
        };
        let file = SessionFile::create(&bench.root.join("session.jsonl"), &header).unwrap();
        Self { bench, file }
    }

    fn message(&mut self, role: Role, content: Vec<ContentBlock>) -> EntryId {
        let details = MessageDetails {
            role,
            content,
            partial: false,
            usage: None,
        };
        self.file.append(EntryBody::Message(details)).unwrap().id
    }

    fn user(&mut self, text: &str) -> EntryId {
        let text = text.to_owned();
        self.message(Role::User, vec![ContentBlock::Text { text }])
    }

    fn call(&mut self, name: &str, args: &Value, result: &str) {
        let call = ContentBlock::ToolCall {
            id: "c".to_owned(),
            name: name.to_owned(),
            args: args.as_object().unwrap().clone(),
        };
        let thought = ContentBlock::Thinking {
            text: "let me see".to_owned(),
            signature: None,
            model: None,
        };
        self.message(Role::Assistant, vec![thought, call]);
        let result = ToolResultDetails {
            tool_call_id: "c".to_owned(),
            content: ToolResultContent::text(result),
            is_error: false,
            exit_code: None,
            duration_ms: None,
            render: None,
            images: Vec::new(),
        };
        self.file.append(EntryBody::ToolResult(result)).unwrap();
    }

    fn compact(&mut self, index: u64, first: &EntryId, last: &EntryId, kept: &EntryId) {
        let details = CompactionDetails {
            summary: "short".to_owned(),
            message_range: (first.clone(), last.clone()),
            first_kept_entry_id: kept.clone(),
            tokens_before: 2,
            tokens_after: 1,
            compactor: "test".to_owned(),
            index,
        };
        self.file.append(EntryBody::Compaction(details)).unwrap();
    }

    async fn recall(&self, input: Value) -> String {
        self.bench.good("recall", input).await
    }

    /// The indexes of a page, in its order.
    async fn indexes(&self, input: Value) -> Vec<usize> {
        let page = self.recall(input).await;
        let indexes = page.lines().filter_map(|line| {
            let (index, _) = line.strip_prefix('[')?.split_once("] msg-")?;
            index.parse().ok()
        });
        indexes.collect()
    }
}

#[tokio::test]
async fn a_hit_is_one_line_from_its_index_to_what_stands_around_it() {
    let mut talk = Talk::new();
    let filler = "filler ".repeat(60);
    let id = talk.user(&format!("{filler}\nthe\x1b[31m needle\there\n{filler}"));
    let page = talk.recall(json!({ "query": "NEEDLE" })).await;
    let start = format!("[0] {id} user ");
    assert!(page.starts_with(&start), "{page}");
    assert!(page.contains("the␛[31m needle here filler"), "{page}");
    assert_eq!(page.lines().count(), 1, "{page}");
    assert!(page.len() < 450, "{page}");
}

#[tokio::test]
async fn commands_thoughts_and_outputs_are_found_and_searches_are_not() {
    let mut talk = Talk::new();
    talk.user("go");
    talk.call("bash", &json!({ "command": "cargo deploy" }), "all green");
    talk.call(
        "recall",
        &json!({ "query": "deploy green" }),
        "[1] deploy green",
    );
    assert_eq!(talk.indexes(json!({ "query": "deploy" })).await, [1]);
    assert_eq!(talk.indexes(json!({ "query": "green" })).await, [2]);
    assert_eq!(talk.indexes(json!({ "query": "/let me/" })).await, [3, 1]);
    let none = talk.recall(json!({ "query": "absent" })).await;
    assert_eq!(none, "[nothing found]\n");
}

#[tokio::test]
async fn a_scope_is_a_part_of_the_session() {
    let mut talk = Talk::new();
    let ids: Vec<EntryId> = (0..6).map(|n| talk.user(&format!("word {n}"))).collect();
    talk.compact(0, &ids[0], &ids[1], &ids[2]);
    talk.compact(1, &ids[2], &ids[3], &ids[4]);
    for (scope, want) in [
        (json!("all"), vec![5, 4, 3, 2, 1, 0]),
        (Value::Null, vec![5, 4, 3, 2, 1, 0]),
        (json!("latest"), vec![5, 4]),
        (json!("compaction:0"), vec![1, 0]),
        (json!("compaction:1"), vec![3, 2]),
        (json!("1..3"), vec![2, 1]),
        (json!("..2"), vec![1, 0]),
        (json!("4.."), vec![5, 4]),
        (json!("9..3"), vec![]),
    ] {
        let input = json!({ "query": "word", "scope": scope });
        assert_eq!(talk.indexes(input).await, want, "{scope}");
    }
    for (scope, says) in [
        ("compaction:7", "there is no compaction 7; there are: 0, 1"),
        ("compaction:x", "scope does not fit"),
        ("some", "scope does not fit"),
    ] {
        let refused = talk.bench.bad("recall", json!({ "scope": scope })).await;
        assert!(refused.starts_with(says), "{refused}");
    }
}

#[tokio::test]
async fn without_a_query_the_newest_entries_are_listed_page_by_page() {
    let mut talk = Talk::new();
    (0..60).for_each(|n| _ = talk.user(&format!("word {n}")));
    assert_eq!(talk.indexes(json!({})).await, (35..60).collect::<Vec<_>>());
    let page = talk.recall(json!({ "recent": 2 })).await;
    assert!(page.ends_with("[older entries: scope ..58]\n"), "{page}");
    let next = json!({ "recent": 2, "scope": "..58" });
    assert_eq!(talk.indexes(next).await, [56, 57]);
    let page = talk.recall(json!({ "query": "word", "recent": 3 })).await;
    let note = "[3 of 60 hits; for others raise recent, or narrow query or scope]\n";
    assert!(page.ends_with(note), "{page}");
}

#[tokio::test]
async fn entries_are_shown_in_full_as_far_as_there_is_room() {
    let mut talk = Talk::new();
    talk.user("short\nwords");
    talk.call("bash", &json!({ "command": "ls" }), "a.rs");
    let long = format!("{}needle{}", "x".repeat(80_000), "y".repeat(80_000));
    talk.user(&long);
    let page = talk.recall(json!({ "expand": [0, 1, 2, 9] })).await;
    assert!(page.contains("\nshort\nwords\n[1] msg-"), "{page}");
    assert!(
        page.contains("\n(thought) let me see\n(call) bash\ncommand: ls\n[2]"),
        "{page}"
    );
    assert!(
        page.ends_with("\na.rs\n[9] is not there: indexes go from 0 to 3\n"),
        "{page}"
    );
    let page = talk.recall(json!({ "expand": [0, 3, 2] })).await;
    assert!(
        page.ends_with("\n[no room for more; go on with expand [3, 2]]\n"),
        "{}",
        page.len()
    );
    let page = talk.recall(json!({ "expand": [3, 2] })).await;
    assert!(page.contains("\nxxx") && !page.contains("needle"));
    assert!(
        page.contains("of 160006; with a query too"),
        "{}",
        &page[49_000..]
    );
    assert!(
        page.contains("go on with expand [2]"),
        "{}",
        &page[49_000..]
    );
    let page = talk
        .recall(json!({ "expand": [3], "query": "/needle/" }))
        .await;
    assert!(page.contains("xneedley"));
}

#[tokio::test]
async fn what_comes_later_is_found_by_the_next_call() {
    let mut talk = Talk::new();
    talk.user("first needle");
    assert_eq!(talk.indexes(json!({ "query": "needle" })).await, [0]);
    talk.user("second needle");
    assert_eq!(talk.indexes(json!({ "query": "needle" })).await, [1, 0]);
}

#[tokio::test]
async fn an_index_of_a_long_session_is_made_in_the_background() {
    let mut talk = Talk::new();
    for n in 0..40 {
        talk.user(&format!("word{n} {}", "straw ".repeat(2000)));
    }
    assert_eq!(talk.indexes(json!({ "query": "word7" })).await, [7]);
    let index = talk.bench.root.join("session.recall");
    let made = async {
        while !index.exists() {
            tokio::task::yield_now().await;
        }
    };
    let deadline = std::time::Duration::from_secs(30);
    tokio::time::timeout(deadline, made)
        .await
        .expect("an index within 30 s");
    assert_eq!(talk.indexes(json!({ "query": "word7" })).await, [7]);
}

#[tokio::test]
async fn a_call_that_cannot_be_carried_out_says_why() {
    let mut talk = Talk::new();
    talk.user("hello");
    let check = async |input: Value, want: &str| {
        let refused = talk.bench.bad("recall", input).await;
        assert!(refused.contains(want), "{refused}");
    };
    check(json!({ "query": "/(/" }), "is not valid").await;
    check(json!({ "query": "?!" }), "no word to search for").await;
    talk.bench.cancel.cancel();
    check(json!({ "query": "hello" }), "aborted").await;
    let lost = Bench::new();
    let refused = lost.bad("recall", json!({})).await;
    assert!(refused.contains("cannot open the session"), "{refused}");
}
