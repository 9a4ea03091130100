//! Coerces arguments that do not fit a tool's schema where the intent is clear: an alias of an
//! argument, a number in quotes, a single string for a list. All rules follow from the schema, so
//! tools do not take part.

use serde_json::{Map, Value};
use vademecum_actors::CallError;
use vademecum_mcp::{closest_name, did_you_mean, normalize_name};

use super::schema::schema_types;

/// Aliases of arguments: the canonical name and its aliases, in lower case and without underscores.
/// The first canonical name that the tool has wins.
const ARGUMENT_ALIASES: [(&str, &[&str]); 21] = [
    ("query", &["q", "sql", "text", "question", "search", "searchquery", "input", "terms"]),
    ("limit", &["k", "n", "topk", "topn", "count", "maxresults", "numresults", "pagesize", "size"]),
    ("offset", &["skip", "start", "from", "startindex", "nextoffset"]),
    ("snippet_length", &["snippetsize", "snippetlen", "maxsnippetlength", "snippet"]),
    ("highlight", &["highlights"]),
    ("sources", &["source", "in", "collections"]),
    ("source", &["collection"]),
    ("order_by", &["sort", "sortby", "order"]),
    ("filters", &["filter"]),
    ("session", &["sessionid", "handle"]),
    ("keywords", &["keyword", "tags", "tag"]),
    ("media_types", &["mediatype", "type", "types"]),
    ("tags", &["keywords", "keyword", "tag", "labels"]),
    ("content", &["text", "body", "markdown"]),
    ("version", &["expectedversion"]),
    ("uri", &["id"]),
    ("id", &["uri", "itemid", "documentid", "docid", "noteid", "mediaid", "conversationid"]),
    ("note_id", &["id", "uri", "note"]),
    ("media_id", &["id", "uri", "media", "documentid"]),
    ("conversation_id", &["id", "uri", "conversation", "chat", "chatid"]),
    ("prompt_id_or_name", &["id", "uri", "name", "prompt", "promptid", "promptname"]),
];

/// Aliases of `character_id`, for the tool that returns a character; in other tools it is a
/// filter.
const CHARACTER_ID_ALIASES: (&str, &[&str]) = ("character_id", &["id", "uri", "character"]);

/// Coerces the arguments of a tool with input schema `schema`. Fails on an unknown argument and on
/// two names for the same argument.
pub(crate) fn coerce_arguments(schema: &Value, arguments: Value) -> Result<Value, CallError> {
    coerce_value(schema, arguments, "")
}

fn coerce_value(schema: &Value, value: Value, place: &str) -> Result<Value, CallError> {
    let types = schema_types(schema);
    let takes = |name: &str| types.contains(&name);
    Ok(match value {
        Value::Object(fields) if schema.get("properties").is_some() => {
            Value::Object(coerce_fields(schema, fields, place)?)
        }
        Value::Array(values) if takes("array") => {
            let Some(items) = schema.get("items") else { return Ok(Value::Array(values)) };
            let mended = values.into_iter().map(|value| coerce_value(items, value, place));
            Value::Array(mended.collect::<Result<_, _>>()?)
        }
        Value::String(text) if takes("string") => Value::String(match_enum_value(schema, text)),
        Value::String(text) => coerce_text(schema, &types, text, place)?,
        Value::Number(number) if takes("string") && !takes("integer") => {
            Value::String(number.to_string())
        }
        Value::Number(number) if takes("integer") => {
            parse_integer(&number.to_string()).unwrap_or(Value::Number(number))
        }
        other => other,
    })
}

/// Coerces a string to another type: the value in quotes, or a single element for a list.
fn coerce_text(
    schema: &Value,
    types: &[&str],
    text: String,
    place: &str,
) -> Result<Value, CallError> {
    let trimmed = text.trim();
    let quoted = trimmed.starts_with(['{', '[']).then(|| serde_json::from_str(trimmed).ok());
    for name in types {
        let meant = match *name {
            "object" => quoted.clone().flatten().filter(Value::is_object),
            "array" => match quoted.clone().flatten().filter(Value::is_array) {
                Some(list) => Some(list),
                None => Some(text_to_list(schema, trimmed)),
            },
            "integer" => parse_integer(trimmed),
            "boolean" => trimmed.to_lowercase().parse().ok().map(Value::Bool),
            _ => None,
        };
        if let Some(meant) = meant {
            return coerce_value(schema, meant, place);
        }
    }
    Ok(Value::String(text))
}

/// Converts a string to a list. It is split at commas only if the elements are an enum.
fn text_to_list(schema: &Value, text: &str) -> Value {
    let names = schema.get("items").and_then(|items| items.get("enum")).is_some();
    if names {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
    } else {
        Value::Array(vec![text.into()])
    }
}

/// Parses an integer, including one written as `10.0`.
fn parse_integer(text: &str) -> Option<Value> {
    let digits = match text.split_once('.') {
        Some((digits, fraction)) if fraction.bytes().all(|digit| digit == b'0') => digits,
        _ => text,
    };
    digits.parse::<i64>().ok().map(Value::from)
}

/// Returns the enum value that equals `text` up to case and punctuation, or `text` itself.
fn match_enum_value(schema: &Value, text: String) -> String {
    let names = schema.get("enum").and_then(Value::as_array);
    let mut names = names.into_iter().flatten().filter_map(Value::as_str);
    let meant = normalize_name(&text);
    names.find(|name| normalize_name(name) == meant).map_or(text, str::to_owned)
}

fn coerce_fields(
    schema: &Value,
    fields: Map<String, Value>,
    place: &str,
) -> Result<Map<String, Value>, CallError> {
    let Some(known) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(fields);
    };
    let mut mended = Map::new();
    let mut called: Map<String, Value> = Map::new();
    for (name, value) in fields {
        let Some((real, inner)) = find_argument(known, &name) else {
            return Err(unknown_argument(known, &name, place));
        };
        if let Some(Value::String(other)) = called.get(real) {
            return Err(invalid_arguments(
                place,
                &format!("`{other}` and `{name}` are the same argument; pass only `{real}`"),
            ));
        }
        mended.insert(real.clone(), coerce_value(inner, value, &join_path(place, real))?);
        called.insert(real.clone(), name.into());
    }
    Ok(mended)
}

/// Finds the argument by its name, by its name in another style, or by an alias.
fn find_argument<'a>(known: &'a Map<String, Value>, name: &str) -> Option<(&'a String, &'a Value)> {
    let meant = normalize_name(name);
    let same = |(real, _): &(&String, &Value)| normalize_name(real) == meant;
    known.get_key_value(name).or_else(|| known.iter().find(same)).or_else(|| {
        let gets_character = !known.contains_key("query");
        let only = gets_character.then_some(CHARACTER_ID_ALIASES);
        let mut aliases = ARGUMENT_ALIASES.into_iter().chain(only);
        aliases.find_map(|(real, others)| {
            others.contains(&meant.as_str()).then(|| known.get_key_value(real)).flatten()
        })
    })
}

/// Builds the error for an unknown argument, with the closest known name.
fn unknown_argument(known: &Map<String, Value>, name: &str, place: &str) -> CallError {
    let inner = known.iter().find(|(_, inner)| {
        let fields = inner.get("properties").and_then(Value::as_object);
        fields.is_some_and(|fields| fields.contains_key(name))
    });
    let meant = match inner {
        Some((outer, _)) => Some(join_path(&join_path(place, outer), name)),
        None => {
            closest_name(name, known.keys().map(String::as_str)).map(|name| join_path(place, name))
        }
    };
    let hint = did_you_mean(meant.as_deref());
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let expected = match names.as_slice() {
        [] => "no fields are expected".to_owned(),
        names => format!("expected one of {}", names.join(", ")),
    };
    invalid_arguments(place, &format!("unknown field `{name}`{hint}; {expected}"))
}

fn invalid_arguments(place: &str, problem: &str) -> CallError {
    CallError::Invalid(match place {
        "" => problem.to_owned(),
        place => format!("{place}: {problem}"),
    })
}

fn join_path(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "properties": {
            "query": { "type": "string" },
            "limit": { "type": "integer" },
            "highlight": { "type": "boolean" },
            "sources": { "type": "array", "items": { "type": "string", "enum": ["notes", "media"] } },
            "keywords": { "type": "array", "items": { "type": "string" } },
            "retrieval": { "type": "object", "properties": {
                "mode": { "type": "string", "enum": ["full", "chunk_with_siblings"] },
            }},
        }})
    }

    fn coerced(arguments: Value) -> Value {
        coerce_arguments(&schema(), arguments).unwrap()
    }

    fn coercion_error(arguments: Value) -> String {
        coerce_arguments(&schema(), arguments).unwrap_err().to_string()
    }

    #[test]
    fn alias_becomes_canonical_argument_name() {
        assert_eq!(
            coerced(json!({ "q": "x", "topK": 3, "Tags": ["a"] })),
            json!({ "query": "x", "limit": 3, "keywords": ["a"] })
        );
    }

    #[test]
    fn quoted_value_is_coerced_to_schema_type() {
        assert_eq!(
            coerced(json!({ "query": 2024, "limit": "10", "highlight": "True" })),
            json!({ "query": "2024", "limit": 10, "highlight": true })
        );
        assert_eq!(coerced(json!({ "limit": 10.0 })), json!({ "limit": 10 }));
        assert_eq!(coerced(json!({ "limit": "ten" })), json!({ "limit": "ten" }));
        assert_eq!(coerced(json!({ "limit": 2.5 })), json!({ "limit": 2.5 }));
    }

    #[test]
    fn single_text_is_coerced_to_list() {
        assert_eq!(
            coerced(json!({ "sources": "Notes, media" })),
            json!({ "sources": ["notes", "media"] })
        );
        assert_eq!(coerced(json!({ "keywords": "a, b" })), json!({ "keywords": ["a, b"] }));
        assert_eq!(coerced(json!({ "keywords": "[\"a\"]" })), json!({ "keywords": ["a"] }));
    }

    #[test]
    fn quoted_object_is_parsed() {
        let meant = json!({ "retrieval": { "mode": "chunk_with_siblings" } });
        assert_eq!(coerced(json!({ "retrieval": r#"{"mode":"chunk-with-siblings"}"# })), meant);
        assert_eq!(coerced(json!(r#"{"retrieval": {"MODE": "CHUNK_WITH_SIBLINGS"}}"#)), meant);
    }

    #[test]
    fn duplicate_argument_error_names_both_aliases() {
        let error = coercion_error(json!({ "query": "x", "q": "y" }));
        assert!(error.contains("`q` and `query`"), "{error}");
        let error = coercion_error(json!({ "k": 1, "top_k": 2 }));
        assert!(error.contains("`k` and `top_k`") && error.contains("`limit`"), "{error}");
    }

    #[test]
    fn unknown_argument_error_suggests_closest_name() {
        let error = coercion_error(json!({ "lmit": 1 }));
        assert!(error.contains("`lmit`, did you mean `limit`?"), "{error}");
        let error = coercion_error(json!({ "mode": "full" }));
        assert!(error.contains("did you mean `retrieval.mode`?"), "{error}");
        let error = coercion_error(json!({ "retrieval": { "mod": 1 } }));
        assert!(error.starts_with("retrieval: ") && error.contains("`retrieval.mode`"), "{error}");
        assert!(coercion_error(json!({ "colour": 1 })).contains("expected one of"));
    }
}
