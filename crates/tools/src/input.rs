//! Argument types shared by several tools. Ranges are checked when an argument is deserialized.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;
use vademecum_actors::{CallError, SourceSelection};
use vademecum_model::{
    ChatMatchScope, Filters, ItemId, Order, PromptField, SourceName, Timestamp, Uri,
};
use vademecum_vault::journal::AsOf;

/// Number of results: 1 to 100.
pub(crate) type Limit = BoundedNumber<1, 100>;
/// Number of results to skip: 0 or more.
pub(crate) type Offset = BoundedNumber<0, { usize::MAX }>;
/// A number of at least 1.
pub(crate) type PositiveNumber = BoundedNumber<1, { usize::MAX }>;

/// A number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BoundedNumber<const MIN: usize, const MAX: usize>(pub(crate) usize);

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for BoundedNumber<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        match usize::try_from(number) {
            Ok(number) if (MIN..=MAX).contains(&number) => Ok(Self(number)),
            _ if MAX == usize::MAX => {
                Err(D::Error::custom(format!("expected {MIN} or more, got {number}")))
            }
            _ => Err(D::Error::custom(format!("expected {MIN} to {MAX}, got {number}"))),
        }
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for BoundedNumber<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Number{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = schemars::json_schema!({ "type": "integer", "minimum": MIN });
        if MAX < usize::MAX {
            schema.insert("maximum".to_owned(), MAX.into());
        }
        schema
    }
}

/// Inclusive upper bound of a time range. A date without a time means the end of that day.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(crate) struct EndTimestamp(
    #[serde(deserialize_with = "deserialize_range_end")]
    #[schemars(with = "String")]
    pub(crate) Timestamp,
);

fn deserialize_range_end<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Timestamp, D::Error> {
    Timestamp::parse_range_end(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A state of an item in the past: a version, or a time. A date without a time means the end of that
/// day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsOfInput(pub(crate) AsOf);

impl<'de> Deserialize<'de> for AsOfInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if let Ok(version @ 1..) = text.trim().parse::<i64>() {
            return Ok(Self(AsOf::Version(version)));
        }
        let time = Timestamp::parse_range_end(&text);
        time.map(|time| Self(AsOf::Time(time)))
            .map_err(|error| D::Error::custom(format!("{error}; or pass a version")))
    }
}

impl JsonSchema for AsOfInput {
    fn schema_name() -> Cow<'static, str> {
        "AsOf".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

/// One string, or a list of strings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum OneOrMany {
    /// One string.
    One(String),
    /// A list of strings.
    Many(Vec<String>),
}

impl From<OneOrMany> for String {
    /// Returns the text; a list is joined with commas.
    fn from(value: OneOrMany) -> Self {
        match value {
            OneOrMany::One(text) => text,
            OneOrMany::Many(texts) => texts.join(", "),
        }
    }
}

/// Filters for notes.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotesFilters {
    /// Only notes with at least one of these keywords.
    pub(crate) keywords: Option<Vec<String>>,
}

/// Filters for media.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct MediaFilters {
    /// Only these types; the resource `media://types` lists them.
    pub(crate) media_types: Option<Vec<String>>,
    /// Only media created then or later, or added then if they state no date (ISO 8601).
    pub(crate) date_from: Option<Timestamp>,
    /// Only media created or added then or earlier (ISO 8601); a day counts to its end.
    pub(crate) date_to: Option<EndTimestamp>,
    /// Best or newest first; default "relevance".
    pub(crate) order_by: Option<Order>,
}

/// Filters for chats.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ChatsFilters {
    /// Fields to match; default "both".
    pub(crate) by: Option<ChatMatchScope>,
    /// Only conversations with this character.
    pub(crate) character_id: Option<i64>,
    /// Only messages of this sender.
    pub(crate) sender: Option<String>,
    /// Only sessions of coding agents in this project: its name, folder or remote.
    pub(crate) project: Option<String>,
    /// Only conversations with this agent or service, such as "claude-code".
    pub(crate) agent: Option<String>,
    /// Also reasoning and tool output of sessions; default false.
    pub(crate) with_logs: Option<bool>,
}

/// Filters for prompts.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PromptsFilters {
    /// Only these fields; default all.
    pub(crate) fields: Option<Vec<PromptField>>,
}

/// Filters for characters; none exist yet.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CharactersFilters {}

/// Filters that all sources have.
#[derive(Clone, Debug, Default)]
pub(crate) struct ItemFilters {
    /// Only items changed then or later, and messages sent then or later.
    pub(crate) after: Option<Timestamp>,
    /// Only items changed earlier, and messages sent earlier.
    pub(crate) before: Option<Timestamp>,
    /// Only items with at least one of these tags.
    pub(crate) tags: Option<Vec<String>>,
}

impl ItemFilters {
    /// Adds the filters to a selection.
    pub(crate) fn apply_to(&self, selection: &mut SourceSelection) {
        let Self { after, before, tags } = self.clone();
        selection.filters =
            Filters { after, before, tags: tags.unwrap_or_default(), ..selection.filters.clone() };
    }
}

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
    /// Converts the filters to one selection for each of `sources`, in a fixed order of sources.
    pub(crate) fn into_selections(self, sources: &[SourceName]) -> Vec<SourceSelection> {
        let Self { media, notes, chats, prompts, characters } = self;
        let all = [
            notes.unwrap_or_default().into_selection(),
            media.unwrap_or_default().into_selection(),
            chats.unwrap_or_default().into_selection(),
            characters.unwrap_or_default().into_selection(),
            prompts.unwrap_or_default().into_selection(),
        ];
        all.into_iter().filter(|selection| sources.contains(&selection.from_source)).collect()
    }
}

impl NotesFilters {
    pub(crate) fn into_selection(self) -> SourceSelection {
        let keywords = self.keywords.unwrap_or_default();
        SourceSelection::source(SourceName::Notes, Filters { keywords, ..Filters::default() })
    }
}

impl MediaFilters {
    pub(crate) fn into_selection(self) -> SourceSelection {
        let filters = Filters {
            media_types: self.media_types.unwrap_or_default(),
            date_from: self.date_from,
            date_to: self.date_to.map(|until| until.0),
            ..Filters::default()
        };
        SourceSelection {
            order: self.order_by,
            ..SourceSelection::source(SourceName::Media, filters)
        }
    }
}

impl ChatsFilters {
    pub(crate) fn into_selection(self) -> SourceSelection {
        let filters = Filters {
            chat_scope: self.by.unwrap_or_default(),
            character_id: self.character_id,
            sender: self.sender,
            project: self.project,
            agent: self.agent,
            with_logs: self.with_logs.unwrap_or_default(),
            ..Filters::default()
        };
        SourceSelection::source(SourceName::Chats, filters)
    }
}

impl PromptsFilters {
    pub(crate) fn into_selection(self) -> SourceSelection {
        let fields = self.fields.unwrap_or_default();
        SourceSelection::source(SourceName::Prompts, Filters { fields, ..Filters::default() })
    }
}

impl CharactersFilters {
    pub(crate) fn into_selection(self) -> SourceSelection {
        let Self {} = self;
        SourceSelection::source(SourceName::Characters, Filters::default())
    }
}

/// Returns the source of an id that is a URI. Fails if the id is not a URI.
pub(crate) fn source_of_uri(id: &ItemId) -> Result<SourceName, CallError> {
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

/// Splits an id or a URI into the id within `source` and an optional part. Fails if the URI belongs
/// to another source.
pub(crate) fn resolve_item_id(
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
    Ok(split_uri(uri))
}

/// Splits a URI into the item's id and an optional part. In sources with numeric ids, a numeric id
/// becomes a number, so a URI cannot name a prompt by its name.
pub(crate) fn split_uri(uri: Uri) -> (ItemId, Option<String>) {
    let id = match uri.source {
        // The id of a document is unique only within its collection, so the whole URI is kept.
        SourceName::Collections => return (ItemId::Text(uri.to_string()), None),
        SourceName::Notes | SourceName::Chats => ItemId::Text(uri.id),
        SourceName::Media | SourceName::Characters | SourceName::Prompts => {
            uri.id.parse().map_or(ItemId::Text(uri.id), ItemId::Number)
        }
    };
    (id, uri.part)
}
