//! Filters on the items of a source, and the order of results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Timestamp;

/// The order of search results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Best first.
    #[default]
    Relevance,
    /// Newest first.
    Recent,
}

/// Filters on the items of a source. Each source reads only the filters it supports.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// Notes: item has at least one of these keywords.
    pub keywords: Vec<String>,
    /// Media: item has one of these types.
    pub media_types: Vec<String>,
    /// Media: ingested at this time or later.
    pub date_from: Option<Timestamp>,
    /// Media: ingested at this time or earlier.
    pub date_to: Option<Timestamp>,
    /// Chats: parts of a conversation to match.
    pub chat_scope: ChatMatchScope,
    /// Chats: conversations with this character.
    pub character_id: Option<i64>,
    /// Chats: messages of this sender.
    pub sender: Option<String>,
    /// Chats: sessions of this project, by its name, its folder or its remote.
    pub project: Option<String>,
    /// Chats: sessions of this agent, or conversations of this service.
    pub agent: Option<String>,
    /// Chats: also the reasoning and the tool output of sessions.
    pub with_logs: bool,
    /// Prompts: fields to match; empty means all.
    pub fields: Vec<PromptField>,
    /// Item was modified at this time or later; for a message, its date counts.
    pub after: Option<Timestamp>,
    /// Item was modified earlier than this time; for a message, its date counts.
    pub before: Option<Timestamp>,
    /// Item has at least one of these tags or of those below them, such as `work/plans` below `work`,
    /// ignoring ASCII case.
    pub tags: Vec<String>,
    /// Item is one of these, by identifier.
    pub items: Option<Vec<String>>,
}

impl Filters {
    /// Returns whether the filters can exclude items, not only parts of them.
    pub fn exclude_items(&self) -> bool {
        let (chat_scope, fields) = (self.chat_scope, self.fields.clone());
        *self != Self { chat_scope, fields, ..Self::default() }
    }

    /// Returns whether an item passes only if the query matches certain parts of it.
    pub fn depend_on_match(&self) -> bool {
        self.sender.is_some()
            || self.chat_scope != ChatMatchScope::default()
            || !self.fields.is_empty()
    }

    /// Returns the value of `:items`, which only statements `passes` have.
    pub fn items_parameter(&self) -> Option<String> {
        self.items.as_ref().map(|items| serde_json::json!(items).to_string())
    }
}

/// Returns a list as JSON for a statement; `None`, which excludes nothing, for an empty list.
pub fn json_list(list: &[String]) -> Option<String> {
    (!list.is_empty()).then(|| serde_json::json!(list).to_string())
}

/// Parts of a conversation to match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChatMatchScope {
    /// Titles and messages.
    #[default]
    Both,
    /// Titles only.
    Title,
    /// Messages only.
    Message,
}

/// Field of a prompt to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptField {
    /// The name.
    Name,
    /// The description.
    Details,
    /// The system prompt.
    SystemPrompt,
    /// The user prompt.
    UserPrompt,
    /// The author.
    Author,
    /// The keywords.
    Keywords,
}

impl PromptField {
    /// Returns the field name, which is also the column name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Details => "details",
            Self::SystemPrompt => "system_prompt",
            Self::UserPrompt => "user_prompt",
            Self::Author => "author",
            Self::Keywords => "keywords",
        }
    }
}
