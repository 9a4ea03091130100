//! Other people's databases, through profiles: `query` and what belongs to it,
//! as agents of xsql know them, and pgEdge's tools.

mod asked;
mod envelope;
mod profiles;
mod query;
mod similarity;

pub(super) use asked::while_wanted;
pub use profiles::{ProfileList, ProfileShow};
pub use query::Query;
pub use similarity::SimilaritySearch;
