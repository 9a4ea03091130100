//! The full-text table of the source.

use vademecum_model::{Field, FtsColumn, FtsTable};

/// The full-text table, with the ranking weight of each column.
pub(crate) const FULL_TEXT_TABLE: FtsTable = FtsTable::new(
    "media_fts",
    "media_words",
    &[
        FtsColumn { name: "content", field: Field::Text, weight: 1.0 },
        FtsColumn { name: "title", field: Field::Title, weight: 2.0 },
        FtsColumn { name: "author", field: Field::Author, weight: 1.0 },
        FtsColumn { name: "keywords", field: Field::Tags, weight: 1.0 },
    ],
);
