//! Other people's databases, through profiles: `query` and what belongs to it,
//! as agents of xsql know them, and pgEdge's tools.

mod asked;
mod count_rows;
mod envelope;
mod execute_explain;
mod get_schema_info;
mod profiles;
mod query;
mod query_database;
mod read_resource;
mod similarity;
pub(super) mod system_info;
mod told;

pub(super) use asked::while_wanted;
pub use count_rows::CountRows;
pub use execute_explain::ExecuteExplain;
pub use get_schema_info::GetSchemaInfo;
pub use profiles::{ProfileList, ProfileShow};
pub use query::Query;
pub use query_database::QueryDatabase;
pub use read_resource::ReadResource;
pub use similarity::SimilaritySearch;
