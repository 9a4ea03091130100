//! The map of a library: its newest items, and their vectors if it has any.

use std::{sync::Arc, time::Duration};

use vademecum_actors::{CallContext, CallError, Library, ListItems, ListPage};
use vademecum_model::{Deadline, Hit, ListOrder, ListRequest, SourceName, Uri};
use vademecum_search::make_snippet;

use super::{builder::build_map, map::TopicMap, map_input::MapInput};

/// Maximum number of items on a map.
const MAX_ITEMS: usize = 1_500;
/// Length of the beginning of a text by which items are compared, in characters.
const TEXT_CHARS: usize = 600;
/// Maximum length of a title, and of the beginning of a text in its place, in characters.
const MAX_TITLE_CHARS: usize = 120;
const UNTITLED_CHARS: usize = 60;
/// Maximum time to read the vectors.
const VECTORS_TIMEOUT: Duration = Duration::from_secs(5);

impl TopicMap {
    /// Returns the map of a library. It is computed once and kept until an item changes.
    pub async fn of_library(library: &Library) -> Result<Arc<Self>, CallError> {
        let mut kept = library.derived_value().await?;
        if let Some(map) = kept.get::<Self>() {
            return Ok(map);
        }
        let indexer = library.indexer().cloned();
        let unindexed = match &indexer {
            Some(indexer) => indexer.sync_and_wait().await,
            None => 0,
        };
        let page = list_newest_items(library).await?;
        // A map that is incomplete now may be complete at the next call.
        let is_final = page.failed.is_empty() && unindexed == 0;
        let missing_sources = page.failed.iter().map(|failed| failed.source).collect();
        let omitted = page.total.saturating_sub(page.hits.len());
        let inputs: Vec<MapInput> = page.hits.into_iter().map(MapInput::from).collect();
        // The value stays locked while it is computed, even if the caller does not wait any more.
        let work = move || {
            let uris: Vec<Uri> = inputs.iter().map(|input| input.uri.clone()).collect();
            let deadline = Deadline::after(VECTORS_TIMEOUT);
            let vectors = indexer.map(|indexer| indexer.item_vectors(&uris, &deadline));
            let vectors = vectors.transpose().unwrap_or_else(|error| {
                tracing::warn!(%error, "the map of topics is made without vectors");
                None
            });
            let map = build_map(inputs, &vectors.unwrap_or_default());
            let map = Arc::new(Self { omitted, missing_sources, ..map });
            if is_final {
                kept.keep(Arc::clone(&map));
            }
            map
        };
        library.spawn_blocking(work).await.ok_or(CallError::Unavailable)
    }
}

async fn list_newest_items(library: &Library) -> Result<ListPage, CallError> {
    let request =
        ListRequest { order: ListOrder::Modified, take: MAX_ITEMS, ..ListRequest::default() };
    let list = ListItems {
        sources: SourceName::ALL.to_vec(),
        request,
        offset: 0,
        snippet_length: TEXT_CHARS,
        as_of: None,
        context: CallContext::default(),
    };
    library.list_items(list).await
}

impl From<Hit> for MapInput {
    fn from(hit: Hit) -> Self {
        let text = hit.snippet.unwrap_or_default();
        let title = hit.title.filter(|title| !title.trim().is_empty());
        let title = match title {
            Some(title) => make_snippet(&title, None, MAX_TITLE_CHARS),
            None if !text.is_empty() => make_snippet(&text, None, UNTITLED_CHARS),
            None => hit.uri.to_string(),
        };
        Self { uri: hit.uri, title, tags: hit.tags.unwrap_or_default(), text }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use vademecum_actors::{LibraryConfig, UserRegistry};
    use vademecum_core::{
        auth::local_principal,
        config::{self, Limits, Sessions},
        telemetry::Metrics,
    };
    use vademecum_embed::{Embeddings, StubEmbedder};
    use vademecum_model::{Draft, DraftBody, ItemAccess, NoteDraft, PromptDraft};
    use vademecum_vault::journal::ConflictCopies;

    use super::*;

    fn library(folder: &tempfile::TempDir, embeddings: Option<Embeddings>) -> Library {
        let registry = UserRegistry::new(LibraryConfig {
            data: folder.path().into(),
            tldw: None,
            sources: vec![
                Arc::new(vademecum_notes::Notes),
                Arc::new(vademecum_media::Media),
                Arc::new(vademecum_chats::Chats),
                Arc::new(vademecum_characters::Characters),
                Arc::new(vademecum_prompts::Prompts),
            ],
            embeddings: embeddings.map(Arc::new),
            max_open_libraries: NonZeroUsize::MIN,
            limits: Limits::default(),
            sessions: Sessions::default(),
        });
        registry.library(&local_principal("ada".parse().unwrap()))
    }

    async fn save(library: &Library, drafts: Vec<DraftBody>) {
        let source = drafts[0].source();
        let drafts = drafts.into_iter().map(|body| {
            let title = format!("{body:?}");
            Draft { origin: title.clone(), digest: title, id: None, body }
        });
        let saved = library.source(source).unwrap();
        let saved = saved.save_drafts(drafts.collect(), ConflictCopies::InLibrary).await.unwrap();
        assert!(saved.iter().all(Result::is_ok), "{saved:?}");
    }

    fn note(title: &str, tag: &str) -> DraftBody {
        DraftBody::Note(NoteDraft {
            title: title.to_owned(),
            content: "Text.".to_owned(),
            tags: vec![tag.to_owned()],
            ..NoteDraft::default()
        })
    }

    fn prompt(name: &str) -> DraftBody {
        DraftBody::Prompt(PromptDraft { name: name.to_owned(), ..PromptDraft::default() })
    }

    fn names(map: &TopicMap) -> Vec<&str> {
        map.topics.iter().filter_map(|topic| topic.name.as_deref()).collect()
    }

    #[actix::test]
    async fn map_has_items_of_all_sources_until_they_change() {
        let folder = tempfile::tempdir().unwrap();
        let library = library(&folder, None);
        assert_eq!(TopicMap::of_library(&library).await.unwrap().items, []);
        let breads = ["Rye sourdough", "Wheat sourdough", "Spelt sourdough"];
        save(&library, breads.map(|title| note(title, "open")).to_vec()).await;
        let prompts = ["Haiku about compilers", "Limerick on compilers", "Compilers explained"];
        save(&library, prompts.map(prompt).to_vec()).await;
        let map = TopicMap::of_library(&library).await.unwrap();
        assert_eq!((map.items.len(), map.omitted), (6, 0));
        let mut found = names(&map);
        found.sort_unstable();
        assert_eq!(found, ["Compilers", "Sourdough"]);
        let again = TopicMap::of_library(&library).await.unwrap();
        assert!(Arc::ptr_eq(&map, &again));
        save(&library, vec![prompt("One more")]).await;
        assert_eq!(TopicMap::of_library(&library).await.unwrap().items.len(), 7);
    }

    #[actix::test]
    async fn concurrent_callers_share_one_map() {
        let folder = tempfile::tempdir().unwrap();
        let library = library(&folder, None);
        // Reading creates the missing files, which is a change.
        TopicMap::of_library(&library).await.unwrap();
        save(&library, vec![note("Bread", "open")]).await;
        let [one, other] = [(); 2].map(|()| TopicMap::of_library(&library));
        let (one, other) = futures_util::join!(one, other);
        assert!(Arc::ptr_eq(&one.unwrap(), &other.unwrap()));
    }

    #[actix::test]
    async fn restricted_map_has_visible_items_only() {
        let folder = tempfile::tempdir().unwrap();
        let library = library(&folder, None);
        save(&library, vec![note("Open", "open"), note("Secret", "secret")]).await;
        assert_eq!(TopicMap::of_library(&library).await.unwrap().items.len(), 2);
        let mut access = ItemAccess::default();
        access.source_mut(SourceName::Notes).denied_tags = vec!["secret".to_owned()];
        let timeout = Limits::default().source_timeout();
        let restricted = library.restricted_to(&Arc::new(access), timeout, &Metrics::default());
        let map = TopicMap::of_library(&restricted).await.unwrap();
        assert_eq!((map.items.len(), map.omitted), (1, 0));
        assert_eq!(map.items[0].title, "Open");
    }

    #[actix::test]
    async fn vectors_are_used_where_they_exist() {
        let folder = tempfile::tempdir().unwrap();
        let settings = config::Embeddings::default();
        let stub = Box::new(StubEmbedder::new(384));
        let embeddings = Embeddings::new(stub, &settings, folder.path());
        let library = library(&folder, Some(embeddings));
        // Too short for words, but the same for vectors.
        let titles = ["ab ab", "ab ab cd", "ab ab ef", "xy xy", "xy xy cd", "xy xy ef"];
        save(&library, titles.map(prompt).to_vec()).await;
        assert!(library.index_all(|_| {}).await);
        let map = TopicMap::of_library(&library).await.unwrap();
        let mut groups: Vec<(usize, &str)> =
            map.items.iter().map(|item| (item.topic, item.title.get(..2).unwrap())).collect();
        groups.dedup();
        assert_eq!(groups.len(), 2, "{groups:?}");
    }
}
