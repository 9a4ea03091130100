//! Methods that are not in the scope of the caller's key.

use serde_json::Value;

use crate::{
    Failure, message::pagination::list_page, request::method_context::MethodContext,
    revision::MethodResult,
};

/// Returns the outcome of a method that is not in the scope of the caller's key: lists are empty, and
/// other methods do not exist.
pub(crate) fn out_of_scope(
    context: &MethodContext<'_>,
    method: &str,
) -> Option<Result<MethodResult, Failure>> {
    let family = match method.split_once('/')?.0 {
        "subscriptions" | "skills" => "resources",
        family @ ("resources" | "prompts" | "completion") => family,
        _ => return None,
    };
    if context.principal.access().permits_methods(family) {
        return None;
    }
    let list = match method {
        "resources/list" => "resources",
        "resources/templates/list" => "resourceTemplates",
        "skills/list" => "skills",
        "prompts/list" => "prompts",
        _ => return Some(Err(Failure::method_not_found(method))),
    };
    Some(list_page::<Value>(list, &[], None).map(MethodResult::new))
}
