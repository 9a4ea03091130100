//! The log of operations on a document that VS Code writes for a chat.

use serde_json::Value;

use crate::session_file::for_each_line;

/// Maximum length of a path in a document.
const MAX_DEPTH: usize = 32;
/// Maximum length of a list in a document.
const MAX_ITEMS: usize = 1_000_000;

/// Replays a log and returns the document, and the number of lines that could not be read.
pub(super) fn replay(bytes: &[u8]) -> (Value, usize) {
    let mut document = Value::Null;
    let mut unusable = 0;
    let unread = for_each_line(
        bytes,
        |_| false,
        |mut line| {
            let kind = line.get("kind").and_then(Value::as_u64);
            let value = line.get_mut("v").map(Value::take);
            let path = line.get("k").and_then(Value::as_array).cloned().unwrap_or_default();
            let from =
                line.get("i").and_then(Value::as_u64).and_then(|it| usize::try_from(it).ok());
            let done = match kind {
                Some(0) => {
                    document = value.unwrap_or_default();
                    Some(())
                }
                Some(1) => {
                    place(&mut document, &path).map(|place| *place = value.unwrap_or_default())
                }
                Some(2) => append(&mut document, &path, value, from),
                Some(3) => delete(&mut document, &path),
                _ => None,
            };
            unusable += usize::from(done.is_none());
        },
    );
    (document, unread + unusable)
}

/// Returns the value at a path. Missing fields of an object are created.
fn place<'a>(document: &'a mut Value, path: &[Value]) -> Option<&'a mut Value> {
    if path.len() > MAX_DEPTH {
        return None;
    }
    path.iter().try_fold(document, |value, key| match (value, key) {
        (Value::Object(fields), Value::String(key)) => {
            Some(fields.entry(key).or_insert(Value::Null))
        }
        (Value::Array(list), Value::Number(index)) => {
            let index = usize::try_from(index.as_u64()?).ok()?;
            if index == list.len() && index < MAX_ITEMS {
                list.push(Value::Null);
            }
            list.get_mut(index)
        }
        _ => None,
    })
}

/// Appends items to a list. With `from`, they replace its end from there.
fn append(
    document: &mut Value,
    path: &[Value],
    items: Option<Value>,
    from: Option<usize>,
) -> Option<()> {
    let place = place(document, path)?;
    if place.is_null() {
        *place = Value::Array(Vec::new());
    }
    let list = place.as_array_mut()?;
    list.truncate(from.unwrap_or(list.len()));
    if let Some(Value::Array(items)) = items {
        list.extend(items.into_iter().take(MAX_ITEMS));
    }
    Some(())
}

fn delete(document: &mut Value, path: &[Value]) -> Option<()> {
    let (last, folders) = path.split_last()?;
    match (place(document, folders)?, last) {
        (Value::Object(fields), Value::String(key)) => fields.remove(key).map(|_| ()),
        (Value::Array(list), Value::Number(index)) => {
            let index =
                usize::try_from(index.as_u64()?).ok().filter(|index| *index < list.len())?;
            list.remove(index);
            Some(())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn operations_change_the_document() {
        let log = concat!(
            r#"{"kind":0,"v":{"a":[1],"b":2,"c":3}}"#,
            "\n",
            r#"{"kind":1,"k":["a",0],"v":{"x":1}}"#,
            "\n",
            r#"{"kind":2,"k":["a"],"v":[5,6,7]}"#,
            "\n",
            r#"{"kind":2,"k":["a"],"i":2,"v":[8]}"#,
            "\n",
            r#"{"kind":3,"k":["c"]}"#,
            "\n",
            r#"{"kind":1,"k":["a",99999999],"v":1}"#,
            "\n",
            r#"{"kind":1,"k":["b","d"],"v":1}"#,
            "\n",
        );
        assert_eq!(replay(log.as_bytes()), (json!({"a": [{"x": 1}, 5, 8], "b": 2}), 2));
    }
}
