//! Reading of one item of one source, with the items that its links connect with it.

use std::collections::HashSet;

use actix::prelude::*;
use tracing::Instrument as _;
use vademecum_model::{Backlinks, ItemRef, SourceName};
use vademecum_search::{GetRequest, Item};
use vademecum_source::SourceError;
use vademecum_vault::links::LinkRows;

use super::{
    CallContext, CallError, ItemLinks, LinkDirection, LinkGraph,
    aggregator::Aggregator,
    source::{ItemReading, OwnLinks},
};

/// Number of items that a read item names as linking to it.
const MAX_BACKLINKS: usize = 5;

/// Reads one item, and its links as far as `links` requests them.
#[derive(Debug, Message)]
#[rtype(result = "Result<Item, CallError>")]
pub(crate) struct ReadSourceItem {
    pub(crate) source: SourceName,
    pub(crate) get: GetRequest,
    pub(crate) links: OwnLinks,
    pub(crate) context: CallContext,
}

impl Handler<ReadSourceItem> for Aggregator {
    type Result = ResponseFuture<Result<Item, CallError>>;

    fn handle(&mut self, message: ReadSourceItem, _: &mut Self::Context) -> Self::Result {
        let (aggregator, span) = (self.clone(), message.context.span.clone());
        Box::pin(async move { aggregator.read_item(message).await }.instrument(span))
    }
}

impl Aggregator {
    async fn read_item(&self, message: ReadSourceItem) -> Result<Item, CallError> {
        let (links, context) = (message.links, message.context.clone());
        let ItemReading { mut item, links: own } = self.read_source(message).await?;
        if links == OwnLinks::Superseding {
            let graph = self.link_graph(&context);
            if let Err(error) = add_links(&graph, own, &mut item).await {
                tracing::warn!(%error, "links to an item are not named");
            }
        }
        Ok(item)
    }

    async fn read_source(&self, message: ReadSourceItem) -> Result<ItemReading, CallError> {
        let ReadSourceItem { source, get, links, context } = message;
        let source = self.source_by_name(source).ok_or(CallError::Unavailable)?;
        let deadline = self.deadline(&context);
        let at = deadline.expires_at.into();
        let answer = tokio::time::timeout_at(at, source.read_item(get, links, deadline)).await;
        Ok(answer.map_err(|_| CallError::DeadlineExceeded)??)
    }
}

/// Reads one item of one source, and all its links.
#[derive(Debug, Message)]
#[rtype(result = "Result<(Item, Option<ItemLinks>), CallError>")]
pub(crate) struct ReadItemAndLinks {
    pub(crate) source: SourceName,
    pub(crate) get: GetRequest,
    pub(crate) context: CallContext,
}

impl Handler<ReadItemAndLinks> for Aggregator {
    type Result = ResponseFuture<Result<(Item, Option<ItemLinks>), CallError>>;

    fn handle(&mut self, message: ReadItemAndLinks, _: &mut Self::Context) -> Self::Result {
        let (aggregator, span) = (self.clone(), message.context.span.clone());
        let ReadItemAndLinks { source, get, context } = message;
        let read = ReadSourceItem { source, get, links: OwnLinks::All, context };
        Box::pin(
            async move {
                let graph = aggregator.link_graph(&read.context);
                let ItemReading { mut item, links } = aggregator.read_source(read).await?;
                let links = async { graph.all_links(links?, &item.meta.uri).await }.await;
                let links = links.unwrap_or_else(|error| {
                    tracing::warn!(%error, "links of an item are not shown");
                    None
                });
                if let Some(links) = &links {
                    item.meta.add_supersessions(&links.supersessions());
                }
                Ok((item, links))
            }
            .instrument(span),
        )
    }
}

/// Adds to a read item the items that link to it, that it replaces and that replace it. `own` are its
/// names, and the links with which it supersedes or is superseded.
async fn add_links(
    graph: &LinkGraph,
    own: Result<Option<LinkRows>, SourceError>,
    item: &mut Item,
) -> Result<(), SourceError> {
    let own = match own? {
        Some(own) => own,
        None => graph.superseding_rows(&item.meta.uri).await?,
    };
    let connected = graph.connect_rows(own, &[], LinkDirection::Both).await?;
    let mut known = HashSet::new();
    let linking = connected.incoming.iter().map(|link| &link.from);
    let mut linking: Vec<&ItemRef> = linking.filter(|it| known.insert(&it.uri)).collect();
    let total = linking.len();
    linking.truncate(MAX_BACKLINKS);
    let linking = linking.into_iter().cloned().collect();
    item.backlinks = (total > 0).then_some(Backlinks { total, items: linking });
    item.meta.add_supersessions(&connected.supersessions());
    Ok(())
}
