//! Queries of users that are no queries.

use vademecum_source::Source;

use super::SourceFixture;

/// Unusual user input that never causes an error.
pub const AWKWARD_QUERIES: [&str; 44] = [
    "don't",
    "C++",
    "foo-bar",
    "R&D",
    "http://a.b/c",
    "std::vec::Vec",
    "OR",
    "king AND",
    "\"unbalanced",
    "*",
    "a:b",
    "東京",
    "🙂👍",
    "nul\0byte",
    "{title} : x",
    "NEAR(a b)",
    "^start",
    "'; DROP TABLE notes; --",
    "( ) [ ]",
    "%_",
    "AND",
    "NOT",
    "AND king OR",
    "NEAR(a, b)",
    "unbalanced\"",
    "\"\"",
    "\"",
    "kin*",
    "title:king",
    "{title}: king",
    "^king",
    "-",
    "--king",
    "(king",
    ")",
    "\u{1f98a}",
    "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} king",
    "\u{0}",
    "ki\u{0}ng",
    "\u{feff}king\u{202e}",
    "e\u{301}",
    "%_?",
    "\\",
    "king\n\tking",
];

/// Queries that have only words to exclude. A source finds nothing; a server refuses them.
const QUERIES_OF_EXCLUSIONS: [&str; 2] = ["-minus", "NOT king"];

pub(super) fn check_awkward_queries<S: Source>(bench: &SourceFixture<S>) {
    for query in AWKWARD_QUERIES.into_iter().chain(QUERIES_OF_EXCLUSIONS) {
        bench.search(query);
        bench.suggest_items(query, 10);
    }
    bench.search(&"long \"question' AND (".repeat(400));
}
