//! The choice of the columns in which a query is searched.
//!
//! The neighbours of a message tell the subject of a question that the message answers. A search
//! for a few words, or with operators, asks for the messages that contain them.

use std::ops::ControlFlow;

use vademecum_fts5::for_each_word;
use vademecum_model::{Field, FtsColumn, FtsTable};
use vademecum_search::FtsQuery;

/// Minimum number of words of a query that is searched in neighbours, too.
const MIN_WORDS_FOR_NEIGHBOURS: usize = 4;

/// Returns the columns in which `query` is searched, out of `selected`. Empty means all columns, in
/// both. Neighbours are searched for queries of at least four words without operators.
pub(crate) fn searched_columns(
    table: &FtsTable,
    selected: Vec<&'static str>,
    query: &FtsQuery,
) -> Vec<&'static str> {
    if table.columns.iter().all(is_own) || searches_neighbours(query) {
        return selected;
    }
    let own = table.columns.iter().filter(|column| is_own(column)).map(|column| column.name);
    own.filter(|name| selected.is_empty() || selected.contains(name)).collect()
}

fn is_own(column: &FtsColumn) -> bool {
    column.field != Field::Neighbours
}

fn searches_neighbours(query: &FtsQuery) -> bool {
    let mut words = 0;
    for_each_word(query.typed(), |_| {
        words += 1;
        if words < MIN_WORDS_FOR_NEIGHBOURS {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    words >= MIN_WORDS_FOR_NEIGHBOURS && query.required() == 0 && query.excluded().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn column(name: &'static str, field: Field) -> FtsColumn {
        FtsColumn { name, field, weight: 1.0 }
    }

    const TABLE: FtsTable = FtsTable::new(
        "chat_fts",
        "chat_words",
        &[
            column("title", Field::Title),
            column("content", Field::Text),
            column("neighbours", Field::Neighbours),
        ],
    );

    #[test]
    fn neighbours_are_searched_for_plain_questions_only() {
        let search = |query, selected| searched_columns(&TABLE, selected, &FtsQuery::parse(query));
        for question in ["what did Maren bake", "where does Maren bake?", "毎日パン"] {
            assert_eq!(search(question, vec![]), Vec::<&str>::new(), "{question}");
            assert_eq!(search(question, vec!["neighbours"]), ["neighbours"], "{question}");
        }
        for precise in
            ["bread", "rye bread flour", "rye bread flour -oat", "\"rye bread\" with flour"]
        {
            assert_eq!(search(precise, vec![]), ["title", "content"], "{precise}");
            assert_eq!(search(precise, vec!["content", "neighbours"]), ["content"], "{precise}");
        }
    }
}
