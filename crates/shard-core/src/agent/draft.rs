//! The message that is being streamed.

use serde_json::{Map, Value};
use shard_contracts::ProviderEvent;
use shard_types::event::{DeltaKind, MessageDelta};
use shard_types::{ContentBlock, EntryId, Message, Role, Usage};
use uuid::Uuid;

/// A message as far as it has come. Turns each piece of a provider's stream into the delta that
/// clients see, and in the end into content blocks.
pub(super) struct Draft {
    pub(super) id: EntryId,
    model: String,
    blocks: Vec<Block>,
    pub(super) usage: Option<Usage>,
}

enum Block {
    Text(String),
    Thinking {
        text: String,
        signature: Option<String>,
    },
    ToolCall {
        id: String,
        name: String,
        args: String,
    },
}

/// What became of a draft.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finished {
    pub(crate) content: Vec<ContentBlock>,
    /// The tool calls, in order.
    pub(crate) calls: Vec<Call>,
}

/// A tool call of a finished message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// The arguments, or why there are none.
    pub(crate) args: Result<Map<String, Value>, String>,
}

impl Draft {
    /// An empty message of this model, `provider/model`.
    pub(super) fn new(model: String) -> Self {
        Self {
            id: EntryId::generate(),
            model,
            blocks: Vec::new(),
            usage: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Takes in a piece; gives the delta to show, if there is one. A call without an id, or
    /// whose id is `taken` in the conversation, gets another one.
    pub(super) fn push(
        &mut self,
        event: ProviderEvent,
        taken: impl FnOnce(&str) -> bool,
    ) -> Option<MessageDelta> {
        match event {
            ProviderEvent::Text { block, delta } => {
                let at = self.open(block, || Block::Text(String::new()));
                if let Block::Text(text) = &mut self.blocks[at] {
                    text.push_str(&delta);
                }
                let delta = Some(delta).filter(|delta| !delta.is_empty())?;
                Some(MessageDelta {
                    text_delta: Some(delta),
                    ..self.delta(at, DeltaKind::Text)
                })
            }
            ProviderEvent::Thinking { block, delta } => {
                let at = self.thinking(block);
                if let Block::Thinking { text, .. } = &mut self.blocks[at] {
                    text.push_str(&delta);
                }
                let delta = Some(delta).filter(|delta| !delta.is_empty())?;
                Some(MessageDelta {
                    text_delta: Some(delta),
                    ..self.delta(at, DeltaKind::Thinking)
                })
            }
            ProviderEvent::Signature {
                block,
                signature: proof,
            } => {
                let at = self.thinking(block);
                if let Block::Thinking { signature, .. } = &mut self.blocks[at] {
                    *signature = Some(proof);
                }
                None
            }
            ProviderEvent::ToolCall { block, id, name } => {
                let id = if id.is_empty() || taken(&id) || self.has_call(&id) {
                    fresh_call_id()
                } else {
                    id
                };
                let at = self.open(block, || Block::ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    args: String::new(),
                });
                Some(MessageDelta {
                    tool_call_id: Some(id),
                    name: Some(name),
                    ..self.delta(at, DeltaKind::ToolCall)
                })
            }
            ProviderEvent::ToolArgs { block, delta } => {
                let at = (block as usize).min(self.blocks.len().saturating_sub(1));
                match self.blocks.get_mut(at) {
                    Some(Block::ToolCall { args, .. }) => args.push_str(&delta),
                    _ => return None,
                }
                Some(MessageDelta {
                    args_delta: Some(delta),
                    ..self.delta(at, DeltaKind::ToolCall)
                })
            }
            ProviderEvent::Usage(usage) => {
                self.usage = Some(usage);
                None
            }
            ProviderEvent::Stop(_) => None,
        }
    }

    /// Opens the block if it is the next one, and gives its place. Blocks are opened in order, so a
    /// number beyond the end is the end.
    fn open(&mut self, block: u32, make: impl FnOnce() -> Block) -> usize {
        let at = (block as usize).min(self.blocks.len());
        if at == self.blocks.len() {
            self.blocks.push(make());
        }
        at
    }

    fn has_call(&self, wanted: &str) -> bool {
        self.blocks
            .iter()
            .any(|block| matches!(block, Block::ToolCall { id, .. } if id == wanted))
    }

    fn thinking(&mut self, block: u32) -> usize {
        self.open(block, || Block::Thinking {
            text: String::new(),
            signature: None,
        })
    }

    fn delta(&self, at: usize, kind: DeltaKind) -> MessageDelta {
        MessageDelta {
            message_id: self.id.clone(),
            block_index: u32::try_from(at).unwrap_or(u32::MAX),
            kind,
            text_delta: None,
            tool_call_id: None,
            name: None,
            args_delta: None,
        }
    }

    /// The message as far as it has come.
    pub(super) fn message(&self) -> Message {
        let content = self.blocks.iter().map(|block| self.block(block)).collect();
        Message {
            id: self.id.clone(),
            role: Role::Assistant,
            content,
            partial: true,
        }
    }

    /// What is worth keeping of a message that broke off: no call of it may run, and none is kept.
    pub(super) fn broken_off(&self) -> Vec<ContentBlock> {
        let kept = self.blocks.iter().filter(|block| match block {
            Block::Text(text) => !text.trim().is_empty(),
            Block::Thinking { text, .. } => !text.trim().is_empty(),
            Block::ToolCall { .. } => false,
        });
        kept.map(|block| self.block(block)).collect()
    }

    /// The whole message. When its end was `cut` off, the arguments of a call that was last may be
    /// incomplete, however whole they look.
    pub(super) fn finish(&self, cut: bool) -> Finished {
        let blank = |block: &Block| matches!(block, Block::Text(text) if text.trim().is_empty());
        let content = if self.blocks.iter().all(blank) {
            Vec::new()
        } else {
            self.blocks.iter().map(|block| self.block(block)).collect()
        };
        let last = self.blocks.len().saturating_sub(1);
        let calls = self
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(at, block)| match block {
                Block::ToolCall { id, name, args } => {
                    let args = if cut && at == last {
                        Err(CUT.to_owned())
                    } else {
                        parse(args)
                    };
                    Some(Call {
                        id: id.clone(),
                        name: name.clone(),
                        args,
                    })
                }
                _ => None,
            });
        Finished {
            calls: calls.collect(),
            content,
        }
    }

    fn block(&self, block: &Block) -> ContentBlock {
        match block {
            Block::Text(text) => ContentBlock::Text { text: text.clone() },
            Block::Thinking { text, signature } => ContentBlock::Thinking {
                text: text.clone(),
                signature: signature.clone(),
                model: Some(self.model.clone()),
            },
            // What is stored must be valid, whatever came: broken arguments are told to the model in
            // the call's result.
            Block::ToolCall { id, name, args } => ContentBlock::ToolCall {
                id: id.clone(),
                name: name.clone(),
                args: parse(args).unwrap_or_default(),
            },
        }
    }
}

fn fresh_call_id() -> String {
    format!("call-{}", Uuid::now_v7().simple())
}

/// What the model is told of a call whose arguments were cut.
const CUT: &str = "the answer reached the output limit in the middle of this call, so its arguments \
                   are incomplete and nothing was run; make the call again in smaller pieces";

fn parse(args: &str) -> Result<Map<String, Value>, String> {
    if args.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(args) {
        Ok(Value::Object(args)) => Ok(args),
        Ok(_) => {
            Err("the arguments are no JSON object, so nothing was run; send an object".to_owned())
        }
        Err(error) => Err(format!(
            "the arguments are not valid JSON (line {}, column {}), so nothing was run; send them again",
            error.line(),
            error.column()
        )),
    }
}
