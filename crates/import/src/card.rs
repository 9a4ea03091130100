//! A character card as JSON: bare fields (V1), or a `spec` and its `data`
//! (V2 and V3).

use serde_json::{Map, Value};
use vademecum_kit::model::{CharacterDraft, Timestamp};

use super::{
    CardError,
    keywords::{between_commas, distinct},
};

type Fields = Map<String, Value>;

/// Reads a card. What it holds beyond the known fields goes into
/// `extensions`, so nothing is lost.
pub(super) fn character(json: &str) -> Result<CharacterDraft, CardError> {
    let Value::Object(card) = serde_json::from_str(json)? else {
        return Err(CardError::NotAnObject);
    };
    let mut fields = fields(card)?;
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
        tags: distinct(take_texts(&mut fields, "tags").iter().flat_map(|tag| between_commas(tag))),
        created_at: take_moment(&mut fields, "creation_date"),
        modified_at: take_moment(&mut fields, "modification_date"),
        extensions: extensions(fields),
        image: None,
    })
}

/// Finds the fields of a card, or says why it is none.
fn fields(mut card: Fields) -> Result<Fields, CardError> {
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
            bare(card)
        }
    }
}

/// What fields were called before the first version, and are called since.
const OLD_NAMES: [(&str, &str); 5] = [
    ("char_name", "name"),
    ("char_persona", "description"),
    ("world_scenario", "scenario"),
    ("char_greeting", "first_mes"),
    ("example_dialogue", "mes_example"),
];

/// Whether fields are those of a card without a `spec`, and of nothing else.
pub(super) fn is_bare(has: impl Fn(&[&str]) -> bool) -> bool {
    has(&["name"]) && has(&["first_mes", "mes_example"])
        || has(&["char_name"]) && has(&["char_persona", "char_greeting"])
}

/// The first version has no mark of its own: it is known by its fields.
fn bare(mut card: Fields) -> Result<Fields, CardError> {
    for (old, new) in OLD_NAMES {
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
        (true, false) => Err(CardError::NoFields),
        (false, _) => Err(CardError::NoName),
    }
}

/// Takes a text out; what is there and no text stays among the fields.
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

fn take_moment(fields: &mut Fields, key: &str) -> Option<Timestamp> {
    // Beyond this many seconds, in the year 5138, it must be milliseconds.
    const MAX_SECONDS: f64 = 1e11;
    let number = fields.remove(key)?.as_f64().filter(|number| *number > 0.0)?;
    Timestamp::from_unix_seconds(if number > MAX_SECONDS { number / 1000.0 } else { number })
}

/// The extensions of a card together with its fields of no other place.
fn extensions(mut fields: Fields) -> Fields {
    let mut extensions = match fields.remove("extensions") {
        Some(Value::Object(extensions)) => extensions,
        _ => Fields::new(),
    };
    for (key, value) in fields {
        if value.is_null() {
            continue;
        }
        // An extension may be called as a field is.
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
        let ada = character(json).unwrap();
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
    fn bare_fields_are_a_card_and_blank_ones_are_none() {
        let ada = character(
            r#"{"name": "Ada", "description": "", "first_mes": "Hi", "metadata": {"v": 1}, "tags": "a, b"}"#,
        )
        .unwrap();
        assert_eq!((ada.description, ada.first_message.as_deref()), (None, Some("Hi")));
        assert_eq!(ada.tags, ["a", "b"]);
        assert!(ada.extensions.contains_key("metadata"));
    }

    #[test]
    fn a_field_of_another_kind_is_kept_as_it_is() {
        let json = r#"{"spec": "chara_card_v2", "data": {"name": "Ada", "scenario": {"a": 1}}}"#;
        let ada = character(json).unwrap();
        assert!(ada.scenario.is_none() && ada.extensions.contains_key("scenario"));
    }

    #[test]
    fn what_is_no_card_is_told_why() {
        let why = |json: &str| character(json).unwrap_err().to_string();
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
