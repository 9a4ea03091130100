//! Messages that read links.

use std::time::Instant;

use actix::prelude::*;
use vademecum_model::{Deadline, ItemId, Uri};
use vademecum_source::{Source, SourceError};
use vademecum_store::Store;
use vademecum_vault::links::{
    LinkLookup, LinkRows, StoredLink, find_quoted, find_quoting, quotable_text, read_link_rows,
    read_outdated_links,
};

use super::{SourceActor, SourceHandle};

/// Part of the time of a call that reading links of earlier items may take.
const SHARE_OF_TIME: u32 = 2;

impl SourceHandle {
    /// Reads links and names of visible items.
    pub(crate) async fn link_rows(
        &self,
        lookup: LinkLookup,
        deadline: Deadline,
    ) -> Result<LinkRows, SourceError> {
        if self.is_hidden() {
            return Ok(LinkRows::default());
        }
        self.send_message(Some(&deadline.clone()), ReadLinks { lookup, deadline }).await
    }

    /// Returns the text of an item in which quotes are looked up.
    pub(crate) async fn quotable_text(
        &self,
        id: &ItemId,
        deadline: Deadline,
    ) -> Result<String, SourceError> {
        if self.is_hidden() {
            return Err(self.hidden_item(id));
        }
        let message = ReadQuotableText { id: id.to_string(), deadline: deadline.clone() };
        self.send_message(Some(&deadline), message).await
    }

    /// Compares an item with the items of this source: returns the items with its quotes, each with
    /// the number of the quote, and the quotes of this source that are in its text.
    pub(crate) async fn compare_quotes(
        &self,
        quoting: QuotingItem,
        deadline: Deadline,
    ) -> Result<FoundQuotes, SourceError> {
        if self.is_hidden() {
            return Ok(FoundQuotes::default());
        }
        self.send_message(Some(&deadline.clone()), CompareQuotes { quoting, deadline }).await
    }
}

/// Reads links and names.
#[derive(Debug, Message)]
#[rtype(result = "Result<LinkRows, SourceError>")]
pub(super) struct ReadLinks {
    lookup: LinkLookup,
    deadline: Deadline,
}

impl Handler<ReadLinks> for SourceActor {
    type Result = ResponseFuture<Result<LinkRows, SourceError>>;

    fn handle(&mut self, message: ReadLinks, _: &mut Self::Context) -> Self::Result {
        let ReadLinks { lookup, deadline } = message;
        self.spawn_blocking(move |source, store| {
            bring_up_to_date(source, store, &deadline)?;
            store.read(deadline, |reader| read_link_rows(source, reader, &lookup))
        })
    }
}

/// Reads the links of items that an earlier version stored, for a part of the time of a call. The next
/// call continues.
fn bring_up_to_date(
    source: &dyn Source,
    store: &Store,
    deadline: &Deadline,
) -> Result<(), SourceError> {
    let left = deadline.expires_at.saturating_duration_since(Instant::now());
    if read_outdated_links(source, store, Some(&Deadline::after(left / SHARE_OF_TIME)))? {
        return Ok(());
    }
    Err(SourceError::Unavailable(format!(
        "the links of the items in `{}` are being read for the first time: try again in a moment",
        source.name()
    )))
}

/// Returns the text of an item in which quotes are looked up.
#[derive(Debug, Message)]
#[rtype(result = "Result<String, SourceError>")]
pub(super) struct ReadQuotableText {
    id: String,
    deadline: Deadline,
}

impl Handler<ReadQuotableText> for SourceActor {
    type Result = ResponseFuture<Result<String, SourceError>>;

    fn handle(&mut self, message: ReadQuotableText, _: &mut Self::Context) -> Self::Result {
        let ReadQuotableText { id, deadline } = message;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| Ok(quotable_text(&source.load_draft(reader, &id)?.body)))
        })
    }
}

/// An item, its quotes and its text.
#[derive(Clone, Debug)]
pub(crate) struct QuotingItem {
    /// The item.
    pub(crate) uri: Uri,
    /// The texts that it quotes.
    pub(crate) quotes: Vec<String>,
    /// Its text.
    pub(crate) text: String,
}

/// Quotes that connect an item with items of a source.
#[derive(Debug, Default)]
pub(crate) struct FoundQuotes {
    /// Numbers of the item's quotes, and items with their text.
    pub(crate) quoted: Vec<(usize, Uri)>,
    /// Quotes of other items that are in the item's text.
    pub(crate) quoting: Vec<StoredLink>,
}

/// Compares the quotes of an item with the texts of a source, and its text with their quotes.
#[derive(Debug, Message)]
#[rtype(result = "Result<FoundQuotes, SourceError>")]
pub(super) struct CompareQuotes {
    quoting: QuotingItem,
    deadline: Deadline,
}

impl Handler<CompareQuotes> for SourceActor {
    type Result = ResponseFuture<Result<FoundQuotes, SourceError>>;

    fn handle(&mut self, message: CompareQuotes, _: &mut Self::Context) -> Self::Result {
        let CompareQuotes { quoting, deadline } = message;
        self.spawn_blocking(move |source, store| {
            store.read(deadline, |reader| {
                let mut quoted = Vec::new();
                for (number, quote) in quoting.quotes.iter().enumerate() {
                    let found = find_quoted(source, reader, &quoting.uri, quote)?;
                    quoted.extend(found.into_iter().map(|uri| (number, uri)));
                }
                let found = find_quoting(source, reader, &quoting.text)?;
                let quoting = found.into_iter().filter(|it| it.from != quoting.uri).collect();
                Ok(FoundQuotes { quoted, quoting })
            })
        })
    }
}
