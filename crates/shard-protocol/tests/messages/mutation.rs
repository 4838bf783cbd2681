//! Samples with one thing wrong.

use serde_json::{Value, json};

/// Stands where something else belongs; no error may repeat it.
const NUMBER: u64 = 4_417_712_300;
/// The same for texts; made to lead a search for the ends of an error message astray.
const TEXT: &str = "spoiled at line 4417712300, expected nothing";

/// A sample with one thing wrong.
#[derive(Debug)]
pub(crate) struct Mutation {
    /// The keys and indexes that lead to it.
    pub(crate) path: Vec<String>,
    pub(crate) value: Value,
}

impl Mutation {
    /// Whether an error repeats the value that was put in.
    pub(crate) fn is_repeated_in(&self, error: &str) -> bool {
        error.contains("4417712300") || error.contains("spoiled")
    }

    /// The path as errors write it, such as `images[0].data`.
    pub(crate) fn written_path(&self) -> String {
        let mut text = String::new();
        for step in &self.path {
            match step.parse::<usize>() {
                Ok(index) => text.push_str(&format!("[{index}]")),
                Err(_) if text.is_empty() => text.push_str(step),
                Err(_) => text.push_str(&format!(".{step}")),
            }
        }
        text
    }
}

/// Each field and each item with a value of another type.
pub(crate) fn wrong_types(sample: &Value) -> Vec<Mutation> {
    let wrong = |value: &Value| {
        if value.is_number() || value.is_boolean() {
            json!(TEXT)
        } else {
            json!(NUMBER)
        }
    };
    mutate(sample, |value, path| {
        let tag = path.len() == 1 && path[0] == "type";
        (!tag && value.get("any").is_none()).then(|| wrong(value))
    })
}

/// Each text replaced by another one, which only some fields can tell from a good one.
pub(crate) fn other_texts(sample: &Value) -> Vec<Mutation> {
    mutate(sample, |value, path| {
        let tag = path.len() == 1 && path[0] == "type";
        (!tag && value.is_string()).then(|| json!(TEXT))
    })
}

/// Each key left out.
pub(crate) fn left_out(sample: &Value) -> Vec<Mutation> {
    paths(sample)
        .into_iter()
        .filter(|path| path.last().is_some_and(|key| key.parse::<usize>().is_err()))
        .filter(|path| path.len() > 1 || path[0] != "type")
        .map(|path| {
            let mut value = sample.clone();
            let (key, parents) = path.split_last().unwrap();
            at(&mut value, parents)
                .as_object_mut()
                .unwrap()
                .remove(key)
                .unwrap();
            Mutation { path, value }
        })
        .collect()
}

fn mutate(sample: &Value, wrong: impl Fn(&Value, &[String]) -> Option<Value>) -> Vec<Mutation> {
    let mut mutations = Vec::new();
    for path in paths(sample) {
        let mut value = sample.clone();
        let place = at(&mut value, &path);
        if let Some(wrong) = wrong(place, &path) {
            *place = wrong;
            mutations.push(Mutation { path, value });
        }
    }
    mutations
}

fn at<'a>(value: &'a mut Value, path: &[String]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
        _ => value.get_mut(step).unwrap(),
    })
}

/// Every place of a sample but its root and what is inside of values of any type.
fn paths(value: &Value) -> Vec<Vec<String>> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(i, v)| (i.to_string(), v))
            .collect(),
        _ => Vec::new(),
    };
    let mut all = Vec::new();
    for (step, child) in children {
        if step == "any" || step.starts_with("free_") {
            continue;
        }
        all.push(vec![step.clone()]);
        let below = paths(child).into_iter();
        all.extend(below.map(|rest| [vec![step.clone()], rest].concat()));
    }
    all
}
