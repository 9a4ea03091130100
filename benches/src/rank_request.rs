//! The rank requests sent to sources by the benches.

use std::{sync::Arc, time::Duration};

use vademecum_search::{FtsQuery, RankRequest};

/// Maximum time for any operation.
pub const TIMEOUT: Duration = Duration::from_mins(10);

/// The default limit of `knowledge.search` plus one, which tells if there are more results.
pub const RANK_DEPTH: usize = 21;

/// A variant of ranking to measure.
#[derive(Clone, Copy, Debug)]
pub struct RankVariant {
    /// Name in tables.
    pub name: &'static str,
    /// Builds the request for the best `take` matches of a query.
    pub build_request: fn(Arc<FtsQuery>, usize) -> RankRequest,
}

/// The ranking variants to compare. The first is the one used by `knowledge.search`.
pub const RANK_VARIANTS: [RankVariant; 1] = [RankVariant { name: "ours", build_request: request }];

fn request(query: Arc<FtsQuery>, take: usize) -> RankRequest {
    RankRequest { query, limit: take, ..RankRequest::default() }
}
