//! The promises of a source, checked the same way for all of them.

use std::{sync::Arc, time::Duration};

use vademecum_kit::{
    model::{
        Ask, Change, Deadline, Draft, Filters, Get, Hit, ItemId, Mode, Order, PageOf, Preferences,
        Ranked, Ranking, Retrieval, RetrievalOptions, Saved, SourceName, Statistics, Suggestions,
        Tagging, View, Written,
    },
    retrieve::FtsQuery,
    source::{Source, SourceError},
    store::{Durability, Store, StoreError, Writer},
};

/// Things that people and programs type, none of which may fail.
pub const AWKWARD: [&str; 22] = [
    "don't",
    "C++",
    "foo-bar",
    "R&D",
    "http://a.b/c",
    "std::vec::Vec",
    "OR",
    "king AND",
    "NOT king",
    "\"unbalanced",
    "*",
    "a:b",
    "東京",
    "🙂👍",
    "nul\0byte",
    "{title} : x",
    "-minus",
    "NEAR(a b)",
    "^start",
    "'; DROP TABLE notes; --",
    "( ) [ ]",
    "%_",
];

/// One source with a store of its own in a temporary folder.
#[derive(Debug)]
pub struct Bench<S> {
    /// The source under test.
    pub source: S,
    store: Store,
    _folder: tempfile::TempDir,
}

impl<S: Source> Bench<S> {
    /// An empty store for `source`.
    pub fn new(source: S) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(source.database(), folder.path());
        Self { source, store, _folder: folder }
    }

    /// A store for `source` that holds these drafts.
    pub fn filled(source: S, drafts: &[Draft]) -> Self {
        let bench = Self::new(source);
        for draft in drafts {
            bench.save(draft);
        }
        bench
    }

    /// Saves one draft.
    pub fn save(&self, draft: &Draft) -> Saved {
        self.try_save(draft).expect("the draft is saved")
    }

    /// Saves one draft, if that is possible.
    pub fn try_save(&self, draft: &Draft) -> Result<Saved, SourceError> {
        self.store.write(Durability::Bulk, |writer| self.source.save(writer, draft))
    }

    /// Changes something.
    pub fn change(&self, change: &Change) -> Result<Written, SourceError> {
        self.store.write(Durability::Full, |writer| self.source.change(writer, change))
    }

    /// Ranks without filters, by relevance.
    pub fn rank(&self, query: &str, take: usize) -> Ranking {
        self.rank_with(query, Filters::default(), Order::Relevance, take)
    }

    /// Ranks.
    pub fn rank_with(&self, query: &str, filters: Filters, order: Order, take: usize) -> Ranking {
        let query = Arc::new(FtsQuery::parse(query));
        let ask = Ask { query, filters, order, take, others: Statistics::default(), floor: None };
        let mut ranking =
            self.read(|reader| self.source.rank(reader, &ask)).expect("the source ranks");
        ranking.normalise(ranking.best);
        ranking
    }

    /// Ranks and reads what was found.
    pub fn search_with(&self, query: &str, filters: Filters) -> Vec<Hit> {
        let wanted = self.rank_with(query, filters.clone(), Order::Relevance, 100).ranked;
        self.show(query, filters, wanted, 300)
    }

    /// Ranks and reads what was found, without filters.
    pub fn search(&self, query: &str) -> Vec<Hit> {
        self.search_with(query, Filters::default())
    }

    /// Reads one item.
    pub fn get(&self, id: impl Into<ItemId>, options: RetrievalOptions) -> GetAnswer {
        self.get_page(id, options, None)
    }

    /// Reads one item, or a page of it.
    pub fn get_page(
        &self,
        id: impl Into<ItemId>,
        options: RetrievalOptions,
        page: Option<PageOf>,
    ) -> GetAnswer {
        let retrieval = Retrieval::resolve(options, &Preferences::default());
        let get = Get { id: id.into(), part: None, retrieval, page, about: Vec::new() };
        self.read(|reader| self.source.get(reader, &get))
    }

    /// What something that is being typed may become.
    pub fn suggest(&self, typed: &str, most: usize) -> Suggestions {
        self.read(|reader| self.source.suggest(reader, typed, most)).expect("the source suggests")
    }

    /// Does something with a reader.
    pub fn read<T>(
        &self,
        work: impl FnOnce(&vademecum_kit::store::Reader<'_>) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        self.store.read(Deadline::after(Duration::from_mins(1)), work)
    }

    /// Does something with a writer.
    pub fn write<T>(&self, work: impl FnOnce(&Writer<'_>) -> Result<T, StoreError>) -> T {
        self.store.write(Durability::Bulk, work).expect("the write succeeds")
    }

    fn show(&self, query: &str, filters: Filters, wanted: Vec<Ranked>, length: usize) -> Vec<Hit> {
        let view = View {
            query: Arc::new(FtsQuery::parse(query)),
            weights: Arc::default(),
            filters,
            snippet_length: length,
            highlight: true,
            wanted,
        };
        self.read(|reader| self.source.show(reader, &view)).expect("the source shows")
    }
}

/// What a `get` answers.
type GetAnswer = Result<vademecum_kit::model::Item, SourceError>;

/// Checks every promise of a source. At least three of the drafts contain `word`.
pub fn check<S: Source>(source: S, drafts: &[Draft], word: &str) {
    let bench = Bench::new(source);
    assert_eq!(bench.rank(word, 10).total, 0, "an empty source finds nothing");
    for draft in drafts {
        assert!(matches!(bench.save(draft), Saved::New(_)), "{} is new", draft.origin);
    }
    saving_again_changes_nothing(&bench, drafts);
    ranking_is_normalised_and_stable(&bench, word);
    newest_first_is_newest_first(&bench, word);
    hits_are_read_in_order(&bench, word);
    items_are_read_in_every_mode(&bench, word);
    what_is_typed_is_completed(&bench, drafts);
    a_draft_that_was_read_makes_the_same_item(&bench);
    awkward_queries_never_fail(&bench);
    what_is_tagged_is_found_and_kept(&bench, drafts);
    let missing = bench.get("no such thing", RetrievalOptions::default());
    assert!(matches!(missing, Err(SourceError::NotFound { .. })), "what is not there is named");
}

/// Checks that the words of drafts that are saved in one transaction are written
/// together: no statement of the source makes FTS5 write out what it has so far.
/// It is what an import is fast by.
pub fn check_written_together<S: Source>(source: S, drafts: &[Draft]) {
    let bench = Bench::new(source);
    let table = bench.source.searched(&Filters::default()).0.name;
    // FTS5 counts how often it has written, and says of each row when that was.
    let count = format!("SELECT max(origin) AS n FROM {table}_docsize");
    for (time, so_often) in [("new", 1), ("edited", 2)] {
        let digest = |draft: &Draft| format!("{} {time}", draft.digest);
        let drafts = drafts.iter().map(|draft| Draft { digest: digest(draft), ..draft.clone() });
        let save = |writer: &Writer<'_>| -> Result<(), SourceError> {
            drafts.into_iter().try_for_each(|draft| bench.source.save(writer, &draft).map(drop))
        };
        bench.store.write(Durability::Bulk, save).expect("the drafts are saved");
        let written =
            bench.read(|reader| Ok(reader.one(&count, &[], |row| row.get::<_, i64>("n"))?));
        assert_eq!(written.expect("it is counted"), so_often, "{time} drafts are written at once");
    }
}

fn saving_again_changes_nothing<S: Source>(bench: &Bench<S>, drafts: &[Draft]) {
    for draft in drafts {
        assert!(matches!(bench.save(draft), Saved::Unchanged(_)), "{} is unchanged", draft.origin);
        let edited = Draft { digest: format!("{} edited", draft.digest), ..draft.clone() };
        assert!(matches!(bench.save(&edited), Saved::Updated(_)), "{} is updated", draft.origin);
    }
}

fn ranking_is_normalised_and_stable<S: Source>(bench: &Bench<S>, word: &str) {
    let all = bench.rank(word, 1_000);
    assert!(all.total >= 3 && all.total == all.ranked.len(), "all matches are counted");
    assert_eq!(all.ranked.first().map(|best| best.score), Some(1.0), "the best has 1");
    assert!(all.ranked.iter().all(|match_| (0.0..=1.0).contains(&match_.score)));
    assert!(all.ranked.is_sorted_by(|one, next| one.score >= next.score), "best first");
    for take in 1..=all.total {
        let some = bench.rank(word, take);
        assert_eq!(some.total, all.total, "the count does not depend on the page");
        assert_eq!(some.ranked, all.ranked[..take], "nor does the order");
    }
}

fn newest_first_is_newest_first<S: Source>(bench: &Bench<S>, word: &str) {
    let recent = bench.rank_with(word, Filters::default(), Order::Recent, 1_000);
    assert!(recent.ranked.is_sorted_by(|one, next| one.last_modified >= next.last_modified));
    assert_eq!(recent.total, bench.rank(word, 1).total);
    let scores = |ranking: Ranking| {
        let mut pairs: Vec<_> = ranking
            .ranked
            .into_iter()
            .map(|match_| (match_.uri, format!("{:.9}", match_.score)))
            .collect();
        pairs.sort();
        pairs
    };
    assert_eq!(scores(recent), scores(bench.rank(word, 1_000)), "the order changes no score");
}

fn hits_are_read_in_order<S: Source>(bench: &Bench<S>, word: &str) {
    let ranked = bench.rank(word, 1_000).ranked;
    let gone = Ranked { key: i64::MAX, ..ranked[0].clone() };
    let wanted: Vec<Ranked> = ranked.iter().rev().cloned().chain([gone]).collect();
    for length in [1, 20, 300] {
        let hits = bench.show(word, Filters::default(), wanted.clone(), length);
        let uris: Vec<_> = hits.iter().map(|hit| &hit.uri).collect();
        assert_eq!(uris, ranked.iter().rev().map(|match_| &match_.uri).collect::<Vec<_>>());
        for hit in &hits {
            let snippet = hit.snippet.as_deref().expect("a snippet");
            assert!(snippet.chars().count() <= length, "{snippet}");
            assert_eq!(hit.source, bench.source.name());
        }
    }
    let hits = bench.show(word, Filters::default(), ranked.clone(), 300);
    assert!(hits.iter().zip(&ranked).all(|(hit, match_)| hit.score == match_.score));
}

fn items_are_read_in_every_mode<S: Source>(bench: &Bench<S>, word: &str) {
    let hits = bench.search(word);
    for hit in &hits {
        for mode in [Mode::Snippet, Mode::Chunk, Mode::ChunkWithSiblings, Mode::Full, Mode::Auto] {
            let options = RetrievalOptions {
                mode: Some(mode),
                loc: hit.loc.clone(),
                ..RetrievalOptions::default()
            };
            let item = bench.get(hit.id.clone(), options).expect("the item is there");
            assert_eq!(item.meta.id, hit.id);
            assert!(item.content.is_string() || item.content.is_object(), "{mode:?}");
        }
    }
}

fn what_is_typed_is_completed<S: Source>(bench: &Bench<S>, drafts: &[Draft]) {
    let all = bench.suggest("", 1_000);
    assert_eq!(
        (all.total, all.values.len()),
        (drafts.len(), drafts.len()),
        "nothing is everything"
    );
    let first = bench.suggest("", 1);
    assert_eq!((first.total, &first.values[..]), (all.total, &all.values[..1]), "newest first");
    for id in &all.values {
        assert_eq!(bench.suggest(id, 1).values, [id.as_str()], "an id is completed to itself");
        let begun: String = id.chars().take(1).collect();
        assert!(bench.suggest(&begun, 1_000).values.contains(id), "by its beginning");
        let item = bench.get(id.as_str(), RetrievalOptions::default()).expect("it is there");
        let title = item.meta.title.expect("these have titles");
        assert!(bench.suggest(&title, 1_000).values.contains(id), "by its title: {title}");
    }
    assert_eq!(bench.suggest("no such thing", 10), Suggestions::default());
    let holdings = bench.read(|reader| bench.source.holdings(reader)).expect("it counts");
    assert_eq!(holdings.items, drafts.len(), "every item is counted");
    assert!(holdings.passages > 0 && holdings.newest.is_some(), "{holdings:?}");
}

fn what_is_tagged_is_found_and_kept<S: Source>(bench: &Bench<S>, drafts: &[Draft]) {
    let id = bench.suggest("", 1).values.remove(0);
    let tagging = Tagging { add: vec!["zyzzyva".to_owned()], remove: Vec::new() };
    let tag = Change::Tag { id: ItemId::Text(id.clone()), tagging };
    let before = bench.get(id.as_str(), RetrievalOptions::default()).expect("it is there").meta;
    if bench.source.name() == SourceName::Chats {
        assert!(matches!(bench.change(&tag), Err(SourceError::Refused(_))), "no tags here");
        return;
    }
    let written = bench.change(&tag).expect("it is tagged");
    assert!(written.tags.contains(&"zyzzyva".to_owned()), "{written:?}");
    assert_eq!((&written.uri, Some(written.version - 1)), (&before.uri, before.version));
    assert_eq!(bench.change(&tag).expect("again"), written, "the same again changes nothing");
    let found = bench.search("zyzzyva");
    assert_eq!(found.len(), 1, "a tag is searched");
    assert_eq!((&found[0].uri, found[0].version), (&before.uri, Some(written.version)));
    let again = |draft: &Draft| {
        let newer = Draft { digest: format!("{} newer", draft.digest), ..draft.clone() };
        bench.try_save(&newer).err().map(|error| error.to_string())
    };
    let refused: Vec<String> = drafts.iter().filter_map(again).collect();
    assert_eq!(refused.len(), 1, "what was changed here is left alone: {refused:?}");
    assert!(refused[0].contains(&before.uri.to_string()), "{refused:?}");
    assert_eq!(bench.search("zyzzyva").len(), 1, "and keeps its tag");
}

fn a_draft_that_was_read_makes_the_same_item<S: Source>(bench: &Bench<S>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let other = Store::new(bench.source.database(), folder.path());
    for id in bench.suggest("", 1_000).values {
        let read = |store: &Store| {
            let deadline = Deadline::after(Duration::from_mins(1));
            store.read(deadline, |reader| bench.source.draft(reader, &id)).expect("it is there")
        };
        let first = read(&bench.store);
        let saved = other.write(Durability::Full, |writer| bench.source.save(writer, &first));
        assert!(matches!(saved, Ok(Saved::New(_))), "{saved:?}");
        assert_eq!(format!("{:?}", read(&other)), format!("{first:?}"));
    }
}

fn awkward_queries_never_fail<S: Source>(bench: &Bench<S>) {
    for query in AWKWARD {
        bench.search(query);
        bench.suggest(query, 10);
    }
    bench.search(&"long \"question' AND (".repeat(400));
}
