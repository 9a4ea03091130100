//! Arguments that are not quite what a tool takes, mended where it is plain
//! what was meant: another name for the same thing, a number in quotes, one
//! text for a list of them. What a tool takes is read from its schema, so no
//! tool needs to know of this.

use serde_json::{Map, Value};

use super::schema::types;
use crate::actors::CallError;
use vademecum_mcp::{hint, nearest, plain};

/// What arguments are called elsewhere: the name here, and the others without
/// regard to case and underscores. The first name that a tool takes counts.
const ALIASES: [(&str, &[&str]); 21] = [
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

/// The only tool that has it as what is read; elsewhere it is a filter.
const CHARACTER: (&str, &[&str]) = ("character_id", &["id", "uri", "character"]);

/// Mends the arguments of a tool that takes what `schema` says.
pub(crate) fn forgive(schema: &Value, arguments: Value) -> Result<Value, CallError> {
    mend(schema, arguments, "")
}

fn mend(schema: &Value, value: Value, place: &str) -> Result<Value, CallError> {
    let types = types(schema);
    let takes = |name: &str| types.contains(&name);
    Ok(match value {
        Value::Object(fields) if schema.get("properties").is_some() => {
            Value::Object(mend_fields(schema, fields, place)?)
        }
        Value::Array(values) if takes("array") => {
            let Some(items) = schema.get("items") else { return Ok(Value::Array(values)) };
            let mended = values.into_iter().map(|value| mend(items, value, place));
            Value::Array(mended.collect::<Result<_, _>>()?)
        }
        Value::String(text) if takes("string") => Value::String(as_listed(schema, text)),
        Value::String(text) => from_text(schema, &types, text, place)?,
        Value::Number(number) if takes("string") && !takes("integer") => {
            Value::String(number.to_string())
        }
        Value::Number(number) if takes("integer") => {
            whole(&number.to_string()).unwrap_or(Value::Number(number))
        }
        other => other,
    })
}

/// A text in place of something else: the same thing in quotes, or one of what
/// is wanted as a list.
fn from_text(
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
                None => Some(as_list(schema, trimmed)),
            },
            "integer" => whole(trimmed),
            "boolean" => trimmed.to_lowercase().parse().ok().map(Value::Bool),
            _ => None,
        };
        if let Some(meant) = meant {
            return mend(schema, meant, place);
        }
    }
    Ok(Value::String(text))
}

/// One text as a list. Where only certain names can be meant, commas part them.
fn as_list(schema: &Value, text: &str) -> Value {
    let names = schema.get("items").and_then(|items| items.get("enum")).is_some();
    if names {
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
    } else {
        Value::Array(vec![text.into()])
    }
}

/// A whole number, also one that is written `10.0`.
fn whole(text: &str) -> Option<Value> {
    let digits = match text.split_once('.') {
        Some((digits, fraction)) if fraction.bytes().all(|digit| digit == b'0') => digits,
        _ => text,
    };
    digits.parse::<i64>().ok().map(Value::from)
}

/// A name as the schema lists it, if it differs in style only.
fn as_listed(schema: &Value, text: String) -> String {
    let names = schema.get("enum").and_then(Value::as_array);
    let mut names = names.into_iter().flatten().filter_map(Value::as_str);
    let meant = plain(&text);
    names.find(|name| plain(name) == meant).map_or(text, str::to_owned)
}

fn mend_fields(
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
        let Some((real, inner)) = find(known, &name) else {
            return Err(unknown(known, &name, place));
        };
        if let Some(Value::String(other)) = called.get(real) {
            return Err(invalid(
                place,
                &format!("`{other}` and `{name}` say the same; pass `{real}` only"),
            ));
        }
        mended.insert(real.clone(), mend(inner, value, &inside(place, real))?);
        called.insert(real.clone(), name.into());
    }
    Ok(mended)
}

/// The argument that is meant by a name.
fn find<'a>(known: &'a Map<String, Value>, name: &str) -> Option<(&'a String, &'a Value)> {
    let meant = plain(name);
    let same = |(real, _): &(&String, &Value)| plain(real) == meant;
    known.get_key_value(name).or_else(|| known.iter().find(same)).or_else(|| {
        let only = (known.len() == 1).then_some(CHARACTER);
        let mut aliases = ALIASES.into_iter().chain(only);
        aliases.find_map(|(real, others)| {
            others.contains(&meant.as_str()).then(|| known.get_key_value(real)).flatten()
        })
    })
}

/// Says that nothing of that name is taken, and what might have been meant.
fn unknown(known: &Map<String, Value>, name: &str, place: &str) -> CallError {
    let inner = known.iter().find(|(_, inner)| {
        let fields = inner.get("properties").and_then(Value::as_object);
        fields.is_some_and(|fields| fields.contains_key(name))
    });
    let meant = match inner {
        Some((outer, _)) => Some(inside(&inside(place, outer), name)),
        None => nearest(name, known.keys().map(String::as_str)).map(|name| inside(place, name)),
    };
    let hint = hint(meant.as_deref());
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let expected = match names.as_slice() {
        [] => "it takes none".to_owned(),
        names => format!("expected one of {}", names.join(", ")),
    };
    invalid(place, &format!("unknown field `{name}`{hint}; {expected}"))
}

fn invalid(place: &str, problem: &str) -> CallError {
    CallError::Invalid(match place {
        "" => problem.to_owned(),
        place => format!("{place}: {problem}"),
    })
}

fn inside(place: &str, name: &str) -> String {
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

    fn mended(arguments: Value) -> Value {
        forgive(&schema(), arguments).unwrap()
    }

    fn problem(arguments: Value) -> String {
        forgive(&schema(), arguments).unwrap_err().to_string()
    }

    #[test]
    fn another_name_for_the_same_thing_is_understood() {
        assert_eq!(
            mended(json!({ "q": "x", "topK": 3, "Tags": ["a"] })),
            json!({ "query": "x", "limit": 3, "keywords": ["a"] })
        );
    }

    #[test]
    fn a_value_in_another_form_is_understood() {
        assert_eq!(
            mended(json!({ "query": 2024, "limit": "10", "highlight": "True" })),
            json!({ "query": "2024", "limit": 10, "highlight": true })
        );
        assert_eq!(mended(json!({ "limit": 10.0 })), json!({ "limit": 10 }));
        assert_eq!(mended(json!({ "limit": "ten" })), json!({ "limit": "ten" }));
        assert_eq!(mended(json!({ "limit": 2.5 })), json!({ "limit": 2.5 }));
    }

    #[test]
    fn one_text_is_understood_as_a_list() {
        assert_eq!(
            mended(json!({ "sources": "Notes, media" })),
            json!({ "sources": ["notes", "media"] })
        );
        assert_eq!(mended(json!({ "keywords": "a, b" })), json!({ "keywords": ["a, b"] }));
        assert_eq!(mended(json!({ "keywords": "[\"a\"]" })), json!({ "keywords": ["a"] }));
    }

    #[test]
    fn an_object_in_quotes_is_understood() {
        let meant = json!({ "retrieval": { "mode": "chunk_with_siblings" } });
        assert_eq!(mended(json!({ "retrieval": r#"{"mode":"chunk-with-siblings"}"# })), meant);
        assert_eq!(mended(json!(r#"{"retrieval": {"MODE": "CHUNK_WITH_SIBLINGS"}}"#)), meant);
    }

    #[test]
    fn two_names_for_the_same_thing_are_refused_by_name() {
        let said = problem(json!({ "query": "x", "q": "y" }));
        assert!(said.contains("`q` and `query`"), "{said}");
        let said = problem(json!({ "k": 1, "top_k": 2 }));
        assert!(said.contains("`k` and `top_k`") && said.contains("`limit`"), "{said}");
    }

    #[test]
    fn an_unknown_name_is_refused_with_what_was_meant() {
        let said = problem(json!({ "lmit": 1 }));
        assert!(said.contains("`lmit`, did you mean `limit`?"), "{said}");
        let said = problem(json!({ "mode": "full" }));
        assert!(said.contains("did you mean `retrieval.mode`?"), "{said}");
        let said = problem(json!({ "retrieval": { "mod": 1 } }));
        assert!(said.starts_with("retrieval: ") && said.contains("`retrieval.mode`"), "{said}");
        assert!(problem(json!({ "colour": 1 })).contains("expected one of"));
    }
}
