//! Tells unknown keys apart by the schema, so that no list of keys is kept by hand.

use serde_json::{Map, Value};

use crate::document::{Document, Member, Node, Shape};
use crate::key_path::{KeyPath, quoted};
use crate::{ConfigError, Diagnostic};

/// How alike two keys must be, from 0 to 1, for one to be a likely slip for the other.
const ALIKE: f64 = 0.6;

/// Warnings about keys that the schema does not have.
///
/// # Errors
/// A list in the place of an object: a derived deserializer would take its items for the
/// object's keys in order.
pub(crate) fn check(
    document: &Document<'_>,
    schema: &Value,
) -> Result<Vec<Diagnostic>, ConfigError> {
    let mut walk = Walk {
        document,
        schema,
        unknown: Vec::new(),
        wrong: Vec::new(),
    };
    walk.visit(&document.root, schema, &KeyPath::default());
    if walk.wrong.is_empty() {
        Ok(walk.unknown)
    } else {
        Err(ConfigError::Invalid(walk.wrong))
    }
}

/// The known key that was probably meant, or all of them.
pub(crate) fn suggest<'k>(key: &str, known: impl Iterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.collect();
    match nearest(key, known.iter().copied()) {
        Some(meant) => format!("did you mean \"{meant}\"?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

/// The most similar of `names`, if any is similar at all.
pub(crate) fn nearest<'k>(name: &str, names: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let name = name.to_lowercase();
    let alike = |other: &str| strsim::normalized_damerau_levenshtein(&name, &other.to_lowercase());
    let scored = names
        .map(|other| (alike(other), other))
        .filter(|(score, _)| *score >= ALIKE);
    scored
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, other)| other)
}

struct Walk<'d> {
    document: &'d Document<'d>,
    schema: &'d Value,
    unknown: Vec<Diagnostic>,
    wrong: Vec<Diagnostic>,
}

impl<'d> Walk<'d> {
    fn visit(&mut self, node: &Node, schema: &'d Value, path: &KeyPath) {
        let schema = self.resolve(schema);
        // Such objects are read by code that reports unknown keys itself.
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            return;
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        match (&node.shape, properties) {
            (Shape::Object(members), Some(properties)) => {
                self.visit_struct(members, properties, path)
            }
            (Shape::Object(members), None) => {
                if let Some(each @ Value::Object(_)) = schema.get("additionalProperties") {
                    for member in members.iter().filter(|member| !member.is_remark()) {
                        self.visit(&member.value, each, &path.key(&member.key));
                    }
                }
            }
            (Shape::Array(_), Some(_)) => {
                self.wrong
                    .push(self.document.at(path, "expected an object, { … }"));
            }
            (Shape::Array(items), None) => {
                if let Some(each) = schema.get("items") {
                    for (index, item) in items.iter().enumerate() {
                        self.visit(item, each, &path.index(index));
                    }
                }
            }
            (Shape::Scalar, _) => {}
        }
    }

    fn visit_struct(
        &mut self,
        members: &[Member],
        properties: &'d Map<String, Value>,
        path: &KeyPath,
    ) {
        for member in members.iter().filter(|member| !member.is_remark()) {
            match properties.get(&member.key) {
                Some(schema) => self.visit(&member.value, schema, &path.key(&member.key)),
                None => {
                    let hint = suggest(&member.key, properties.keys().map(String::as_str));
                    let message = format!("unknown key {} is ignored; {hint}", quoted(&member.key));
                    self.unknown
                        .push(self.document.at_key(member, path, message));
                }
            }
        }
    }

    /// Follows references, and `T | null` to `T`.
    fn resolve(&self, schema: &'d Value) -> &'d Value {
        let mut schema = schema;
        loop {
            let next = match (schema.get("$ref"), schema.get("anyOf")) {
                (Some(Value::String(reference)), _) => reference
                    .strip_prefix('#')
                    .and_then(|pointer| self.schema.pointer(pointer)),
                (_, Some(Value::Array(choices))) => choices
                    .iter()
                    .find(|choice| choice.get("type") != Some(&Value::from("null"))),
                _ => None,
            };
            match next {
                Some(next) => schema = next,
                None => return schema,
            }
        }
    }
}
