//! Fields that a query can name, as in `title:bread`.

/// Meaning of an item field, independent of its column name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Title of a text; name of a character or prompt.
    Title,
    /// Text of a note, document or message.
    Text,
    /// Messages: text of the messages before and after. It has no name in queries.
    Neighbours,
    /// Keywords and tags.
    Tags,
    /// Folders of a note.
    Folder,
    /// Author or creator; sender of a message.
    Author,
    /// Description of a character or prompt.
    Description,
    /// Characters: personality.
    Personality,
    /// Characters: scenario.
    Scenario,
    /// Characters and prompts: system prompt.
    SystemPrompt,
    /// Prompts: user prompt.
    UserPrompt,
    /// Characters: first message.
    FirstMessage,
    /// Characters: alternative first messages.
    AlternateGreetings,
    /// Characters: instructions after the conversation history.
    PostHistoryInstructions,
    /// Characters: example dialogue.
    MessageExample,
    /// Characters: lorebook.
    CharacterBook,
    /// Characters: notes of the creator.
    CreatorNotes,
}

impl Field {
    /// Field names accepted in queries.
    const QUERY_NAMES: [(&str, Self); 26] = [
        ("title", Self::Title),
        ("name", Self::Title),
        ("text", Self::Text),
        ("content", Self::Text),
        ("body", Self::Text),
        ("tag", Self::Tags),
        ("tags", Self::Tags),
        ("keyword", Self::Tags),
        ("keywords", Self::Tags),
        ("folder", Self::Folder),
        ("author", Self::Author),
        ("creator", Self::Author),
        ("sender", Self::Author),
        ("description", Self::Description),
        ("details", Self::Description),
        ("personality", Self::Personality),
        ("scenario", Self::Scenario),
        ("system_prompt", Self::SystemPrompt),
        ("user_prompt", Self::UserPrompt),
        ("first_message", Self::FirstMessage),
        ("alternate_greetings", Self::AlternateGreetings),
        ("post_history_instructions", Self::PostHistoryInstructions),
        ("message_example", Self::MessageExample),
        ("character_book", Self::CharacterBook),
        ("lorebook", Self::CharacterBook),
        ("creator_notes", Self::CreatorNotes),
    ];

    /// Returns the first name of the field in queries; empty if it has none.
    pub fn query_name(self) -> &'static str {
        let found = Self::QUERY_NAMES.iter().find(|(_, field)| *field == self);
        found.map_or("", |(name, _)| *name)
    }

    /// Returns the field with the given name, ignoring ASCII case.
    pub fn from_name(name: &str) -> Option<Self> {
        let found = Self::QUERY_NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, field)| *field)
    }
}
