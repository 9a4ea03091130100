//! The parts of searches that come from links: items that supersede others, and the items to which one
//! links.

use std::collections::HashMap;

use vademecum_actors::{CallError, LinkDirection};
use vademecum_mcp::RequestContext;
use vademecum_model::{Hit, SourceName, Uri};

use super::{ToolServices, input::split_uri};

/// Adds to hits which items they replace and which replace them.
pub(super) async fn add_supersessions(
    services: &ToolServices,
    call: &RequestContext,
    hits: &mut [Hit],
) {
    let whole = |hit: &Hit| Uri::item(hit.uri.source, hit.uri.id.clone());
    let items: Vec<Uri> = hits.iter().map(whole).collect();
    let graph = services.registry.library(&call.principal).link_graph(services.deadline(call));
    match graph.supersessions(&items).await {
        Ok(pairs) => hits.iter_mut().for_each(|hit| hit.add_supersessions(&pairs)),
        Err(error) => tracing::warn!(%error, "superseded items are not named"),
    }
}

/// Returns the items to which an item links, by source.
pub(super) async fn linked_items(
    services: &ToolServices,
    call: &RequestContext,
    uri: &Uri,
) -> Result<HashMap<SourceName, Vec<String>>, CallError> {
    let graph = services.registry.library(&call.principal).link_graph(services.deadline(call));
    let (id, _) = split_uri(uri.clone());
    let item = Uri::item(uri.source, id.to_string());
    let items = std::slice::from_ref(&item);
    let connected = graph.connected_items(items, &[], LinkDirection::Out).await?;
    if !connected.titles.contains_key(&item) {
        return Err(CallError::NotFound(format!("linked_from: no item `{uri}`")));
    }
    let mut linked: HashMap<SourceName, Vec<String>> = HashMap::new();
    for target in connected.out.into_iter().filter_map(|link| link.target) {
        linked.entry(target.uri.source).or_default().push(target.uri.id);
    }
    Ok(linked)
}
