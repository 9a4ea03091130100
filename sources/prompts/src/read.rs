//! Reading prompts, as hits and as items.

use rusqlite::{Row, named_params};
use serde_json::{Value, json};
use vademecum_kit::{
    model::{
        Body, Draft, Get, Hit, Item, ItemId, Mode, PromptDraft, SourceName, Timestamp, Uri, View,
    },
    retrieve::{Fields, Finder, Shown},
    source::SourceError,
    store::{Reader, StoreError},
};

/// A prompt as it is stored.
#[expect(clippy::struct_field_names, reason = "fields are named as their columns")]
struct Prompt {
    id: i64,
    name: String,
    author: Option<String>,
    details: Option<String>,
    system_prompt: Option<String>,
    user_prompt: Option<String>,
    last_modified: Option<Timestamp>,
    version: i64,
    keywords: Vec<String>,
}

/// Reads matches for a list of results.
pub(crate) fn show(reader: &Reader<'_>, view: &View) -> Result<Vec<Hit>, SourceError> {
    let searched = &view.filters.fields;
    let is_searched =
        |name: &str| searched.is_empty() || searched.iter().any(|field| field.as_str() == name);
    let finder = Finder::from(view);
    let mut hits = Vec::with_capacity(view.wanted.len());
    for wanted in &view.wanted {
        let Some(prompt) = find(reader, Some(wanted.key), None)? else { continue };
        let shown = fields(&prompt).show(&finder, is_searched);
        let Shown { snippet, loc, highlights, matched } = shown;
        let score = wanted.score;
        hits.push(Hit { snippet, highlights, matched, loc, score, ..hit(&prompt) });
    }
    Ok(hits)
}

/// Reads one prompt, by its name or by its id.
///
/// A text is a name first: a prompt may be called `3`. A number is an id.
pub(crate) fn get(reader: &Reader<'_>, get: &Get) -> Result<Item, SourceError> {
    let by_name = match &get.id {
        ItemId::Text(name) => find(reader, None, Some(name))?,
        ItemId::Number(_) => None,
    };
    let prompt = match (by_name, get.id.as_number()) {
        (Some(prompt), _) => Some(prompt),
        (None, Some(id)) => find(reader, Some(id), None)?,
        (None, None) => None,
    };
    let prompt = prompt.ok_or_else(|| SourceError::not_found("prompt", &get.id))?;
    let meta = hit(&prompt);
    if get.retrieval.mode == Mode::Full {
        let content = object(&prompt);
        return Ok(Item { meta, content, attachments: None, range: None });
    }
    let passage = fields(&prompt).read(&get.retrieval, &get.about);
    Ok(Item::of_passage(meta, passage, get.retrieval.mode))
}

/// Reads one prompt as a draft.
pub(crate) fn draft(reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
    let missing = || SourceError::not_found("prompt", id);
    let number = id.parse().map_err(|_| missing())?;
    let prompt = find(reader, Some(number), None)?.ok_or_else(missing)?;
    let draft = PromptDraft {
        name: prompt.name,
        author: prompt.author,
        details: prompt.details,
        system_prompt: prompt.system_prompt,
        user_prompt: prompt.user_prompt,
        keywords: prompt.keywords,
        modified_at: prompt.last_modified,
    };
    Ok(Draft::stored(id, Body::Prompt(draft)))
}

fn find(
    reader: &Reader<'_>,
    id: Option<i64>,
    name: Option<&str>,
) -> Result<Option<Prompt>, StoreError> {
    let sql = include_str!("../sql/read.sql");
    reader.first(sql, named_params! { ":id": id, ":name": name }, prompt)
}

fn prompt(row: &Row<'_>) -> rusqlite::Result<Prompt> {
    let keywords: String = row.get("keywords")?;
    Ok(Prompt {
        id: row.get("id")?,
        name: row.get("name")?,
        author: row.get("author")?,
        details: row.get("details")?,
        system_prompt: row.get("system_prompt")?,
        user_prompt: row.get("user_prompt")?,
        last_modified: row.get("last_modified")?,
        version: row.get("version")?,
        keywords: serde_json::from_str(&keywords).unwrap_or_default(),
    })
}

/// The fields that can be matched, in the order in which they tell most.
fn fields(prompt: &Prompt) -> Fields {
    Fields::new([
        ("user_prompt", prompt.user_prompt.clone()),
        ("system_prompt", prompt.system_prompt.clone()),
        ("details", prompt.details.clone()),
        ("name", Some(prompt.name.clone())),
        ("author", prompt.author.clone()),
        ("keywords", Some(prompt.keywords.join(", "))),
    ])
}

fn hit(prompt: &Prompt) -> Hit {
    let uri = Uri::item(SourceName::Prompts, prompt.id.to_string());
    Hit {
        title: Some(prompt.name.clone()),
        last_modified: prompt.last_modified,
        version: Some(prompt.version),
        tags: Some(prompt.keywords.clone()),
        ..Hit::new(uri, ItemId::Number(prompt.id))
    }
}

fn object(prompt: &Prompt) -> Value {
    json!({
        "name": prompt.name,
        "author": prompt.author,
        "details": prompt.details,
        "system_prompt": prompt.system_prompt,
        "user_prompt": prompt.user_prompt,
        "keywords": prompt.keywords,
    })
}
