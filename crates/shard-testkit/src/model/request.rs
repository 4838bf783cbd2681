//! A request as it reached the scripted model, with views that hide the provider's format.

use std::time::Instant;

use serde_json::Value;

/// Whose wire format a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// OpenAI chat completions, and every server that copies them.
    OpenAi,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Responses, Self::Anthropic];
}

/// One request to the scripted model.
#[derive(Debug, Clone)]
pub struct Request {
    /// The HTTP method.
    pub method: String,
    /// The path, with its query.
    pub path: String,
    /// Names in lower case, in the order in which they came.
    pub headers: Vec<(String, String)>,
    /// The body; null when there was none, a string when it was no JSON.
    pub body: Value,
    /// When it had come as a whole.
    pub arrived: Instant,
}

impl Request {
    /// The format of a chat request; none for anything else.
    #[must_use]
    pub fn provider(&self) -> Option<Provider> {
        let path = self.path.split('?').next().unwrap_or_default();
        match (self.method.as_str(), path) {
            ("POST", "/v1/chat/completions") => Some(Provider::OpenAi),
            ("POST", "/v1/responses") => Some(Provider::Responses),
            ("POST", "/v1/messages") => Some(Provider::Anthropic),
            _ => None,
        }
    }

    /// The first header of that name, which is given in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the client wants the connection closed after the answer.
    pub(super) fn wants_close(&self) -> bool {
        let connection = self.header("connection").unwrap_or_default();
        connection.eq_ignore_ascii_case("close")
    }

    /// The model that is asked for, without a provider's name.
    #[must_use]
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// The messages as they stand in the body; with Responses the items, of which only some are
    /// messages.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        let list = self.body.get("input").unwrap_or(&self.body["messages"]);
        items(list)
    }

    /// The system prompt; several parts are joined by line breaks.
    #[must_use]
    pub fn system(&self) -> String {
        let is_system =
            |message: &&Value| matches!(message["role"].as_str(), Some("system" | "developer"));
        let mut parts = vec![
            plain(&self.body["system"]),
            plain(&self.body["instructions"]),
        ];
        parts.extend(
            self.messages()
                .iter()
                .filter(is_system)
                .map(|message| plain(&message["content"])),
        );
        parts.retain(|part| !part.is_empty());
        parts.join("\n")
    }

    /// The names of the tools that are offered, in order.
    #[must_use]
    pub fn tools(&self) -> Vec<&str> {
        let tools = items(&self.body["tools"]).iter();
        tools
            .filter_map(|tool| tool.get("function").unwrap_or(tool)["name"].as_str())
            .collect()
    }

    /// What the user says, one text for each message that has any; tool results are left out.
    #[must_use]
    pub fn user_texts(&self) -> Vec<String> {
        let users = self.messages().iter().filter(|m| m["role"] == "user");
        users
            .map(|message| own_text(&message["content"]))
            .filter(|text| !text.is_empty())
            .collect()
    }

    /// What the assistant said, one text for each message that has any.
    #[must_use]
    pub fn assistant_texts(&self) -> Vec<String> {
        let turns = self.messages().iter().filter(|m| m["role"] == "assistant");
        turns
            .map(|message| own_text(&message["content"]))
            .filter(|text| !text.is_empty())
            .collect()
    }

    /// The tool calls in the history: id and name, in order.
    #[must_use]
    pub fn tool_calls(&self) -> Vec<(String, String)> {
        let mut calls = Vec::new();
        for message in self.messages() {
            for call in items(&message["tool_calls"]) {
                calls.push((owned(&call["id"]), owned(&call["function"]["name"])));
            }
            for block in blocks(message, "tool_use") {
                calls.push((owned(&block["id"]), owned(&block["name"])));
            }
            if message["type"] == "function_call" {
                calls.push((owned(&message["call_id"]), owned(&message["name"])));
            }
        }
        calls
    }

    /// The tool results in the history: id of the call and text, in order.
    #[must_use]
    pub fn tool_results(&self) -> Vec<(String, String)> {
        let mut results = Vec::new();
        for message in self.messages() {
            if message["role"] == "tool" {
                results.push((owned(&message["tool_call_id"]), plain(&message["content"])));
            }
            for block in blocks(message, "tool_result") {
                results.push((owned(&block["tool_use_id"]), plain(&block["content"])));
            }
            if message["type"] == "function_call_output" {
                results.push((owned(&message["call_id"]), plain(&message["output"])));
            }
        }
        results
    }
}

/// The elements of an array; none for anything else.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The content blocks of one type.
pub(super) fn blocks<'a>(message: &'a Value, kind: &'a str) -> impl Iterator<Item = &'a Value> {
    let content = items(&message["content"]).iter();
    content.filter(move |block| block["type"] == kind)
}

fn owned(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn is_text(kind: &Value) -> bool {
    matches!(kind.as_str(), Some("text" | "input_text" | "output_text"))
}

/// The text of a string or of text blocks, joined without a separator.
fn own_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        other => items(other)
            .iter()
            .filter(|block| is_text(&block["type"]))
            .filter_map(|block| block["text"].as_str())
            .collect(),
    }
}

/// The text of a string or of blocks, a line break between blocks.
fn plain(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        other => {
            let texts = items(other).iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn request(path: &str, body: Value) -> Request {
        Request {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: vec![("x-api-key".to_owned(), "k".to_owned())],
            body,
            arrived: Instant::now(),
        }
    }

    /// All formats say the same here.
    fn check(request: &Request) {
        assert_eq!(request.model(), "m1");
        assert_eq!(request.system(), "Be brief.");
        assert_eq!(request.tools(), ["ls"]);
        assert_eq!(request.user_texts(), ["Hello", "Go on"]);
        assert_eq!(request.assistant_texts(), ["Let me look."]);
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(request.tool_calls(), [pair("c1", "ls")]);
        assert_eq!(request.tool_results(), [pair("c1", "one\ntwo")]);
        assert_eq!(request.header("x-api-key"), Some("k"));
    }

    #[test]
    fn the_views_read_openai() {
        let function = json!({"name": "ls", "arguments": "{}"});
        let request = request(
            "/v1/chat/completions",
            json!({"model": "m1", "tools": [{"type": "function", "function": {"name": "ls"}}],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": "Let me look.",
                    "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": "c1", "content": "one\ntwo"},
                {"role": "user", "content": [{"type": "text", "text": "Go on"}]},
            ]}),
        );
        assert_eq!(request.provider(), Some(Provider::OpenAi));
        check(&request);
    }

    #[test]
    fn the_views_read_responses() {
        let said = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
        let request = request(
            "/v1/responses",
            json!({"model": "m1", "instructions": "Be brief.",
            "tools": [{"type": "function", "name": "ls"}],
            "input": [
                said("user", "input_text", "Hello"),
                {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
                said("assistant", "output_text", "Let me look."),
                {"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "one\ntwo"},
                said("user", "input_text", "Go on"),
            ]}),
        );
        assert_eq!(request.provider(), Some(Provider::Responses));
        check(&request);
    }

    #[test]
    fn the_views_read_anthropic() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let call = json!({"type": "tool_use", "id": "c1", "name": "ls", "input": {}});
        let result = json!({"type": "tool_result", "tool_use_id": "c1",
            "content": [text("one"), text("two")]});
        let request = request(
            "/v1/messages?beta=true",
            json!({"model": "m1", "system": [text("Be brief.")], "tools": [{"name": "ls"}],
            "messages": [
                {"role": "user", "content": "Hello"},
                {"role": "assistant", "content": [text("Let me look."), call]},
                {"role": "user", "content": [result, text("Go on")]},
            ]}),
        );
        assert_eq!(request.provider(), Some(Provider::Anthropic));
        check(&request);
    }
}
