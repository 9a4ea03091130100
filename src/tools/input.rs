//! Arguments that several tools take, as types that cannot be wrong.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};
use vademecum_kit::model::{By, Filters, ItemId, Order, PromptField, SourceName, Timestamp, Uri};

use crate::actors::{CallError, Wanted};

/// How many results: 1 to 100.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit(pub(crate) usize);

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match i64::deserialize(deserializer)? {
            limit @ 1..=100 => Ok(Self(usize::try_from(limit).unwrap_or(100))),
            limit => Err(D::Error::custom(format!("expected 1 to 100, got {limit}"))),
        }
    }
}

impl JsonSchema for Limit {
    fn schema_name() -> Cow<'static, str> {
        "Limit".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 1, "maximum": 100 })
    }
}

/// A place to begin: 0 or more.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offset(pub(crate) usize);

impl<'de> Deserialize<'de> for Offset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let offset = i64::deserialize(deserializer)?;
        usize::try_from(offset)
            .map(Self)
            .map_err(|_| D::Error::custom(format!("expected 0 or more, got {offset}")))
    }
}

impl JsonSchema for Offset {
    fn schema_name() -> Cow<'static, str> {
        "Offset".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 0 })
    }
}

/// A number that is counted from 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Positive(pub(crate) usize);

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        match usize::try_from(number) {
            Ok(number) if number > 0 => Ok(Self(number)),
            _ => Err(D::Error::custom(format!("expected 1 or more, got {number}"))),
        }
    }
}

impl JsonSchema for Positive {
    fn schema_name() -> Cow<'static, str> {
        "Positive".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 1 })
    }
}

/// A moment up to which something counts; a day counts to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until(pub(crate) Timestamp);

impl<'de> Deserialize<'de> for Until {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse_end(&text).map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for Until {
    fn schema_name() -> Cow<'static, str> {
        "Until".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// One text, or a list of them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    /// Text.
    One(String),
    /// A list of texts.
    Many(Vec<String>),
}

impl OneOrMany {
    /// All of it as one text.
    pub(crate) fn into_text(self) -> String {
        match self {
            Self::One(text) => text,
            Self::Many(texts) => texts.join(", "),
        }
    }
}

/// Which notes count.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotesFilters {
    /// Only notes with at least one of these keywords.
    keywords: Option<Vec<String>>,
}

/// Which media count.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MediaFilters {
    /// Only these types; the resource `media://types` lists those there are.
    pub(crate) media_types: Option<Vec<String>>,
    /// Only what was added then or later (ISO 8601).
    pub(crate) date_from: Option<Timestamp>,
    /// Only what was added then or earlier (ISO 8601); a day counts to its end.
    pub(crate) date_to: Option<Until>,
    /// Best or newest first; default "relevance".
    pub(crate) order_by: Option<Order>,
}

/// Which titles and messages count.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ChatsFilters {
    /// What is matched; default "both".
    pub(crate) by: Option<By>,
    /// Only conversations with this character.
    pub(crate) character_id: Option<i64>,
    /// Only messages of this sender.
    pub(crate) sender: Option<String>,
}

/// Which fields of a prompt are matched.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PromptsFilters {
    /// Only these fields; default all.
    fields: Option<Vec<PromptField>>,
}

/// Characters have no filters yet.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CharactersFilters {}

/// Filters for each source.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KnowledgeFilters {
    media: Option<MediaFilters>,
    notes: Option<NotesFilters>,
    chats: Option<ChatsFilters>,
    prompts: Option<PromptsFilters>,
    characters: Option<CharactersFilters>,
}

impl KnowledgeFilters {
    /// What is wanted of these sources.
    pub(crate) fn into_wanted(self, sources: &[SourceName]) -> Vec<Wanted> {
        let Self { media, notes, chats, prompts, characters } = self;
        let all = [
            notes.unwrap_or_default().into_wanted(),
            media.unwrap_or_default().into_wanted(),
            chats.unwrap_or_default().into_wanted(),
            characters.unwrap_or_default().into_wanted(),
            prompts.unwrap_or_default().into_wanted(),
        ];
        all.into_iter().filter(|wanted| sources.contains(&wanted.source)).collect()
    }
}

impl NotesFilters {
    pub(crate) fn keywords(keywords: Option<Vec<String>>) -> Self {
        Self { keywords }
    }

    pub(crate) fn into_wanted(self) -> Wanted {
        let keywords = self.keywords.unwrap_or_default();
        Wanted::source(SourceName::Notes, Filters { keywords, ..Filters::default() })
    }
}

impl MediaFilters {
    pub(crate) fn into_wanted(self) -> Wanted {
        let filters = Filters {
            media_types: self.media_types.unwrap_or_default(),
            date_from: self.date_from,
            date_to: self.date_to.map(|until| until.0),
            ..Filters::default()
        };
        Wanted { order: self.order_by, ..Wanted::source(SourceName::Media, filters) }
    }
}

impl ChatsFilters {
    pub(crate) fn into_wanted(self) -> Wanted {
        let filters = Filters {
            by: self.by.unwrap_or_default(),
            character_id: self.character_id,
            sender: self.sender,
            ..Filters::default()
        };
        Wanted::source(SourceName::Chats, filters)
    }
}

impl PromptsFilters {
    pub(crate) fn fields(fields: Option<Vec<PromptField>>) -> Self {
        Self { fields }
    }

    pub(crate) fn into_wanted(self) -> Wanted {
        let fields = self.fields.unwrap_or_default();
        Wanted::source(SourceName::Prompts, Filters { fields, ..Filters::default() })
    }
}

impl CharactersFilters {
    pub(crate) fn into_wanted(self) -> Wanted {
        let Self {} = self;
        Wanted::source(SourceName::Characters, Filters::default())
    }
}

/// The source that an id names, if it is a URI.
pub(crate) fn source_of(id: &ItemId) -> Result<SourceName, CallError> {
    match id {
        ItemId::Text(text) if text.contains("://") => {
            let uri: Uri =
                text.parse().map_err(|error| CallError::Invalid(format!("id: {error}")))?;
            Ok(uri.source)
        }
        ItemId::Text(_) | ItemId::Number(_) => {
            let problem = format!("source: is missing; `{id}` is an id of its source, not a URI");
            Err(CallError::Invalid(problem))
        }
    }
}

/// What an id points at: an id of the source, or the URI of a hit.
pub(crate) fn locate(
    source: SourceName,
    id: ItemId,
) -> Result<(ItemId, Option<String>), CallError> {
    let ItemId::Text(text) = &id else { return Ok((id, None)) };
    if !text.contains("://") {
        return Ok((id, None));
    }
    let uri: Uri = text.parse().map_err(|error| CallError::Invalid(format!("id: {error}")))?;
    if uri.source != source {
        return Err(CallError::Invalid(format!("id: `{uri}` is not in `{source}`")));
    }
    Ok(point(uri))
}

/// The item that a URI points at, and the part of it. Where ids are numbers, it
/// names one: a prompt's name can only be given as a name.
pub(crate) fn point(uri: Uri) -> (ItemId, Option<String>) {
    let id = match uri.source {
        // What a document is called says nothing of the collection that it is in.
        SourceName::Collections => return (ItemId::Text(uri.to_string()), None),
        SourceName::Notes | SourceName::Chats => ItemId::Text(uri.id),
        SourceName::Media | SourceName::Characters | SourceName::Prompts => {
            uri.id.parse().map_or(ItemId::Text(uri.id), ItemId::Number)
        }
    };
    (id, uri.part)
}
