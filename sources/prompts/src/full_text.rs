//! The full-text table of the source.

use vademecum_model::{Field, FtsColumn, FtsTable};

/// The full-text table, with the ranking weight of each column.
pub(crate) const FULL_TEXT_TABLE: FtsTable = FtsTable::new(
    "prompt_fts",
    "prompt_words",
    &[
        FtsColumn { name: "name", field: Field::Title, weight: 2.0 },
        FtsColumn { name: "details", field: Field::Description, weight: 1.0 },
        FtsColumn { name: "system_prompt", field: Field::SystemPrompt, weight: 1.0 },
        FtsColumn { name: "user_prompt", field: Field::UserPrompt, weight: 1.0 },
        FtsColumn { name: "author", field: Field::Author, weight: 1.0 },
        FtsColumn { name: "keywords", field: Field::Tags, weight: 1.0 },
    ],
);
