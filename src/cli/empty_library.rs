//! Advice to a person whose library is empty.

use anyhow::Result;
use serde_json::json;

use super::{common::CommonOptions, get::call_tool, output::print_line};

/// Says what to do next if the library is empty. A source that failed may have items.
pub(super) async fn print_empty_advice(common: &CommonOptions) -> Result<()> {
    let all = call_tool(common, "knowledge.list", &json!({ "limit": 0 })).await?;
    let has_failed = all["_meta"]["failed_sources"].as_array().is_some_and(|it| !it.is_empty());
    if all["total"] == 0 && !has_failed {
        let whose = common.user.as_ref().map(|user| format!(" of {user}")).unwrap_or_default();
        print_line(&format!("The library{whose} is empty: `vademecum import FOLDER` fills it."));
    }
    Ok(())
}
