//! Lists of models as servers give them.

use serde_json::Value;
use shard_types::ModelSpec;

/// Where servers put the size of the context window, the most telling first: what a server was
/// started with bounds a call, whatever the model was trained for.
const WINDOWS: [&str; 8] = [
    "/loaded_context_length",
    "/max_model_len",
    "/meta/n_ctx",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/max_input_tokens",
    "/meta/n_ctx_train",
];

/// Reads a list; `None` when it is none. What a list does not tell stays unknown: no window, and
/// no pictures.
pub(super) fn models(list: &Value) -> Option<Vec<ModelSpec>> {
    let entries = list.get("data").and_then(Value::as_array)?;
    Some(entries.iter().filter_map(model).collect())
}

fn model(entry: &Value) -> Option<ModelSpec> {
    let id = entry
        .get("id")?
        .as_str()
        .filter(|id| !id.trim().is_empty())?;
    let window = |place: &&str| entry.pointer(place)?.as_u64().filter(|&tokens| tokens > 0);
    Some(ModelSpec {
        id: id.to_owned(),
        context_window: WINDOWS.iter().find_map(window),
        ..ModelSpec::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn windows_are_found_where_servers_put_them() {
        let list = json!({ "object": "list", "data": [
            { "id": "plain" },
            { "id": "openrouter", "context_length": 131_072 },
            { "id": "vllm", "max_model_len": 4096 },
            { "id": "llama.cpp", "meta": { "n_ctx_train": 32_768 } },
            { "id": "llama.cpp-new", "meta": { "n_ctx_train": 32_768, "n_ctx": 8192 } },
            { "id": "zero", "context_length": 0 },
            { "id": " " }, { "name": "no id" }, 7,
        ]});
        let found = models(&list).expect("a list");
        let pairs: Vec<_> = found
            .iter()
            .map(|m| (m.id.as_str(), m.context_window))
            .collect();
        let want = [
            ("plain", None),
            ("openrouter", Some(131_072)),
            ("vllm", Some(4096)),
            ("llama.cpp", Some(32_768)),
            ("llama.cpp-new", Some(8192)),
            ("zero", None),
        ];
        assert_eq!(pairs, want);
        assert!(
            found
                .iter()
                .all(|m| !m.images && m.max_output_tokens.is_none())
        );
        assert_eq!(models(&json!({ "models": [] })), None);
    }
}
