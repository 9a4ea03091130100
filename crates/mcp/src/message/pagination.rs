//! Cursor pagination of lists.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{Failure, message::jsonrpc};

/// Entries per page.
const PAGE_SIZE: usize = 100;

/// Returns one page of a list as `{name: […], nextCursor?}`. Fails if the cursor is invalid for
/// this list.
pub(crate) fn list_page<T: Serialize>(
    name: &str,
    entries: &[T],
    cursor: Option<&str>,
) -> Result<String, Failure> {
    let start = cursor.map_or(Ok(0), |cursor| decode_cursor(name, cursor))?;
    let end = start.saturating_add(PAGE_SIZE).min(entries.len());
    let shown = entries.get(start..end).ok_or_else(|| unknown_cursor(name))?;
    let mut list = json!({ name: shown });
    if let Value::Object(fields) = &mut list
        && end < entries.len()
    {
        let cursor = URL_SAFE_NO_PAD.encode(format!("{name} {end}"));
        fields.insert("nextCursor".to_owned(), cursor.into());
    }
    Ok(jsonrpc::to_json(&list))
}

fn decode_cursor(name: &str, cursor: &str) -> Result<usize, Failure> {
    let read = || {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
        text.strip_prefix(name)?.strip_prefix(' ')?.parse().ok()
    };
    read().ok_or_else(|| unknown_cursor(name))
}

fn unknown_cursor(name: &str) -> Failure {
    Failure::invalid_params(format!(
        "params.cursor is not a cursor of the list of {name}; start again without one"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect_all_pages(count: usize) -> Vec<u64> {
        let entries: Vec<usize> = (0..count).collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let list: Value =
                serde_json::from_str(&list_page("tools", &entries, cursor.as_deref()).unwrap())
                    .unwrap();
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
    fn list_page_shows_every_entry_once() {
        for count in [0, 1, PAGE_SIZE - 1, PAGE_SIZE, PAGE_SIZE + 1, 3 * PAGE_SIZE] {
            assert_eq!(collect_all_pages(count), (0..count as u64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn unknown_cursor_is_rejected() {
        let entries: Vec<usize> = (0..PAGE_SIZE * 2).collect();
        let of_prompts = URL_SAFE_NO_PAD.encode("prompts 100");
        let beyond = URL_SAFE_NO_PAD.encode("tools 900");
        for cursor in ["", "x", "%", &of_prompts, &beyond] {
            list_page("tools", &entries, Some(cursor)).unwrap_err();
        }
    }
}
