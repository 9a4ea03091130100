//! The parts of searches and read items that come from links: backlinks, items that supersede others,
//! and the items to which one links.

use std::collections::HashMap;

use vademecum_actors::CallError;
use vademecum_mcp::RequestContext;
use vademecum_model::{Backlinks, Hit, ItemRef, SourceName, Uri};
use vademecum_search::Item;

use super::{ToolRegistry, input::split_uri};

/// Number of items that a read item names as linking to it.
const MAX_BACKLINKS: usize = 5;

/// Adds to hits which items they replace and which replace them.
pub(super) async fn add_supersessions(
    toolbox: &ToolRegistry,
    call: &RequestContext,
    hits: &mut [Hit],
) {
    let whole = |hit: &Hit| Uri::item(hit.uri.source, hit.uri.id.clone());
    let items: Vec<Uri> = hits.iter().map(whole).collect();
    let graph = toolbox.registry().library(&call.principal).link_graph(toolbox.deadline(call));
    let pairs = match graph.supersessions(&items).await {
        Ok(pairs) => pairs,
        Err(error) => {
            tracing::warn!(%error, "superseded items are not named");
            return;
        }
    };
    for hit in hits {
        let uri = whole(hit);
        for (newer, older) in &pairs {
            if newer.uri == uri {
                hit.supersedes.push(older.clone());
            }
            if older.uri == uri {
                hit.superseded_by.push(newer.clone());
            }
        }
    }
}

/// Adds to a read item the items that link to it, that it replaces and that replace it.
pub(super) async fn add_links(toolbox: &ToolRegistry, call: &RequestContext, item: &mut Item) {
    let uri = Uri::item(item.meta.uri.source, item.meta.uri.id.clone());
    if uri.source == SourceName::Collections {
        return;
    }
    let graph = toolbox.registry().library(&call.principal).link_graph(toolbox.deadline(call));
    let links = match graph.links_to(&[uri], &[]).await {
        Ok(links) => links,
        Err(error) => {
            tracing::warn!(%error, "links to an item are not named");
            return;
        }
    };
    let mut linking: Vec<ItemRef> = Vec::new();
    for link in links {
        if !linking.contains(&link.from) {
            linking.push(link.from);
        }
    }
    let total = linking.len();
    linking.truncate(MAX_BACKLINKS);
    item.backlinks = (total > 0).then_some(Backlinks { total, items: linking });
    add_supersessions(toolbox, call, std::slice::from_mut(&mut item.meta)).await;
}

/// Returns the items to which an item links, by source.
pub(super) async fn linked_items(
    toolbox: &ToolRegistry,
    call: &RequestContext,
    uri: &Uri,
) -> Result<HashMap<SourceName, Vec<String>>, CallError> {
    let graph = toolbox.registry().library(&call.principal).link_graph(toolbox.deadline(call));
    let (id, _) = split_uri(uri.clone());
    let item = Uri::item(uri.source, id.to_string());
    if graph.find_item(&item).await?.is_none() {
        return Err(CallError::NotFound(format!("linked_from: no item `{uri}`")));
    }
    let mut linked: HashMap<SourceName, Vec<String>> = HashMap::new();
    for link in graph.links_of(&[item], &[]).await? {
        if let Some(target) = link.target {
            linked.entry(target.uri.source).or_default().push(target.uri.id);
        }
    }
    Ok(linked)
}
