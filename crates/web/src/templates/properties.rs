//! The properties with which a text begins, as a table.

use maud::{Markup, html};
use serde_json::Value;
use vademecum_formats::text::markdown::property_values;
use vademecum_model::FrontMatterBlock;

use super::parts::{is_web_address, tag_link};

/// Maximum number of properties, and of the values of one, that are shown.
const MAX_SHOWN: usize = 100;

/// Properties in the order of the text.
#[derive(Debug)]
pub(super) struct Properties(Vec<(String, Value)>);

impl Properties {
    /// Reads front matter; `None` if it cannot be parsed or is too long.
    pub(super) fn read(block: &FrontMatterBlock<'_>) -> Option<Self> {
        if block.matter.len() > FrontMatterBlock::MAX_READ_BYTES {
            return None;
        }
        let mut values: Vec<(String, Value)> = property_values(block)?.into_iter().collect();
        let line_of = |name: &str| {
            let is_named = |line: &str| {
                let line = line.trim_start_matches(['"', '\'']);
                line.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            };
            block.matter.lines().position(is_named).unwrap_or(usize::MAX)
        };
        values.sort_by_cached_key(|(name, _)| line_of(name));
        Some(Self(values))
    }
}

/// Renders properties. Links lead to web addresses, items and tags.
pub(super) fn properties_table(
    properties: &Properties,
    resolve: &dyn Fn(&str) -> Option<String>,
    is_marked: bool,
) -> Markup {
    html! {
        @if !properties.0.is_empty() {
            table.properties id=[is_marked.then_some("passage")] {
                caption.hidden { "Properties" }
                tbody {
                    @for (name, value) in properties.0.iter().take(MAX_SHOWN) {
                        tr { th scope="row" { (name) } td { (cell(name, value, resolve)) } }
                    }
                }
            }
        }
    }
}

fn cell(name: &str, value: &Value, resolve: &dyn Fn(&str) -> Option<String>) -> Markup {
    match value {
        Value::Array(values) => html! {
            @for (index, value) in values.iter().take(MAX_SHOWN).enumerate() {
                @if index > 0 { ", " }
                (cell(name, value, resolve))
            }
        },
        Value::String(text) => text_value(name, text, resolve),
        Value::Bool(is_true) => html! { (if *is_true { "yes" } else { "no" }) },
        Value::Null => html! { "–" },
        Value::Number(number) => html! { (number) },
        Value::Object(_) => html! { code { (value) } },
    }
}

fn text_value(name: &str, text: &str, resolve: &dyn Fn(&str) -> Option<String>) -> Markup {
    if matches!(name.to_lowercase().as_str(), "tags" | "tag" | "keywords") {
        return tag_link(text.trim_start_matches('#'));
    }
    if is_web_address(text) {
        return html! { a href=(text) rel="noreferrer" { (text) } };
    }
    let link = text.strip_prefix("[[").and_then(|inside| inside.strip_suffix("]]"));
    let Some(link) = link else { return html! { (text) } };
    let (target, label) = link.split_once('|').unwrap_or((link, link));
    html! {
        @match resolve(target) {
            Some(path) => a href=(path) { (label) },
            None => (label),
        }
    }
}
