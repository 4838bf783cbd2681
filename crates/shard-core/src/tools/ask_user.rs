//! `ask_user`: a question for the person.

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use shard_contracts::{Access, Dialog, Tool, ToolContext, ToolOutput};
use shard_types::event::{UiKind, UiValue};

use super::{arguments, job, visible};

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The question, complete in itself.
    question: String,
    /// Answers to pick from. Without them the person types an answer.
    options: Option<Vec<String>>,
    /// Several options may be picked.
    multiple: Option<bool>,
}

/// Puts a question to the person.
#[derive(Debug)]
pub struct AskUser;

impl AskUser {
    async fn ask(input: Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, String> {
        let arguments: Arguments = arguments::parse(input)?;
        if arguments.question.trim().is_empty() {
            return Err("the question is empty".to_owned());
        }
        let answer = context.ui.ask(dialog(arguments)).await;
        let text = match answer {
            None => return Err(NOBODY.to_owned()),
            Some(UiValue::One(text)) => text,
            Some(UiValue::Many(picked)) if picked.is_empty() => "(none of the options)".to_owned(),
            Some(UiValue::Many(picked)) => picked.join("\n"),
        };
        let text = visible::controls(&text).into_owned();
        Ok(ToolOutput::text(text))
    }
}

const NOBODY: &str =
    "nobody answered the question; go on with what you know, or say in your reply what you need";

fn dialog(arguments: Arguments) -> Dialog {
    let options = arguments.options.unwrap_or_default();
    let kind = match options.is_empty() {
        true => UiKind::Input,
        false => UiKind::Select,
    };
    Dialog {
        message: Some(arguments.question),
        multiple: arguments.multiple.unwrap_or_default() && !options.is_empty(),
        options,
        ..Dialog::new(kind)
    }
}

impl Tool for AskUser {
    fn name(&self) -> &'static str {
        "ask_user"
    }

    fn description(&self) -> &'static str {
        "Ask the person a question and wait for the answer. For decisions that only they can make; \
         not for what the files or a command can tell. Give options where the answers are known."
    }

    fn input_schema(&self) -> Value {
        arguments::schema::<Arguments>()
    }

    fn read_only(&self) -> bool {
        true
    }

    fn access(&self, _: &Map<String, Value>) -> Access {
        Access::Nothing
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { job::answer(Self::ask(input, context).await, context) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::bench::Bench;
    use super::*;

    fn answers(bench: &Bench, answer: UiValue) {
        *bench.person.answer.lock().unwrap() = Some(answer);
    }

    #[tokio::test]
    async fn a_question_without_options_is_a_line_to_type() {
        let bench = Bench::new();
        answers(&bench, UiValue::One("blue".to_owned()));
        let input = json!({ "question": "Which colour?", "multiple": true });
        assert_eq!(bench.good("ask_user", input).await, "blue");
        let message = Some("Which colour?".to_owned());
        let want = Dialog {
            message,
            ..Dialog::new(UiKind::Input)
        };
        assert_eq!(*bench.person.asked.lock().unwrap(), [want]);
    }

    #[tokio::test]
    async fn options_are_picked_from() {
        let bench = Bench::new();
        answers(&bench, UiValue::Many(vec!["a".to_owned(), "c".to_owned()]));
        let input = json!({ "question": "Which?", "options": ["a", "b", "c"], "multiple": true });
        assert_eq!(bench.good("ask_user", input).await, "a\nc");
        let asked = bench.person.asked.lock().unwrap().remove(0);
        assert_eq!((asked.kind, asked.multiple), (UiKind::Select, true));
        assert_eq!(asked.options, ["a", "b", "c"]);
        answers(&bench, UiValue::Many(Vec::new()));
        let input = json!({ "question": "Which?", "options": ["a"] });
        assert_eq!(bench.good("ask_user", input).await, "(none of the options)");
    }

    #[tokio::test]
    async fn no_answer_is_a_failure_that_says_so() {
        let bench = Bench::new();
        let message = bench.bad("ask_user", json!({ "question": "Hello?" })).await;
        assert!(message.starts_with("nobody answered"), "{message}");
        let message = bench.bad("ask_user", json!({ "question": " " })).await;
        assert_eq!(message, "the question is empty");
    }

    #[test]
    fn it_touches_nothing() {
        assert_eq!(AskUser.access(&Map::new()), Access::Nothing);
        assert!(AskUser.read_only());
    }
}
