//! Items near a query vector.

use vademecum_model::Loc;
use vademecum_search::RankedMatch;

/// Item near a query vector; for collections, a chunk.
#[derive(Clone, Debug)]
pub(crate) struct VectorHit {
    /// The item, with score (1 + cosine) / 2.
    pub(crate) ranked: RankedMatch,
    /// Location of its nearest chunk.
    pub(crate) loc: Loc,
    /// Text of that chunk.
    pub(crate) text: String,
}
