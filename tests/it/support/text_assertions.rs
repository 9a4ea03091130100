//! Assertions that the text of a tool result agrees with its structured content.

use serde_json::Value;

/// Asserts that a text agrees with the structured content: it is either the same JSON, or readable
/// lines with everything that is needed for follow-up calls.
pub(crate) fn assert_text_matches(text: &str, structured: &Value) {
    if let Ok(json @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
        assert_eq!(json, *structured);
    } else if text.starts_with("Knowledgebase ") {
        for hit in structured["results"].as_array().unwrap() {
            assert!(text.contains(hit["text"].as_str().unwrap().trim()), "{text}: {hit}");
        }
    } else if let Some(products) = structured["products"].as_array() {
        for product in products {
            let name = product["name"].as_str().unwrap();
            assert!(text.contains(&format!("Product: {name}\n")), "{text}: {product}");
        }
    } else if let Some(hits) = structured["results"].as_array() {
        assert_page_text(text, structured, hits);
    } else if let Some(vector) = structured["embedding"].as_array() {
        assert!(text.contains(&format!("Dimensions: {}\n", vector.len())), "{text}");
    } else if structured["item"].is_object() {
        assert_links_text(text, structured);
    } else if structured["meta"].is_object() {
        assert_item_text(text, structured);
    } else {
        assert_eq!(structured["content"], text);
    }
}

/// Asserts that a page lists every hit with its URI, in order, beside those that the session has shown
/// before, and names the offset of the next page.
fn assert_page_text(text: &str, page: &Value, hits: &[Value]) {
    let before = page["_meta"]["already_shown"].as_array().into_iter().flatten();
    let omitted: Vec<String> = before
        .filter(|shown| hits.iter().all(|hit| hit["uri"] != shown["uri"]))
        .map(|shown| format!(" — {} — shown before", shown["uri"].as_str().unwrap()))
        .collect();
    let is_omitted = |line: &str| omitted.iter().any(|ending| line.ends_with(ending));
    let (left_out, heads): (Vec<&str>, Vec<&str>) =
        text.lines().filter(|line| line.starts_with("- ")).partition(|line| is_omitted(line));
    assert_eq!(left_out.len(), omitted.len(), "{text}\n{page}");
    assert_eq!(heads.len(), hits.len(), "{text}\n{page}");
    for (head, hit) in heads.iter().zip(hits) {
        let uri = format!(" — {}", hit["uri"].as_str().unwrap());
        assert!(head.contains(&uri), "{head}: {hit}");
    }
    let last = text.lines().last().unwrap();
    if let Some(next) = page["next_offset"].as_u64() {
        assert!(last.contains(&format!("offset {next}")), "{last}: {page}");
    }
    if !hits.is_empty() {
        let total = page.get("total").unwrap_or(&page["total_estimated"]);
        assert!(last.contains(&format!("of {total}")), "{last}: {page}");
    }
    let about = &page["_meta"];
    let failed = about["failed_sources"].as_array().into_iter().flatten();
    let named = failed
        .map(|failed| failed.get("collection").unwrap_or(&failed["source"]))
        .chain([&about["session"], &about["searched_for"]]);
    for name in named.filter_map(Value::as_str) {
        assert!(last.contains(name), "{last}: {page}");
    }
}

/// Asserts that the text of links has the URIs of all linked items and all unresolved targets.
fn assert_links_text(text: &str, links: &Value) {
    let lists = ["out", "in", "shared", "files", "unresolved"];
    for link in lists.iter().filter_map(|list| links[list].as_array()).flatten() {
        let name = link.get("uri").unwrap_or(&link["text"]).as_str().unwrap();
        assert!(text.contains(name), "{text}: {link}");
    }
}

/// Asserts that the text of an item has its URI and content, and names the offset of the rest.
fn assert_item_text(text: &str, item: &Value) {
    let meta = &item["meta"];
    assert!(text.lines().nth(1).unwrap().starts_with(meta["uri"].as_str().unwrap()), "{text}");
    let mut texts: Vec<&Value> = Vec::new();
    match &item["content"] {
        Value::Object(fields) => match fields.get("messages") {
            Some(Value::Array(messages)) => {
                texts.extend(messages.iter().map(|message| &message["content"]));
            }
            _ => texts.extend(fields.values()),
        },
        content => texts.push(content),
    }
    for part in texts.into_iter().filter_map(Value::as_str) {
        assert!(text.contains(part), "{text}: {part}");
    }
    if let Some(next) = item["range"]["next_offset"].as_u64() {
        assert!(text.contains(&next.to_string()), "{text}: {next}");
    }
}
