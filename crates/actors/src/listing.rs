//! Lists of the items of all sources without a query, merged into one order.

use std::collections::HashMap;

use actix::prelude::*;
use futures_util::future::join_all;
use tracing::Instrument as _;
use vademecum_model::{
    Deadline, Facet, Filters, Hit, ListOrder, ListRequest, ListedItem, Listing, SourceName,
    Timestamp,
};
use vademecum_vault::links::NoteDetails;

use super::{
    CallContext, CallError, SourceFailure, SourceHandle, SourceSelection,
    aggregator::{Aggregator, within_deadline},
    source_selection::require_answer,
};

/// Lists the items of several sources.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<ListPage, CallError>")]
pub struct ListItems {
    /// Sources whose items are listed.
    pub sources: Vec<SourceName>,
    /// Filters, order and facets. `take` is the number of items on the page.
    pub request: ListRequest,
    /// Number of items to skip.
    pub offset: usize,
    /// Maximum length of the beginning of each text, in characters.
    pub snippet_length: usize,
    /// Lists the items as they were at this time.
    pub as_of: Option<Timestamp>,
    /// Cancellation and tracing span of the call.
    pub context: CallContext,
}

/// Page of a list, with the totals of the whole list.
#[derive(Clone, Debug, Default)]
pub struct ListPage {
    /// The items, with the beginnings of their texts as snippets.
    pub hits: Vec<Hit>,
    /// Number of all items that pass the filters.
    pub total: usize,
    /// The requested facets: values with their counts, the most frequent first; months newest first.
    pub facets: Vec<(Facet, Vec<(String, usize)>)>,
    /// Number of items whose state at the requested time is not known.
    pub unknown: usize,
    /// What the list shows of notes because of its conditions, by identifier.
    pub details: HashMap<String, NoteDetails>,
    /// Sources that failed or exceeded the deadline; their items are missing.
    pub failed: Vec<SourceFailure>,
}

impl ListPage {
    /// Returns the counted values of a facet.
    pub fn facet(&self, facet: Facet) -> &[(String, usize)] {
        let counted = self.facets.iter().find(|(known, _)| *known == facet);
        counted.map_or(&[], |(_, values)| values)
    }
}

impl Handler<ListItems> for Aggregator {
    type Result = ResponseFuture<Result<ListPage, CallError>>;

    fn handle(&mut self, message: ListItems, _: &mut Self::Context) -> Self::Result {
        let is_selected = |source: &&SourceHandle| message.sources.contains(&source.name());
        let sources: Vec<SourceHandle> =
            self.sources().iter().filter(is_selected).cloned().collect();
        let deadline = Deadline::after(self.timeout).with_cancellation(&message.context.cancel);
        let span = message.context.span.clone();
        Box::pin(
            async move {
                let mut page = match message.as_of {
                    Some(time) => list_past_page(sources, message, time, deadline).await?,
                    None => list_page(sources, message, deadline).await?,
                };
                page.hits.iter_mut().for_each(remove_repeated_title);
                Ok(page)
            }
            .instrument(span),
        )
    }
}

/// Removes the title from the beginning of the text of a conversation, which repeats it.
fn remove_repeated_title(hit: &mut Hit) {
    let (Some(title), Some(text)) = (&hit.title, &hit.snippet) else { return };
    if hit.source != SourceName::Chats {
        return;
    }
    if let Some(rest) = text.strip_prefix(title.trim()) {
        hit.snippet = Some(rest.trim_start_matches(": ").to_owned());
    }
}

/// Lists the first items of each source, merges them, and loads those on the page.
async fn list_page(
    sources: Vec<SourceHandle>,
    message: ListItems,
    deadline: Deadline,
) -> Result<ListPage, CallError> {
    let ListItems { request, offset, snippet_length, context, .. } = message;
    let selections: Vec<SourceSelection> = sources
        .iter()
        .map(|source| SourceSelection::source(source.name(), request.filters.clone()))
        .collect();
    // Without items on the page, none need to be ordered.
    let page_size = request.take;
    let take = if page_size == 0 { 0 } else { offset.saturating_add(page_size) };
    let request = ListRequest { take, ..request };
    let listed = sources.iter().zip(&selections).map(|(source, selection)| {
        let (source, request) = (source.clone(), request.clone());
        within_deadline(selection.clone(), deadline.clone(), async move |deadline| {
            source.list_items(request, deadline).await
        })
    });
    let (mut listings, mut failed) = (Vec::new(), Vec::new());
    for (answer, source) in join_all(listed).await.into_iter().zip(&sources) {
        let outcome = answer.as_ref().map_or_else(|failed| failed.reason.as_str(), |_| "answered");
        context.report_source(source.name(), sources.len(), outcome);
        match answer {
            Ok((_, listing)) => listings.push(listing),
            Err(failure) => failed.push(failure),
        }
    }
    require_answer(&failed, &selections)?;
    let total = listings.iter().map(|listing| listing.total).sum();
    let facets = merge_facets(&request.facets, &listings);
    let merged = merge_items(listings, request.order, take);
    let page = merged.into_iter().skip(offset).collect();
    let (hits, unloaded) = load_hits(&sources, page, snippet_length, &deadline).await;
    failed.extend(unloaded);
    let details = note_details(&sources, request, &hits, deadline).await?;
    Ok(ListPage { hits, total, facets, unknown: 0, details, failed })
}

/// Reads what a list shows of its notes because of its conditions.
async fn note_details(
    sources: &[SourceHandle],
    request: ListRequest,
    hits: &[Hit],
    deadline: Deadline,
) -> Result<HashMap<String, NoteDetails>, CallError> {
    let notes = sources.iter().find(|source| source.name() == SourceName::Notes);
    let listed = hits.iter().filter(|hit| hit.source == SourceName::Notes);
    let items: Vec<String> = listed.map(|hit| hit.uri.id.clone()).collect();
    match notes {
        Some(notes) if request.has_note_conditions() && !items.is_empty() => {
            Ok(notes.note_details(request, items, deadline).await?)
        }
        _ => Ok(HashMap::new()),
    }
}

/// Lists the items of each source as they were at a time, and merges them.
async fn list_past_page(
    sources: Vec<SourceHandle>,
    message: ListItems,
    time: Timestamp,
    deadline: Deadline,
) -> Result<ListPage, CallError> {
    let ListItems { request, offset, snippet_length, .. } = message;
    let take = offset.saturating_add(request.take);
    let selections: Vec<SourceSelection> = sources
        .iter()
        .map(|source| SourceSelection::source(source.name(), request.filters.clone()))
        .collect();
    let listed = sources.iter().zip(&selections).map(|(source, selection)| {
        let (source, request) = (source.clone(), ListRequest { take, ..request.clone() });
        within_deadline(selection.clone(), deadline.clone(), async move |deadline| {
            source.items_as_of(request, time, snippet_length, deadline).await
        })
    });
    let mut page = ListPage::default();
    let mut hits: Vec<(String, Hit)> = Vec::new();
    for answer in join_all(listed).await {
        match answer {
            Ok((_, listing)) => {
                page.total += listing.total;
                page.unknown += listing.unknown;
                hits.extend(listing.hits);
            }
            Err(failure) => page.failed.push(failure),
        }
    }
    require_answer(&page.failed, &selections)?;
    // A stable sort keeps the order of the sources for ties.
    hits.sort_by(|one, other| request.order.compare(&one.0, &other.0));
    page.hits = hits.into_iter().map(|(_, hit)| hit).skip(offset).take(request.take).collect();
    Ok(page)
}

/// Merges lists into one order and keeps the first `take` items. Ties are in the order of the sources.
fn merge_items(listings: Vec<Listing>, order: ListOrder, take: usize) -> Vec<ListedItem> {
    let mut items: Vec<ListedItem> =
        listings.into_iter().flat_map(|listing| listing.items).collect();
    // A stable sort keeps the order of ties.
    items.sort_by(|one, other| order.compare(&one.sort_key, &other.sort_key));
    items.truncate(take);
    items
}

/// Adds up the counts of all sources. Values that differ only in ASCII case are one, since filters
/// ignore it.
fn merge_facets(facets: &[Facet], listings: &[Listing]) -> Vec<(Facet, Vec<(String, usize)>)> {
    let merged = facets.iter().map(|facet| {
        let mut counts: HashMap<String, (String, usize)> = HashMap::new();
        for (value, count) in listings.iter().filter_map(|it| it.facets.get(facet)).flatten() {
            let (shown, sum) =
                counts.entry(value.to_ascii_lowercase()).or_insert_with(|| (value.clone(), 0));
            *sum += count;
            // The choice of a spelling must not depend on the order of a map.
            if value < shown {
                shown.clone_from(value);
            }
        }
        let mut counts: Vec<(String, usize)> = counts.into_values().collect();
        if *facet == Facet::Months {
            counts.sort_by(|one, other| other.0.cmp(&one.0));
        } else {
            counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        }
        (*facet, counts)
    });
    merged.collect()
}

/// Loads the items of a page, in their order, with the beginnings of their texts.
async fn load_hits(
    sources: &[SourceHandle],
    page: Vec<ListedItem>,
    snippet_length: usize,
    deadline: &Deadline,
) -> (Vec<Hit>, Vec<SourceFailure>) {
    let loads = sources.iter().filter_map(|source| {
        let own = page.iter().filter(|item| item.uri.source == source.name());
        let own: Vec<ListedItem> = own.cloned().collect();
        if own.is_empty() {
            return None;
        }
        let selection = SourceSelection::source(source.name(), Filters::default());
        let source = source.clone();
        Some(within_deadline(selection, deadline.clone(), async move |deadline| {
            source.load_listed(own, snippet_length, deadline).await
        }))
    });
    let (mut hits, mut failed) = (Vec::new(), Vec::new());
    for answer in join_all(loads).await {
        match answer {
            Ok((_, loaded)) => hits.extend(loaded),
            Err(failure) => failed.push(failure),
        }
    }
    let positions: HashMap<_, usize> = page.into_iter().map(|item| item.uri).zip(0..).collect();
    hits.sort_by_key(|hit: &Hit| positions.get(&hit.uri).copied());
    (hits, failed)
}

#[cfg(test)]
mod tests {
    use vademecum_model::Uri;

    use super::*;

    fn listing(source: SourceName, items: &[(i64, &str)]) -> Listing {
        let items = items.iter().map(|(key, sort_key)| ListedItem {
            key: *key,
            uri: Uri::item(source, key.to_string()),
            sort_key: (*sort_key).to_owned(),
        });
        Listing { items: items.collect(), ..Listing::default() }
    }

    #[test]
    fn lists_merge_in_order_with_sources_for_ties() {
        let merged = |order, take| {
            let listings = vec![
                listing(SourceName::Notes, &[(1, "c"), (2, "a")]),
                listing(SourceName::Media, &[(3, "c"), (4, "b")]),
            ];
            let items = merge_items(listings, order, take);
            items.into_iter().map(|item| item.key).collect::<Vec<_>>()
        };
        assert_eq!(merged(ListOrder::Modified, 4), [1, 3, 4, 2]);
        assert_eq!(merged(ListOrder::Title, 3), [2, 4, 1]);
    }

    #[test]
    fn facets_add_up_regardless_of_case() {
        let with = |facet, counts: &[(&str, usize)]| {
            let counts = counts.iter().map(|(value, count)| ((*value).to_owned(), *count));
            Listing { facets: [(facet, counts.collect())].into(), ..Listing::default() }
        };
        let listings =
            [with(Facet::Tags, &[("Work", 1), ("rye", 2)]), with(Facet::Tags, &[("work", 2)])];
        let merged = merge_facets(&[Facet::Tags], &listings);
        let expected = vec![("Work".to_owned(), 3), ("rye".to_owned(), 2)];
        assert_eq!(merged, [(Facet::Tags, expected)]);
        let months = [with(Facet::Months, &[("2025-12", 9), ("2026-01", 1)])];
        let merged = merge_facets(&[Facet::Months], &months);
        assert_eq!(merged[0].1[0], ("2026-01".to_owned(), 1));
    }
}
