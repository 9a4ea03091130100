//! The full-text table of the source.

use vademecum_model::{Field, FtsColumn, FtsTable};

/// The full-text table, with the ranking weight of each column.
pub(crate) const FULL_TEXT_TABLE: FtsTable = FtsTable::new(
    "character_fts",
    "character_words",
    &[
        FtsColumn { name: "name", field: Field::Title, weight: 2.0 },
        FtsColumn { name: "tags", field: Field::Tags, weight: 2.0 },
        FtsColumn { name: "description", field: Field::Description, weight: 1.0 },
        FtsColumn { name: "personality", field: Field::Personality, weight: 1.0 },
        FtsColumn { name: "scenario", field: Field::Scenario, weight: 1.0 },
        FtsColumn { name: "first_message", field: Field::FirstMessage, weight: 1.0 },
        FtsColumn { name: "alternate_greetings", field: Field::AlternateGreetings, weight: 1.0 },
        FtsColumn { name: "system_prompt", field: Field::SystemPrompt, weight: 1.0 },
        FtsColumn {
            name: "post_history_instructions",
            field: Field::PostHistoryInstructions,
            weight: 1.0,
        },
        FtsColumn { name: "message_example", field: Field::MessageExample, weight: 1.0 },
        FtsColumn { name: "character_book", field: Field::CharacterBook, weight: 1.0 },
        FtsColumn { name: "creator_notes", field: Field::CreatorNotes, weight: 1.0 },
    ],
);
