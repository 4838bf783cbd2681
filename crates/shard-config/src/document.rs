//! A JSON text with the places of its keys and values.
//!
//! The parser is `serde_json`'s, twice: once for the values, once for raw slices of the text,
//! whose addresses tell where they stand. Duplicate keys are refused here, because nothing
//! behind this point could see them.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::describe;
use crate::key_path::{KeyPath, Step, quoted};
use crate::{ConfigError, Diagnostic, Position};

/// Far above any configuration that a person keeps; what is longer is some other file.
pub(crate) const MAX_BYTES: usize = 1 << 20;

/// Keys that begin with this are remarks, wherever they stand.
pub(crate) const REMARK: &str = "//";

/// A parsed text whose root is an object.
pub(crate) struct Document<'a> {
    file: &'a Path,
    pub(crate) text: &'a str,
    pub(crate) root: Node,
    /// The values without remarks.
    value: Value,
}

/// A value and where it stands, as bytes of the text.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) shape: Shape,
}

#[derive(Debug)]
pub(crate) enum Shape {
    Object(Vec<Member>),
    Array(Vec<Node>),
    Scalar,
}

/// One key with its value.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) key: String,
    /// Where the key's opening quote stands.
    pub(crate) start: usize,
    pub(crate) value: Node,
}

impl<'a> Document<'a> {
    /// Reads `text`, which came from `file`.
    pub(crate) fn parse(text: &'a str, file: &'a Path) -> Result<Self, ConfigError> {
        // Some editors put a byte order mark in front; it is no part of the JSON.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole = |message: String, offset| Diagnostic {
            file: file.to_owned(),
            position: Position::of(text, offset),
            key: String::new(),
            message,
        };
        if text.len() > MAX_BYTES {
            let message = format!("longer than {MAX_BYTES} bytes; is this the right file?");
            return Err(whole(message, 0).into());
        }
        let unreadable = |error: &serde_json::Error| {
            let offset = offset_of(text, error);
            whole(describe::syntax(error, text, offset), offset)
        };
        // This pass bounds the depth, which the second one relies on.
        let mut value: Value = serde_json::from_str(text).map_err(|e| unreadable(&e))?;
        let raw: &RawValue = serde_json::from_str(text).map_err(|e| unreadable(&e))?;
        let root = Node::read(text, raw).map_err(|e| unreadable(&e))?;
        if !value.is_object() {
            let message = "expected one JSON object, { … }".to_owned();
            return Err(whole(message, root.start).into());
        }
        remove_remarks(&mut value);
        let document = Self {
            file,
            text,
            root,
            value,
        };
        document.refuse_duplicates()?;
        Ok(document)
    }

    /// Reads the values into a type; the first one that does not fit is the error.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Diagnostic> {
        serde_path_to_error::deserialize(&self.value).map_err(|error| {
            let message = describe::mismatch(&error.inner().to_string());
            self.at(&KeyPath::from(error.path()), message)
        })
    }

    /// A diagnostic at the value that `path` leads to, or at the last value on the way.
    pub(crate) fn at(&self, path: &KeyPath, message: impl Into<String>) -> Diagnostic {
        let mut node = &self.root;
        for step in path.steps() {
            match node.child(step) {
                Some(child) => node = child,
                None => break,
            }
        }
        self.diagnostic(node.start, path.to_string(), message.into())
    }

    /// A diagnostic about an object at `path`, placed at the key of one of its members.
    pub(crate) fn at_key(&self, member: &Member, path: &KeyPath, message: String) -> Diagnostic {
        self.diagnostic(member.start, path.to_string(), message)
    }

    fn diagnostic(&self, offset: usize, key: String, message: String) -> Diagnostic {
        let position = Position::of(self.text, offset);
        let file = self.file.to_owned();
        Diagnostic {
            file,
            position,
            key,
            message,
        }
    }

    fn refuse_duplicates(&self) -> Result<(), ConfigError> {
        let mut found = Vec::new();
        self.collect_duplicates(&self.root, &KeyPath::default(), &mut found);
        if found.is_empty() {
            Ok(())
        } else {
            Err(ConfigError::Invalid(found))
        }
    }

    fn collect_duplicates(&self, node: &Node, path: &KeyPath, found: &mut Vec<Diagnostic>) {
        match &node.shape {
            Shape::Scalar => {}
            Shape::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.collect_duplicates(item, &path.index(index), found);
                }
            }
            Shape::Object(members) => {
                let mut seen = std::collections::BTreeSet::new();
                for member in members {
                    let path = path.key(&member.key);
                    if !member.is_remark() && !seen.insert(&member.key) {
                        let message =
                            format!("{} stands here twice; keep one", quoted(&member.key));
                        found.push(self.diagnostic(member.start, path.to_string(), message));
                    }
                    self.collect_duplicates(&member.value, &path, found);
                }
            }
        }
    }
}

impl Node {
    fn read(text: &str, raw: &RawValue) -> Result<Self, serde_json::Error> {
        let slice = raw.get();
        let start = offset_in(text, slice);
        let shape = match slice.as_bytes().first() {
            Some(b'{') => {
                let Members(pairs) = serde_json::from_str(slice)?;
                let members = pairs
                    .into_iter()
                    .map(|(key, value)| Member::read(text, key, value));
                Shape::Object(members.collect::<Result<_, _>>()?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(slice)?;
                let nodes = items.into_iter().map(|item| Self::read(text, item));
                Shape::Array(nodes.collect::<Result<_, _>>()?)
            }
            _ => Shape::Scalar,
        };
        Ok(Self {
            start,
            end: start + slice.len(),
            shape,
        })
    }

    /// The member of an object that has this key.
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        match &self.shape {
            Shape::Object(members) => members.iter().find(|member| member.key == key),
            Shape::Array(_) | Shape::Scalar => None,
        }
    }

    fn child(&self, step: &Step) -> Option<&Self> {
        match (step, &self.shape) {
            (Step::Key(key), _) => self.member(key).map(|member| &member.value),
            (Step::Index(index), Shape::Array(items)) => items.get(*index),
            (Step::Index(_), _) => None,
        }
    }
}

impl Member {
    fn read(text: &str, key: &RawValue, value: &RawValue) -> Result<Self, serde_json::Error> {
        Ok(Self {
            key: serde_json::from_str(key.get())?,
            start: offset_in(text, key.get()),
            value: Node::read(text, value)?,
        })
    }

    pub(crate) fn is_remark(&self) -> bool {
        self.key.starts_with(REMARK)
    }
}

/// The members of an object in their order, duplicates included.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Members(pairs))
            }
        }
        from.deserialize_map(InOrder)
    }
}

/// Where `slice`, a part of `text`, begins in it.
fn offset_in(text: &str, slice: &str) -> usize {
    slice.as_ptr().addr().saturating_sub(text.as_ptr().addr())
}

/// The byte that a syntax error is about. `serde_json` counts the bytes of the line it has read.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let mut lines = text.split_inclusive('\n');
    let before: usize = lines
        .by_ref()
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    before + error.column().saturating_sub(1)
}

fn remove_remarks(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !key.starts_with(REMARK));
            map.values_mut().for_each(remove_remarks);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_remarks),
        _ => {}
    }
}
