//! Tools and a gate that do as the test says.

use std::panic::panic_any;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use shard_contracts::{
    Access, Ask, BoxFuture, CallFacts, Decision, Dialog, GateError, Mode, PermissionGate, Tool,
    ToolContext, ToolOutput,
};
use shard_types::event::{AllowedBy, AllowedByKind, UiKind, UiValue};
use shard_types::{ChoiceIntent, GrantId, GrantInfo, PermissionChoice, PermissionDecision};
use tokio::sync::{mpsc, oneshot};

/// What a fake tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Says `say` back.
    Echo,
    /// Waits until the test releases it, or the turn is aborted.
    Hold,
    /// The same without changing anything.
    Look,
    /// Waits for ever, whatever happens.
    Stubborn,
    /// Fails.
    Fail,
    /// Panics.
    Panic,
    /// Panics before it runs, where its access is asked for.
    PanicEarly,
    /// Asks the person, and says the answer.
    Ask,
    /// Prints while it runs and after it has ended.
    Chatty,
    /// Changes the file that `say` names.
    Change,
}

/// A tool that runs and waits for the test.
pub(crate) struct Held {
    pub(crate) release: oneshot::Sender<&'static str>,
}

pub(crate) struct FakeTool {
    pub(crate) name: &'static str,
    pub(crate) deed: Deed,
    pub(crate) held: mpsc::Sender<Held>,
    /// The calls that ran, in order.
    pub(crate) ran: Arc<Mutex<Vec<String>>>,
}

impl Tool for FakeTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &str {
        "does as the test says"
    }

    fn input_schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "say": { "type": "string" } },
            "required": if self.deed == Deed::Echo { json!(["say"]) } else { json!([]) },
        })
    }

    fn read_only(&self) -> bool {
        matches!(self.deed, Deed::Echo | Deed::Look)
    }

    fn access(&self, _: &Map<String, Value>) -> Access {
        if self.deed == Deed::PanicEarly {
            panic_any("a bug before the call");
        }
        Access::Nothing
    }

    fn execute<'a>(
        &'a self,
        input: Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, ToolOutput> {
        let say = input.get("say").and_then(Value::as_str).unwrap_or_default();
        let say = say.to_owned();
        Box::pin(async move {
            self.ran.lock().unwrap().push(context.tool_call_id.clone());
            match self.deed {
                Deed::Echo => ToolOutput::text(say),
                Deed::Change => ToolOutput {
                    mutated: vec![say.into()],
                    ..ToolOutput::text("changed")
                },
                Deed::Fail => ToolOutput::error("it failed"),
                Deed::Panic => panic_any("a bug"),
                Deed::PanicEarly => ToolOutput::text("never"),
                Deed::Stubborn => {
                    let held = self.hold();
                    _ = held.await;
                    std::future::pending().await
                }
                Deed::Hold | Deed::Look => tokio::select! {
                    said = self.hold() => match said {
                        Ok(said) => ToolOutput::text(said),
                        Err(_) => ToolOutput::error("the test let go"),
                    },
                    () = context.cancel.cancelled() => ToolOutput::error("stopped itself"),
                },
                Deed::Ask => match context.ui.ask(question()).await {
                    Some(UiValue::One(answer)) => ToolOutput::text(answer),
                    _ => ToolOutput::error("no answer"),
                },
                Deed::Chatty => {
                    context.progress.output("while");
                    let progress = Arc::clone(&context.progress);
                    let said = self.hold();
                    tokio::spawn(async move {
                        _ = said.await;
                        progress.output("after");
                    });
                    ToolOutput::text("ended")
                }
            }
        })
    }
}

impl FakeTool {
    fn hold(&self) -> oneshot::Receiver<&'static str> {
        let (release, released) = oneshot::channel();
        self.held
            .try_send(Held { release })
            .unwrap_or_else(|_| panic!("the test takes its tools"));
        released
    }
}

pub(crate) fn question() -> Dialog {
    Dialog {
        title: Some("which?".to_owned()),
        options: vec!["a".to_owned(), "b".to_owned()],
        ..Dialog::new(UiKind::Select)
    }
}

/// A gate that allows everything but what the test puts on its lists.
#[derive(Default)]
pub(crate) struct ScriptedGate {
    /// Tools that a person is asked about; true if a rule covers them.
    pub(crate) ask: Mutex<Vec<(&'static str, bool)>>,
    /// Tools that are denied.
    pub(crate) deny: Mutex<Vec<&'static str>>,
    /// What was judged: tool and mode.
    pub(crate) judged: Mutex<Vec<String>>,
    /// What was granted: tool and who said so.
    pub(crate) granted: Mutex<Vec<String>>,
    /// Grants cannot be kept.
    pub(crate) broken: Mutex<bool>,
}

impl PermissionGate for ScriptedGate {
    fn check(&self, call: &CallFacts<'_>) -> Decision {
        let judged = format!("{} in {}", call.tool, call.mode.name());
        self.judged.lock().unwrap().push(judged);
        if self.deny.lock().unwrap().contains(&call.tool) {
            return Decision::Deny {
                reason: "a rule denies it".to_owned(),
            };
        }
        let ask = self.ask.lock().unwrap();
        match ask.iter().find(|(tool, _)| *tool == call.tool) {
            Some(&(tool, covered)) => Decision::Ask(a_question(tool, covered)),
            None => Decision::Allow {
                by: AllowedBy {
                    kind: AllowedByKind::Default,
                    id: None,
                    source: None,
                },
            },
        }
    }

    fn grant(
        &self,
        call: &CallFacts<'_>,
        choice: Option<&str>,
        source: Option<&str>,
    ) -> Result<GrantInfo, GateError> {
        if *self.broken.lock().unwrap() {
            return Err(GateError {
                action: "keep the permission",
                path: "/grants".into(),
                source: std::io::Error::other("no room"),
            });
        }
        let how = choice.map_or_else(String::new, |choice| format!(" ({choice})"));
        let granted = format!("{}{how} by {}", call.tool, source.unwrap_or("nobody"));
        self.granted.lock().unwrap().push(granted);
        Ok(GrantInfo {
            grant_id: GrantId::generate(),
            tool: call.tool.to_owned(),
            summary: String::new(),
            created_at: 0,
            source: None,
            used: 0,
            last_used_at: None,
            kind: None,
        })
    }
}

fn a_question(tool: &str, covered: bool) -> Ask {
    let choice = |id: &str, intent| PermissionChoice {
        id: id.to_owned(),
        label: id.to_owned(),
        description: None,
        accelerator: None,
        intent,
    };
    Ask {
        prompt: format!("run {tool}?"),
        options: vec![PermissionDecision::Allow, PermissionDecision::Deny],
        details: Vec::new(),
        choices: vec![
            choice("once", ChoiceIntent::Allow),
            choice("always", ChoiceIntent::Persist),
            choice("no", ChoiceIntent::Deny),
        ],
        covered: covered.then(|| AllowedBy {
            kind: AllowedByKind::Rule,
            id: None,
            source: Some("the rules".to_owned()),
        }),
    }
}

/// A mode of this name that does nothing.
pub(crate) struct FakeMode(pub(crate) &'static str);

impl Mode for FakeMode {
    fn name(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        "a mode of the tests"
    }
}
