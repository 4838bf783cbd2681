//! Messages and their content blocks (`docs/PROTOCOL.md`, "Shared types").

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{EntryId, RenderDescriptor};

/// Who speaks. Tool results travel as messages of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A person, or a tool answering on their side.
    User,
    /// The model.
    Assistant,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The id of the session entry that holds the message.
    pub id: EntryId,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<ContentBlock>,
    /// The message is still being streamed, or its stream broke off: what stands here is what
    /// had come.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

impl Message {
    /// The text blocks, joined.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            ContentBlock::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    /// Plain text, markdown by habit.
    Text {
        /// The text.
        text: String,
    },
    /// The model asks for a tool.
    ToolCall {
        /// Pairs the call with its result; made by the provider, or by Shard where it made none.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, by the tool's input schema.
        args: Map<String, Value>,
    },
    /// What a tool answered.
    ToolResult {
        /// The id of the call.
        tool_call_id: String,
        /// What the model reads.
        content: ToolResultContent,
        /// The call failed, was refused or did not start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        /// Exit code of the process, where the tool ran one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Wall-clock time in milliseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// What a client may draw instead of the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        render: Option<RenderDescriptor>,
    },
    /// What the model thought before it answered.
    Thinking {
        /// The text; empty when the provider hides it.
        text: String,
        /// The provider's proof of origin. A signed block goes back only to the model that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        /// The id of the model that made the block, `provider/model`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A picture.
    Image {
        /// Base64; empty when `omitted`.
        data: String,
        /// Such as `image/png`.
        mime_type: String,
        /// The data was left out of this copy to keep it small; the session holds it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        omitted: bool,
    },
}

/// What a tool gives back to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolResultContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A value.
    Json {
        /// The value.
        value: Value,
    },
    /// Why it did not work.
    Error {
        /// What was tried, on what, and what to do next.
        message: String,
    },
}

impl ToolResultContent {
    /// Text content.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Error content.
    pub fn error(message: impl Into<String>) -> Self {
        Self::Error {
            message: message.into(),
        }
    }

    /// What it says, as text: a value as JSON.
    #[must_use]
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Text { text: said } | Self::Error { message: said } => Cow::Borrowed(said),
            Self::Json { value } => Cow::Owned(value.to_string()),
        }
    }
}

/// A picture that a person attaches to a prompt, or that a tool gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Image {
    /// Always `image`.
    #[serde(rename = "type")]
    pub tag: ImageTag,
    /// Base64.
    pub data: String,
    /// Such as `image/png`.
    pub mime_type: String,
}

impl Image {
    /// As a block of a message.
    #[must_use]
    pub fn block(&self) -> ContentBlock {
        ContentBlock::Image {
            data: self.data.clone(),
            mime_type: self.mime_type.clone(),
            omitted: false,
        }
    }
}

/// The constant `image`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImageTag {
    /// The only value.
    #[default]
    Image,
}
