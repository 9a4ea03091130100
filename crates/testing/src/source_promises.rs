//! Contract tests that every source must pass.

use std::{sync::Arc, time::Duration};

use vademecum_model::{
    Change, Deadline, Draft, Filters, ItemAccess, ItemId, ListOrder, ListRequest, Retrieval,
    RetrievalMode, RetrievalOptions, SaveOutcome, SourceAccess, SourceName, Suggestions, TagChange,
};
use vademecum_search::{FtsQuery, GetRequest, RankRequest, RankedMatch};
use vademecum_source::{Source, SourceError};
use vademecum_store::{Durability, Store, Writer};

use super::{
    SourceFixture, awkward_queries::check_awkward_queries, recent_order::check_recent_order,
};

/// Runs all contract tests against a source. At least three of the drafts must contain `word`.
pub fn check_source_contract<S: Source>(source: S, drafts: &[Draft], word: &str) {
    let bench = SourceFixture::new(source);
    assert_eq!(bench.rank(word, 10).total, 0, "an empty source finds nothing");
    for draft in drafts {
        assert!(matches!(bench.save_draft(draft), SaveOutcome::New(_)), "{} is new", draft.origin);
    }
    check_repeated_save(&bench, drafts);
    check_ranking(&bench, word);
    check_recent_order(&bench, word);
    check_hit_order(&bench, word);
    check_retrieval_modes(&bench, word);
    check_suggestions(&bench, drafts);
    check_draft_round_trip(&bench);
    check_awkward_queries(&bench);
    check_restriction(&bench, word);
    check_tagging(&bench, drafts);
    check_listing(&bench);
    let missing = bench.load_item("no such thing", RetrievalOptions::default());
    assert!(
        matches!(missing, Err(SourceError::NotFound { .. })),
        "a missing item is reported as not found"
    );
}

/// Checks that all drafts saved in one transaction are written to the full-text index in one batch.
/// No statement of the source may force FTS5 to flush early, because that makes imports slow.
pub fn check_batched_index_writes<S: Source>(source: S, drafts: &[Draft]) {
    let bench = SourceFixture::new(source);
    let table = bench.source.searched_table(&Filters::default()).0.name;
    // FTS5 counts its flushes and stores the current count with each row.
    let count = format!("SELECT max(origin) AS n FROM {table}_docsize");
    for (time, so_often) in [("new", 1), ("edited", 2)] {
        let digest = |draft: &Draft| format!("{} {time}", draft.digest);
        let drafts = drafts.iter().map(|draft| Draft { digest: digest(draft), ..draft.clone() });
        let save = |writer: &Writer<'_>| -> Result<(), SourceError> {
            drafts.clone().try_for_each(|draft| bench.source.save_draft(writer, &draft).map(drop))
        };
        bench.store.write(Durability::Bulk, save).expect("the drafts are saved");
        let written =
            bench.read(|reader| Ok(reader.query_one(&count, &[], |row| row.get::<_, i64>("n"))?));
        assert_eq!(
            written.expect("the flushes are counted"),
            so_often,
            "{time} drafts are flushed in one batch"
        );
        if let Some(derived) = bench.source.derived_fts_table() {
            let has_words = bench.store.has_words_of_rows(&derived).expect("words are compared");
            assert!(has_words, "the index has the words of {time} rows");
        }
    }
}

/// Checks that a list has every item once, that its first items do not depend on how many are
/// requested, and that it reads nothing but an index.
fn check_listing<S: Source>(bench: &SourceFixture<S>) {
    let list = |order, take| {
        let request = ListRequest { order, take, ..ListRequest::default() };
        bench.read(|reader| bench.source.list_items(reader, &request)).expect("the source lists")
    };
    let items = bench.read(|reader| bench.source.list_item_versions(reader)).expect("it has items");
    for order in [ListOrder::Modified, ListOrder::Created, ListOrder::Title] {
        let all = list(order, usize::MAX);
        assert_eq!((all.items.len(), all.total), (items.len(), items.len()), "{order:?}");
        let pairs = || all.items.iter().zip(all.items.iter().skip(1));
        assert!(pairs().all(|(one, next)| order.compare(&one.sort_key, &next.sort_key).is_le()));
        for take in 0..=all.total {
            let first = list(order, take);
            assert_eq!((&first.items[..], first.total), (&all.items[..take], all.total));
        }
    }
    let Some(statements) = bench.source.item_statements() else { return };
    let explain = format!("EXPLAIN QUERY PLAN {}", statements.list.list_sql);
    let parameters = bench.source.list_parameters(&ListRequest::default());
    let parameters: Vec<_> =
        parameters.iter().map(|(name, value)| (*name, value.as_ref())).collect();
    let plan = bench.read(|reader| {
        Ok(reader.query_all(&explain, &parameters, |row| row.get::<_, String>("detail"))?)
    });
    let plan = plan.expect("the statement is explained");
    let is_index =
        |step: &String| step.contains("USING COVERING INDEX") && step.contains("_listed");
    assert!(plan.iter().any(is_index), "a list reads an index only: {plan:?}");
}

fn check_repeated_save<S: Source>(bench: &SourceFixture<S>, drafts: &[Draft]) {
    for draft in drafts {
        assert!(
            matches!(bench.save_draft(draft), SaveOutcome::Unchanged(_)),
            "{} is unchanged",
            draft.origin
        );
        let edited = Draft { digest: format!("{} edited", draft.digest), ..draft.clone() };
        assert!(
            matches!(bench.save_draft(&edited), SaveOutcome::Updated(_)),
            "{} is updated",
            draft.origin
        );
    }
}

fn check_ranking<S: Source>(bench: &SourceFixture<S>, word: &str) {
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

fn check_hit_order<S: Source>(bench: &SourceFixture<S>, word: &str) {
    let ranked = bench.rank(word, 1_000).ranked;
    let gone = RankedMatch { key: i64::MAX, ..ranked[0].clone() };
    let reversed: Vec<RankedMatch> = ranked.iter().rev().cloned().chain([gone]).collect();
    for length in [1, 20, 300] {
        let hits = bench.load_hits(word, Filters::default(), reversed.clone(), length);
        let uris: Vec<_> = hits.iter().map(|hit| &hit.uri).collect();
        assert_eq!(uris, ranked.iter().rev().map(|match_| &match_.uri).collect::<Vec<_>>());
        for hit in &hits {
            let snippet = hit.snippet.as_deref().expect("a snippet");
            assert!(snippet.chars().count() <= length, "{snippet}");
            assert_eq!(hit.source, bench.source.name());
        }
    }
    let hits = bench.load_hits(word, Filters::default(), ranked.clone(), 300);
    assert!(hits.iter().zip(&ranked).all(|(hit, match_)| hit.score == match_.score));
}

fn check_retrieval_modes<S: Source>(bench: &SourceFixture<S>, word: &str) {
    let hits = bench.search(word);
    for hit in &hits {
        for mode in [
            RetrievalMode::Snippet,
            RetrievalMode::Chunk,
            RetrievalMode::ChunkWithSiblings,
            RetrievalMode::Full,
            RetrievalMode::Auto,
        ] {
            let options = RetrievalOptions {
                mode: Some(mode),
                loc: hit.loc.clone(),
                ..RetrievalOptions::default()
            };
            let item = bench.load_item(hit.id.clone(), options).expect("the item is there");
            assert_eq!(item.meta.id, hit.id);
            assert!(item.content.is_string() || item.content.is_object(), "{mode:?}");
        }
    }
}

fn check_suggestions<S: Source>(bench: &SourceFixture<S>, drafts: &[Draft]) {
    let all = bench.suggest_items("", 1_000);
    assert_eq!(
        (all.total, all.values.len()),
        (drafts.len(), drafts.len()),
        "empty input returns all items"
    );
    let first = bench.suggest_items("", 1);
    assert_eq!((first.total, &first.values[..]), (all.total, &all.values[..1]), "newest first");
    for id in &all.values {
        assert_eq!(
            bench.suggest_items(id, 1).values,
            [id.as_str()],
            "an id is completed to itself"
        );
        let begun: String = id.chars().take(1).collect();
        assert!(bench.suggest_items(&begun, 1_000).values.contains(id), "id prefix matches");
        let item = bench.load_item(id.as_str(), RetrievalOptions::default()).expect("it is there");
        let title = item.meta.title.expect("these have titles");
        assert!(bench.suggest_items(&title, 1_000).values.contains(id), "title matches: {title}");
    }
    assert_eq!(bench.suggest_items("no such thing", 10), Suggestions::default());
    let holdings = bench.read(|reader| bench.source.source_stats(reader)).expect("it counts");
    assert_eq!(holdings.items, drafts.len(), "every item is counted");
    assert!(holdings.passages > 0 && holdings.newest.is_some(), "{holdings:?}");
}

fn check_tagging<S: Source>(bench: &SourceFixture<S>, drafts: &[Draft]) {
    let id = bench.suggest_items("", 1).values.remove(0);
    let tagging = TagChange { add: vec!["zyzzyva".to_owned()], remove: Vec::new(), text: None };
    let tag = Change::Tag { id: ItemId::Text(id.clone()), tagging };
    let before =
        bench.load_item(id.as_str(), RetrievalOptions::default()).expect("it is there").meta;
    if bench.source.name() == SourceName::Chats {
        assert!(matches!(bench.apply_change(&tag), Err(SourceError::Refused(_))), "no tags here");
        return;
    }
    let written = bench.apply_change(&tag).expect("it is tagged");
    assert!(written.tags.contains(&"zyzzyva".to_owned()), "{written:?}");
    assert_eq!((&written.uri, Some(written.version - 1)), (&before.uri, before.version));
    assert_eq!(
        bench.apply_change(&tag).expect("again"),
        written,
        "repeating the change has no effect"
    );
    let found = bench.search("zyzzyva");
    assert_eq!(found.len(), 1, "a tag is searched");
    assert_eq!((&found[0].uri, found[0].version), (&before.uri, Some(written.version)));
    let again = |draft: &Draft| {
        let newer = Draft { digest: format!("{} newer", draft.digest), ..draft.clone() };
        bench.try_save_draft(&newer).err().map(|error| error.to_string())
    };
    let refused: Vec<String> = drafts.iter().filter_map(again).collect();
    assert_eq!(refused.len(), 1, "locally changed items are not overwritten: {refused:?}");
    assert!(refused[0].contains(&before.uri.to_string()), "{refused:?}");
    assert_eq!(bench.search("zyzzyva").len(), 1, "the tag is kept");
}

fn check_draft_round_trip<S: Source>(bench: &SourceFixture<S>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let other = Store::new(bench.source.database(), folder.path());
    for id in bench.suggest_items("", 1_000).values {
        let read = |store: &Store| {
            let deadline = Deadline::after(Duration::from_mins(1));
            store
                .read(deadline, |reader| bench.source.load_draft(reader, &id))
                .expect("it is there")
        };
        let first = read(&bench.store);
        let saved = other.write(Durability::Full, |writer| bench.source.save_draft(writer, &first));
        assert!(matches!(saved, Ok(SaveOutcome::New(_))), "{saved:?}");
        assert_eq!(format!("{:?}", read(&other)), format!("{first:?}"));
    }
}

/// A restriction that matches no item changes nothing, and one that hides all items leaves none.
fn check_restriction<S: Source>(bench: &SourceFixture<S>, word: &str) {
    let (source, name) = (&bench.source, bench.source.name());
    let restricted = |change: fn(&mut SourceAccess)| {
        let mut access = ItemAccess::default();
        change(access.source_mut(name));
        bench.store.restricted_to(Arc::new(access))
    };
    let rank = |store: &Store, word: &str| {
        let query = Arc::new(FtsQuery::parse(word));
        let request = RankRequest { query, limit: 100, ..RankRequest::default() };
        let found: Result<_, SourceError> =
            store.read(five_minutes(), |reader| source.rank_matches(reader, &request));
        found.expect("the source ranks")
    };
    let look = |store: &Store| {
        let answers: Result<_, SourceError> = store.read(five_minutes(), |reader| {
            Ok((
                source.source_stats(reader)?,
                source.suggest_items(reader, "", 100)?,
                source.suggest_keywords(reader, "", 100)?,
                source.item_kinds(reader)?,
                source.list_prompts(reader)?,
                source.list_item_versions(reader)?,
                source.similar_words(reader, &[format!("{word}x")])?,
            ))
        });
        let ranking = rank(store, word);
        format!("{:?} {ranking:?}", answers.expect("the source answers"))
    };
    let ranked = rank(&bench.store, word).ranked;
    let unmatched = restricted(|access| {
        access.denied_tags = vec!["no such tag*".to_owned()];
        access.denied_folders = vec!["/no/such/folder".to_owned()];
    });
    assert_eq!(look(&unmatched), look(&bench.store), "{name}");
    let empty = Store::new(source.database(), bench.folder.path().join("empty").as_path());
    for hiding in [
        restricted(|access| access.is_hidden = true),
        restricted(|access| access.allowed_tags = Some(vec!["no such tag".to_owned()])),
        restricted(|access| access.denied_tags = vec!["*".to_owned()]),
    ] {
        let hides_all = rank(&hiding, word).total == 0;
        // Items without tags are not hidden by a rule for tags.
        if hides_all {
            assert_eq!(look(&hiding), look(&empty), "{name}");
            for found in &ranked {
                let get = GetRequest {
                    id: found.uri.id.as_str().into(),
                    part: found.uri.part.clone(),
                    retrieval: Retrieval::full(),
                    page: None,
                    recent_queries: Vec::new(),
                };
                let read: Result<_, SourceError> =
                    hiding.read(five_minutes(), |reader| source.load_item(reader, &get));
                assert!(matches!(read, Err(SourceError::NotFound { .. })), "{name}: {read:?}");
            }
        }
    }
    let is_hidden = restricted(|access| access.is_hidden = true);
    assert_eq!(rank(&is_hidden, word).total, 0, "{name}");
}

fn five_minutes() -> Deadline {
    Deadline::after(Duration::from_mins(5))
}
