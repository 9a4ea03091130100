//! Reading prompts as hits, items and drafts.

use rusqlite::{Row, named_params};
use serde_json::{Value, json};
use vademecum_model::{
    Draft, DraftBody, Hit, ItemId, PromptDraft, RetrievalMode, SourceName, Timestamp, Uri,
};
use vademecum_search::{GetRequest, Highlighter, HitRequest, Item, ItemExcerpt, ItemFields};
use vademecum_source::{NamedField, SourceError, read_field_passage};
use vademecum_store::{Reader, StoreError};

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

/// Loads the hits for ranked matches. Prompts that no longer exist are left out.
pub(crate) fn load_hits(reader: &Reader<'_>, view: &HitRequest) -> Result<Vec<Hit>, SourceError> {
    let searched = &view.filters.fields;
    let is_searched =
        |name: &str| searched.is_empty() || searched.iter().any(|field| field.as_str() == name);
    let finder = Highlighter::from(view);
    let mut hits = Vec::with_capacity(view.matches.len());
    for ranked in &view.matches {
        let Some(prompt) = find_prompt(reader, Some(ranked.key), None)? else { continue };
        let shown = ItemFields::new(searchable_fields(&prompt)).best_excerpt(&finder, is_searched);
        let ItemExcerpt { snippet, loc, highlights, matched } = shown;
        let score = ranked.score;
        hits.push(Hit { snippet, highlights, matched, loc, score, ..prompt_hit(&prompt) });
    }
    Ok(hits)
}

/// Loads one prompt by its name or its id.
///
/// A text id is tried as a name first, since a prompt may be called `3`. A number is an id.
pub(crate) fn load_item(reader: &Reader<'_>, get: &GetRequest) -> Result<Item, SourceError> {
    let by_name = match &get.id {
        ItemId::Text(name) => find_prompt(reader, None, Some(name))?,
        ItemId::Number(_) => None,
    };
    let prompt = match (by_name, get.id.as_number()) {
        (Some(prompt), _) => Some(prompt),
        (None, Some(id)) => find_prompt(reader, Some(id), None)?,
        (None, None) => None,
    };
    let prompt = prompt.ok_or_else(|| SourceError::not_found("prompt", &get.id))?;
    let meta = prompt_hit(&prompt);
    if get.retrieval.mode == RetrievalMode::Full {
        return Ok(Item::from_object(meta, prompt_json(&prompt)));
    }
    let passage =
        read_field_passage(searchable_fields(&prompt), &get.retrieval, &get.recent_queries)?;
    Ok(Item::from_passage(meta, passage, get.retrieval.mode))
}

/// Loads one prompt as a draft.
pub(crate) fn load_draft(reader: &Reader<'_>, id: &str) -> Result<Draft, SourceError> {
    let missing = || SourceError::not_found("prompt", id);
    let number = id.parse().map_err(|_| missing())?;
    let prompt = find_prompt(reader, Some(number), None)?.ok_or_else(missing)?;
    let draft = PromptDraft {
        name: prompt.name,
        author: prompt.author,
        details: prompt.details,
        system_prompt: prompt.system_prompt,
        user_prompt: prompt.user_prompt,
        keywords: prompt.keywords,
        modified_at: prompt.last_modified,
    };
    Ok(Draft::from_stored(id, DraftBody::Prompt(draft)))
}

fn find_prompt(
    reader: &Reader<'_>,
    id: Option<i64>,
    name: Option<&str>,
) -> Result<Option<Prompt>, StoreError> {
    reader.query_first(sql!("read"), named_params! { ":id": id, ":name": name }, prompt_from_row)
}

fn prompt_from_row(row: &Row<'_>) -> rusqlite::Result<Prompt> {
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

/// Returns the searchable fields, most informative first.
fn searchable_fields(prompt: &Prompt) -> [NamedField; 6] {
    [
        ("user_prompt", prompt.user_prompt.clone()),
        ("system_prompt", prompt.system_prompt.clone()),
        ("details", prompt.details.clone()),
        ("name", Some(prompt.name.clone())),
        ("author", prompt.author.clone()),
        ("keywords", Some(prompt.keywords.join(", "))),
    ]
}

fn prompt_hit(prompt: &Prompt) -> Hit {
    let uri = Uri::item(SourceName::Prompts, prompt.id.to_string());
    Hit {
        title: Some(prompt.name.clone()),
        last_modified: prompt.last_modified,
        version: Some(prompt.version),
        tags: Some(prompt.keywords.clone()),
        ..Hit::new(uri, ItemId::Number(prompt.id))
    }
}

fn prompt_json(prompt: &Prompt) -> Value {
    json!({
        "name": prompt.name,
        "author": prompt.author,
        "details": prompt.details,
        "system_prompt": prompt.system_prompt,
        "user_prompt": prompt.user_prompt,
        "keywords": prompt.keywords,
    })
}
