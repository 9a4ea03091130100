//! Lists page by page.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Failure, jsonrpc};

/// Entries on a page.
const SIZE: usize = 100;

/// One page of a list, under its name, with a cursor if there is another.
pub(crate) fn page<T: Serialize>(
    name: &str,
    entries: &[T],
    cursor: Option<&str>,
) -> Result<String, Failure> {
    let start = cursor.map_or(Ok(0), |cursor| read(name, cursor))?;
    let end = start.saturating_add(SIZE).min(entries.len());
    let shown = entries.get(start..end).ok_or_else(|| unknown(name))?;
    let mut list = json!({ name: shown });
    if let Value::Object(fields) = &mut list
        && end < entries.len()
    {
        let cursor = URL_SAFE_NO_PAD.encode(format!("{name} {end}"));
        fields.insert("nextCursor".to_owned(), cursor.into());
    }
    Ok(jsonrpc::json(&list))
}

fn read(name: &str, cursor: &str) -> Result<usize, Failure> {
    let read = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        text.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()
    };
    read().ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Failure {
    Failure::parameters(format!(
        "params.cursor is none of this list of {name}; begin again without one"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(count: usize) -> Vec<u64> {
        let entries: Vec<usize> = (0..count).collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let list: Value =
                serde_json::from_str(&page("tools", &entries, cursor.as_deref()).unwrap()).unwrap();
            seen.extend(
                list["tools"].as_array().unwrap().iter().map(|entry| entry.as_u64().unwrap()),
            );
            match list["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => return seen,
            }
        }
    }

    #[test]
    fn every_entry_is_on_one_page() {
        for count in [0, 1, SIZE - 1, SIZE, SIZE + 1, 3 * SIZE] {
            assert_eq!(walk(count), (0..count as u64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_cursor_of_nowhere_is_refused() {
        let entries: Vec<usize> = (0..SIZE * 2).collect();
        let of_prompts = URL_SAFE_NO_PAD.encode("prompts 100");
        let beyond = URL_SAFE_NO_PAD.encode("tools 900");
        for cursor in ["", "x", "%", &of_prompts, &beyond] {
            page("tools", &entries, Some(cursor)).unwrap_err();
        }
    }
}
