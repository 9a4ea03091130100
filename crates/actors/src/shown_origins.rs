//! Origins of what a conversation was shown: those that the result of a call does not have are looked up.

use std::collections::BTreeMap;

use actix::Addr;
use vademecum_core::auth::Principal;
use vademecum_mcp::ShownItem;
use vademecum_model::{ContentOrigin, Deadline, OriginSet, Provenance, SourceName, Uri};

use super::{
    CallError, Session, UserRegistry,
    session_requests::{DescribeShown, RememberShown},
    shown_items::ShownItems,
};

/// Returns the provenance of an item that a client writes in this conversation; without a conversation,
/// it says that the origins are unknown.
pub async fn provenance_of_session(
    session: Option<Addr<Session>>,
    client: &str,
) -> Result<Provenance, CallError> {
    match session {
        Some(session) => {
            let described = session.send(DescribeShown(client.to_owned())).await;
            described.map_err(|_| CallError::Unavailable)
        }
        None => Ok(ShownItems::unknown().provenance(client)),
    }
}

impl UserRegistry {
    /// Remembers what a conversation was shown, before the client receives it. Origins that cannot be
    /// looked up are remembered as unknown.
    pub async fn remember_shown(
        &self,
        principal: &Principal,
        session: &Addr<Session>,
        shown: Vec<ShownItem>,
        deadline: Deadline,
    ) -> Result<(), CallError> {
        let mut known = Vec::with_capacity(shown.len());
        let mut open: BTreeMap<SourceName, Vec<String>> = BTreeMap::new();
        for item in shown {
            let uri = item.id.parse::<Uri>().ok();
            match (item.origins, uri) {
                (Some(origins), uri) => known.push((uri, origins)),
                (None, Some(uri)) if uri.source == SourceName::Collections => {
                    let origins = OriginSet::from_iter([ContentOrigin::SharedCollection]);
                    known.push((Some(uri), origins));
                }
                (None, Some(uri)) => open.entry(uri.source).or_default().push(uri.id),
                (None, None) => {}
            }
        }
        for (name, items) in open {
            let library = self.library(principal);
            let Some(source) = library.source(name) else { continue };
            match source.origins_of_items(items, deadline.clone()).await {
                Ok(found) => known.extend(
                    found.into_iter().map(|(id, origins)| (Some(Uri::item(name, id)), origins)),
                ),
                Err(error) => {
                    tracing::warn!(source = %name, %error, "origins of shown items are not known");
                    known.push((None, OriginSet::from_iter([ContentOrigin::Unknown])));
                }
            }
        }
        session.send(RememberShown(known)).await.map_err(|_| CallError::Unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix::test]
    async fn call_without_session_knows_nothing() {
        let provenance = provenance_of_session(None, "").await.unwrap();
        assert_eq!(provenance.agents, ["unknown"]);
        assert!(provenance.origins.contains(ContentOrigin::Unknown));
    }
}
