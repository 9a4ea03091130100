//! The fields that a query can name: `title:bread`.

/// What a part of an item is to its reader, whatever its column is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// The title of a text, the name of a character or a prompt.
    Title,
    /// What it says: a note, a document, a message.
    Text,
    /// Keywords and tags.
    Tags,
    /// Who wrote it.
    Author,
    /// What it is: of characters and prompts.
    Description,
    /// Characters: what they are like.
    Personality,
    /// Characters: where they are met.
    Scenario,
    /// The system prompt.
    SystemPrompt,
    /// Prompts: the user prompt.
    UserPrompt,
    /// Characters: how they begin.
    FirstMessage,
    /// Characters: how else they begin.
    AlternateGreetings,
    /// Characters: what the model is told last.
    PostHistoryInstructions,
    /// Characters: how they speak.
    MessageExample,
    /// Characters: their lorebook.
    CharacterBook,
    /// Characters: what their maker says about them.
    CreatorNotes,
}

impl Field {
    /// The names under which a query can name a field.
    const NAMES: [(&str, Self); 24] = [
        ("title", Self::Title),
        ("name", Self::Title),
        ("text", Self::Text),
        ("content", Self::Text),
        ("body", Self::Text),
        ("tag", Self::Tags),
        ("tags", Self::Tags),
        ("keyword", Self::Tags),
        ("keywords", Self::Tags),
        ("author", Self::Author),
        ("creator", Self::Author),
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

    /// The field of that name, in any case; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, field)| *field)
    }
}
