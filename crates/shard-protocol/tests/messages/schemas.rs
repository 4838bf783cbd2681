//! The generated JSON Schemas, as the tests look things up in them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use crate::sample::{Place, Sample};

/// All schemas, by the name of their family.
pub(crate) struct Schemas(BTreeMap<&'static str, Value>);

impl Schemas {
    pub(crate) fn load() -> Self {
        let all = shard_protocol::schema::all().into_iter();
        Self(
            all.map(|(name, schema)| (name, schema.to_value()))
                .collect(),
        )
    }

    /// The schema of one place, able to stand alone.
    pub(crate) fn get(&self, place: Place) -> Option<Value> {
        let alone = |root: &Value, mut part: Map<String, Value>| {
            part.insert("$defs".to_owned(), root["$defs"].clone());
            Value::Object(part)
        };
        match place {
            Place::Family(name) => Some(self.0[name].clone()),
            Place::Data(command) => {
                let root = &self.0["data"];
                let part = root["properties"].get(command);
                let part = part.unwrap_or_else(|| panic!("no schema of the data of {command}"));
                Some(alone(root, part.as_object().unwrap().clone()))
            }
            Place::Definition(name) => {
                let (root, part) = self.definition(name);
                Some(alone(root, part.as_object().unwrap().clone()))
            }
            Place::Nowhere => None,
        }
    }

    fn definition(&self, name: &str) -> (&Value, &Value) {
        let mut found = self
            .0
            .values()
            .filter_map(|root| Some((root, root["$defs"].get(name)?)));
        found
            .next()
            .unwrap_or_else(|| panic!("no schema defines {name}"))
    }

    pub(crate) fn validator(&self, place: Place) -> Option<jsonschema::Validator> {
        let schema = self.get(place)?;
        Some(jsonschema::validator_for(&schema).unwrap())
    }

    /// The validators of all samples that have a schema.
    pub(crate) fn validators(&self, samples: &[Sample]) -> HashMap<Place, jsonschema::Validator> {
        let places: HashSet<Place> = samples.iter().map(|sample| sample.place).collect();
        let with_schema = |place| Some((place, self.validator(place)?));
        places.into_iter().filter_map(with_schema).collect()
    }

    /// Names of everything that messages are made of.
    pub(crate) fn definitions(&self) -> BTreeSet<&str> {
        let all = self.0.values().filter_map(|root| root["$defs"].as_object());
        all.flat_map(|definitions| definitions.keys().map(String::as_str))
            .collect()
    }

    /// The words that a closed list of words allows; none for other definitions.
    pub(crate) fn words(&self, name: &str) -> BTreeSet<String> {
        fn collect(part: &Value, words: &mut BTreeSet<String>) {
            let text = |word: &Value| word.as_str().unwrap().to_owned();
            words.extend(part.get("const").map(text));
            words.extend(part["enum"].as_array().into_iter().flatten().map(text));
            for key in ["oneOf", "anyOf"] {
                part[key]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|part| collect(part, words));
            }
        }
        let mut words = BTreeSet::new();
        collect(self.definition(name).1, &mut words);
        words
    }

    /// The tags of a definition that comes in several kinds; none for other definitions.
    pub(crate) fn tags(&self, name: &str) -> BTreeSet<(String, String)> {
        let kinds = self.definition(name).1["oneOf"]
            .as_array()
            .into_iter()
            .flatten();
        let properties = kinds.filter_map(|kind| kind["properties"].as_object());
        let tags = properties.flatten().filter_map(|(key, property)| {
            Some((key.clone(), property["const"].as_str()?.to_owned()))
        });
        tags.collect()
    }

    /// The keys of an object of this place, with whether they must be there. For a family, those
    /// of its type `kind`. None where the keys depend on a field.
    pub(crate) fn keys(&self, place: Place, kind: &str) -> Option<BTreeMap<String, bool>> {
        let root = self.get(place)?;
        let mut part = &root;
        if let Some(kinds) = root["oneOf"].as_array() {
            part = kinds
                .iter()
                .find(|part| part["properties"]["type"]["const"] == kind)?;
        }
        let mut keys = BTreeMap::new();
        loop {
            if let Some(properties) = part["properties"].as_object() {
                let required = part["required"].as_array().cloned().unwrap_or_default();
                keys.extend(
                    properties
                        .keys()
                        .map(|key| (key.clone(), required.contains(&key.as_str().into()))),
                );
            }
            let Some(reference) = part["$ref"].as_str() else {
                break;
            };
            part = root.pointer(&reference[1..]).unwrap();
        }
        (!keys.is_empty()).then_some(keys)
    }
}
