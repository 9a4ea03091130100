//! Parser of character cards in JSON: bare fields (V1), or a `spec` with `data` (V2 and V3).

use serde_json::{Map, Value};
use vademecum_model::{CharacterDraft, Timestamp};

use crate::{
    CardError,
    text::keywords::{distinct_keywords, split_commas},
};

type Fields = Map<String, Value>;

/// Parses a card. Unknown fields go into `extensions`, so nothing is lost.
pub(crate) fn parse_card(json: &str) -> Result<CharacterDraft, CardError> {
    let Value::Object(card) = serde_json::from_str(json)? else {
        return Err(CardError::NotAnObject);
    };
    let mut fields = card_fields(card)?;
    let name = take_text(&mut fields, "name").ok_or(CardError::NoName)?;
    let mut text = |key: &str| take_text(&mut fields, key);
    Ok(CharacterDraft {
        name,
        description: text("description"),
        personality: text("personality"),
        scenario: text("scenario"),
        system_prompt: text("system_prompt"),
        post_history_instructions: text("post_history_instructions"),
        first_message: text("first_mes"),
        message_example: text("mes_example"),
        creator_notes: text("creator_notes"),
        creator: text("creator"),
        character_version: text("character_version"),
        alternate_greetings: take_texts(&mut fields, "alternate_greetings"),
        tags: distinct_keywords(
            take_texts(&mut fields, "tags").iter().flat_map(|tag| split_commas(tag)),
        ),
        created_at: take_timestamp(&mut fields, "creation_date"),
        modified_at: take_timestamp(&mut fields, "modification_date"),
        extensions: card_extensions(fields),
        image: None,
    })
}

/// Returns the fields of a card, or the reason why the JSON is not a card.
fn card_fields(mut card: Fields) -> Result<Fields, CardError> {
    let data = card.remove("data");
    match (card.get("spec"), data) {
        (Some(Value::String(spec)), _) if spec.starts_with("lorebook") => Err(CardError::Lorebook),
        (Some(Value::String(spec)), _) if !spec.starts_with("chara_card") => {
            Err(CardError::ForeignSpec(spec.clone()))
        }
        (Some(_), Some(Value::Object(data))) => Ok(data),
        (Some(_), _) => Err(CardError::NoData),
        (None, Some(Value::Object(_))) => Err(CardError::NoSpec),
        (None, data) => {
            card.extend(data.map(|data| ("data".to_owned(), data)));
            bare_card_fields(card)
        }
    }
}

/// Field names from before the first version, with their current names.
const LEGACY_FIELD_NAMES: [(&str, &str); 5] = [
    ("char_name", "name"),
    ("char_persona", "description"),
    ("world_scenario", "scenario"),
    ("char_greeting", "first_mes"),
    ("example_dialogue", "mes_example"),
];

/// Returns `true` if the fields are those of a card without a `spec` and of no other format.
pub(super) fn is_bare_card(has: impl Fn(&[&str]) -> bool) -> bool {
    has(&["name"]) && has(&["first_mes", "mes_example"])
        || has(&["char_name"]) && has(&["char_persona", "char_greeting"])
}

/// Returns the fields of a card of the first version, which has no `spec` and is recognised by its
/// fields.
fn bare_card_fields(mut card: Fields) -> Result<Fields, CardError> {
    for (old, new) in LEGACY_FIELD_NAMES {
        if !card.contains_key(new)
            && let Some(value) = card.remove(old)
        {
            card.insert(new.to_owned(), value);
        }
    }
    let has = |keys: &[&str]| keys.iter().any(|key| card.contains_key(*key));
    if has(&["personality", "scenario", "first_mes", "mes_example"]) {
        return Ok(card);
    }
    if has(&["entries"]) {
        return Err(CardError::Lorebook);
    }
    match (has(&["name"]), has(&["description"])) {
        (true, true) => Ok(card),
        (true, false) => Err(CardError::NoCharacterFields),
        (false, _) => Err(CardError::NoName),
    }
}

/// Removes and returns a text field. A value of another type stays in `fields`.
fn take_text(fields: &mut Fields, key: &str) -> Option<String> {
    match fields.get(key)? {
        Value::String(_) | Value::Number(_) | Value::Null => {}
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    }
    match fields.remove(key)? {
        Value::String(text) if !text.trim().is_empty() => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn take_texts(fields: &mut Fields, key: &str) -> Vec<String> {
    let text = |value| match value {
        Value::String(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    };
    match fields.remove(key) {
        Some(Value::Array(values)) => values.into_iter().filter_map(text).collect(),
        Some(value) => text(value).into_iter().collect(),
        None => Vec::new(),
    }
}

fn take_timestamp(fields: &mut Fields, key: &str) -> Option<Timestamp> {
    // Larger numbers (after the year 5138) are milliseconds.
    const MAX_SECONDS: f64 = 1e11;
    let number = fields.remove(key)?.as_f64().filter(|number| *number > 0.0)?;
    Timestamp::from_unix_seconds(if number > MAX_SECONDS { number / 1000.0 } else { number })
}

/// Returns the extensions of a card together with its unknown fields.
fn card_extensions(mut fields: Fields) -> Fields {
    let mut extensions = match fields.remove("extensions") {
        Some(Value::Object(extensions)) => extensions,
        _ => Fields::new(),
    };
    for (key, value) in fields {
        if value.is_null() {
            continue;
        }
        // A field and an extension may have the same name.
        let key = if extensions.contains_key(&key) { format!("data.{key}") } else { key };
        extensions.insert(key, value);
    }
    extensions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_a_card_is_read() {
        let json = r#"{"spec": "chara_card_v3", "spec_version": "3.0", "data": {
            "name": "Ada", "description": "d", "personality": "p", "scenario": "s",
            "first_mes": "f", "mes_example": "m", "creator_notes": "n", "system_prompt": "y",
            "post_history_instructions": "h", "alternate_greetings": ["g", ""],
            "tags": ["x", "X", "y"], "creator": "c", "character_version": 2,
            "creation_date": 1704067200, "modification_date": 1704067200000,
            "character_book": {"entries": []}, "group_only_greetings": ["all"], "assets": null,
            "nickname": "A", "extensions": {"depth": 4, "nickname": "B"}}}"#;
        let ada = parse_card(json).unwrap();
        let texts = [
            ada.description,
            ada.personality,
            ada.scenario,
            ada.first_message,
            ada.message_example,
            ada.creator_notes,
            ada.system_prompt,
            ada.post_history_instructions,
            ada.creator,
            ada.character_version,
        ];
        assert_eq!(texts.map(Option::unwrap).join(""), "dpsfmnyhc2");
        assert_eq!(
            (ada.alternate_greetings, ada.tags),
            (vec!["g".into()], vec!["x".into(), "y".into()])
        );
        assert_eq!(ada.created_at, Timestamp::parse("2024-01-01").ok());
        assert_eq!(ada.modified_at, ada.created_at);
        let kept: Vec<_> = ada.extensions.keys().map(String::as_str).collect();
        let expected =
            ["character_book", "data.nickname", "depth", "group_only_greetings", "nickname"];
        let mut kept = kept;
        kept.sort_unstable();
        assert_eq!(kept, expected);
    }

    #[test]
    fn bare_fields_form_card_without_blank_ones() {
        let ada = parse_card(
            r#"{"name": "Ada", "description": "", "first_mes": "Hi", "metadata": {"v": 1}, "tags": "a, b"}"#,
        )
        .unwrap();
        assert_eq!((ada.description, ada.first_message.as_deref()), (None, Some("Hi")));
        assert_eq!(ada.tags, ["a", "b"]);
        assert!(ada.extensions.contains_key("metadata"));
    }

    #[test]
    fn field_of_unexpected_type_is_kept() {
        let json = r#"{"spec": "chara_card_v2", "data": {"name": "Ada", "scenario": {"a": 1}}}"#;
        let ada = parse_card(json).unwrap();
        assert!(ada.scenario.is_none() && ada.extensions.contains_key("scenario"));
    }

    #[test]
    fn invalid_card_is_rejected_with_reason() {
        let why = |json: &str| parse_card(json).unwrap_err().to_string();
        assert!(why("{ invalid").starts_with("not valid JSON"));
        assert!(why(&"[".repeat(100_000)).contains("nests more than"));
        assert!(why("[]").contains("not an object"));
        assert!(why(r#"{"spec": "chara_card_v2"}"#).contains("no `data`"));
        assert!(why(r#"{"data": {"name": "Ada"}}"#).contains("no `spec`"));
        assert!(why(r#"{"spec": "lorebook_v3", "data": {}}"#).contains("lorebook"));
        assert!(why(r#"{"spec": "theme_v1", "data": {}}"#).contains("`theme_v1`"));
        assert!(why(r#"{"spec": "chara_card_v2", "data": {"name": " "}}"#).contains("no `name`"));
        assert!(why(r#"{"name": "Lore", "description": "", "entries": {}}"#).contains("lorebook"));
        assert!(why(r#"{"name": "package"}"#).contains("none of description"));
        assert!(why("{}").contains("no `name`"));
    }
}
