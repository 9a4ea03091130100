//! The contract of sources whose databases follow an archive.

use std::{sync::Arc, time::Duration};

use vademecum_model::{Change, Draft, Filters, ItemId, Order, SaveOutcome, SourceName, TagChange};
use vademecum_replication::{FollowOptions, FollowedData};
use vademecum_source::Source;
use vademecum_store::Replication;

use super::{MemoryArchive, SourceFixture};

/// Limits of following in tests.
pub const FOLLOW_OPTIONS: FollowOptions =
    FollowOptions { stale_reads: true, conflict_timeout: Duration::from_secs(10) };

/// Returns a connection to an archive for databases without full-text tables.
pub fn follow_plain_tables(archive: &Arc<MemoryArchive>) -> Arc<dyn Replication> {
    Arc::new(FollowedData::new(Arc::clone(archive) as _, Vec::new(), FOLLOW_OPTIONS))
}

/// Returns a connection to an archive for the databases of a source.
pub fn follow_archive(source: &dyn Source, archive: &Arc<MemoryArchive>) -> FollowedData {
    let derived = source.derived_fts_table().map(|table| (source.database(), table));
    FollowedData::new(Arc::clone(archive) as _, derived.into_iter().collect(), FOLLOW_OPTIONS)
}

/// Checks that two servers that follow one archive have the same items and find the same, and that a
/// third one that starts later has them too. At least three of the drafts must contain `word`.
pub fn check_following<S: Source + Clone>(source: &S, drafts: &[Draft], word: &str) {
    let archive = Arc::new(MemoryArchive::default());
    let server = || SourceFixture::following(source.clone(), &follow_archive(source, &archive));
    let servers = [server(), server()];
    for (index, draft) in drafts.iter().enumerate() {
        let saved = servers[index % 2].save_draft(draft);
        assert!(matches!(saved, SaveOutcome::New(_)), "{} is new", draft.origin);
        let again = servers[(index + 1) % 2].save_draft(draft);
        assert!(matches!(again, SaveOutcome::Unchanged(_)), "{} is known", draft.origin);
    }
    compare(&servers, word);
    assert!(servers[0].rank(word, 10).total > 0, "`{word}` is found");
    // An edited, a tagged and a removed item.
    let edited = Draft { digest: "edited".to_owned(), ..drafts[0].clone() };
    servers[0].save_draft(&edited);
    if servers[1].source.name() != SourceName::Chats {
        let id = servers[1].suggest_items("", 1).values.remove(0);
        let tagging = TagChange { add: vec!["zyzzyva".to_owned()], remove: Vec::new(), text: None };
        servers[1].apply_change(&Change::Tag { id: ItemId::Text(id), tagging }).expect("tagged");
        assert_eq!(servers[0].search("zyzzyva").len(), 1, "the other server finds the tag");
    }
    // The tagged item is kept.
    let remove = |draft: &Draft| {
        servers[0].write(|writer| {
            Ok(servers[0].source.remove_origin(writer, &draft.origin).expect("it is removed"))
        })
    };
    assert!(drafts.iter().any(remove), "an item is removed");
    compare(&servers, word);
    let late = server();
    compare(&[late, server()], word);
    let [one, _] = servers;
    compare(&[one, server()], word);
}

fn compare<S: Source>(servers: &[SourceFixture<S>; 2], word: &str) {
    let [one, other] = servers.each_ref().map(|server| {
        let ranking = server.rank_with(word, Filters::default(), Order::Relevance, 1_000);
        // FTS5 does not subtract removed rows from the mean length, so scores differ a little.
        let mut found: Vec<_> = ranking.ranked.iter().map(|it| it.uri.to_string()).collect();
        found.sort();
        (server.dump_rows(), server.dump_words(), found)
    });
    assert_eq!(one.0, other.0, "the rows are the same");
    assert_eq!(one.1, other.1, "the indexed words are the same");
    assert_eq!(one.2, other.2, "the same items are found");
}
