//! Arguments of a call: from their JSON, and as the schema that a model is sent.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Reads the arguments. The loop has held them against the schema, but a schema cannot say all
/// that a type can: `10.0` is an integer to it, and so is a number of any size.
pub(crate) fn parse<T: DeserializeOwned + JsonSchema>(
    input: Map<String, Value>,
) -> Result<T, String> {
    let unfit = unfit_number::<T>(&input);
    serde_json::from_value(Value::Object(input)).map_err(|error| match unfit {
        // What was given is not repeated: as it was parsed it may read as another number.
        Some(name) => format!(
            "{name} does not fit: it must be a whole number from 0 to {}, without a decimal point \
             or an exponent",
            u64::MAX
        ),
        None => format!("the arguments do not fit: {error}"),
    })
}

/// The first argument that should be a whole number and is another one.
fn unfit_number<T: JsonSchema>(input: &Map<String, Value>) -> Option<String> {
    let other = |value: &Value| value.is_number() && !value.is_u64();
    let mut others = input.iter().filter(|(_, value)| other(value)).peekable();
    others.peek()?;
    let schema = schema::<T>();
    let is_whole = |name: &str| {
        let kind = &schema["properties"][name]["type"];
        let mut kinds = kind.as_array().into_iter().flatten().chain([kind]);
        kinds.any(|kind| kind == "integer")
    };
    let (name, _) = others.find(|(name, _)| is_whole(name))?;
    Some(name.clone())
}

/// The schema of `T` without what only a validator's author reads: it is sent with every request.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object.remove("description");
    }
    if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        fields.values_mut().for_each(slim);
    }
    schema
}

fn slim(field: &mut Value) {
    if let Some(field) = field.as_object_mut() {
        field.remove("format");
        field.retain(|key, value| key != "default" || !value.is_null());
    }
}

/// The text argument `name`; empty when it is missing, which resolves to the working folder.
pub(crate) fn text<'a>(input: &'a Map<String, Value>, name: &str) -> &'a str {
    input.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The folder that a listing or search starts from: the argument, or the working folder.
pub(crate) fn start(path: Option<&str>) -> &str {
    path.filter(|path| !path.is_empty()).unwrap_or(".")
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    /// Not for a model.
    #[derive(Debug, Deserialize, JsonSchema)]
    struct Example {
        /// Which.
        name: String,
        /// How many.
        count: Option<u64>,
    }

    #[test]
    fn a_schema_says_what_a_model_needs_and_no_more() {
        let want = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "Which." },
                "count": { "type": ["integer", "null"], "minimum": 0, "description": "How many." },
            },
            "required": ["name"],
        });
        assert_eq!(schema::<Example>(), want);
    }

    #[test]
    fn a_number_that_is_too_large_is_named_and_not_repeated_as_another() {
        for number in ["18446744073709551616", "1e300", "-1", "10.0"] {
            let input = format!(r#"{{ "name": "x", "unknown": 0.5, "count": {number} }}"#);
            let error = parse::<Example>(serde_json::from_str(&input).unwrap()).unwrap_err();
            let want = "count does not fit: it must be a whole number from 0 to \
                        18446744073709551615, without a decimal point or an exponent";
            assert_eq!(error, want, "{number}");
        }
        let input = r#"{ "name": "x", "count": 18446744073709551615 }"#;
        let parsed: Example = parse(serde_json::from_str(input).unwrap()).unwrap();
        assert_eq!(parsed.count, Some(u64::MAX));
    }

    #[test]
    fn arguments_that_do_not_fit_are_named() {
        let input = json!({ "name": "x", "count": 1.5, "unknown": true });
        let error = parse::<Example>(input.as_object().unwrap().clone()).unwrap_err();
        assert!(error.starts_with("count does not fit: "), "{error}");
        let input = json!({ "name": 1.5, "count": 1 });
        let error = parse::<Example>(input.as_object().unwrap().clone()).unwrap_err();
        assert!(error.contains("expected a string"), "{error}");
        let input = json!({ "name": "x", "unknown": true });
        let parsed: Example = parse(input.as_object().unwrap().clone()).unwrap();
        assert_eq!((parsed.name.as_str(), parsed.count), ("x", None));
    }
}
