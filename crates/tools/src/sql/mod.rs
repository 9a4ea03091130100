//! Tools for external databases, accessed through profiles: `query` and the other xsql tools, and
//! the pgEdge tools.

mod advise_indexes;
mod count_rows;
mod custom_tool;
mod database_activity;
mod database_health;
mod envelope;
mod execute_explain;
mod get_schema_info;
mod profiles;
mod query;
mod query_database;
mod read_resource;
mod render;
mod similarity;
mod sql_call;
pub(super) mod system_info;

pub use advise_indexes::AdviseIndexes;
pub use count_rows::CountRows;
pub(super) use custom_tool::{custom_tool_entry, run_custom_tool};
pub use database_activity::DatabaseActivity;
pub use database_health::DatabaseHealth;
pub use execute_explain::ExecuteExplain;
pub use get_schema_info::GetSchemaInfo;
pub use profiles::{ProfileList, ProfileShow};
pub use query::Query;
pub use query_database::QueryDatabase;
pub use read_resource::ReadResource;
pub use similarity::SimilaritySearch;
pub(super) use sql_call::run_until_cancelled;
