//! Methods besides those of the protocol: the extension Skills, and our own for the recall hook.

use serde_json::{json, value::RawValue};

use crate::{
    Failure, Input, Service, Skill,
    handler::skill::list_directory,
    message::{jsonrpc, pagination::list_page},
    methods::{
        dispatch::{USER_LIST_CACHE, parse_params},
        method_params::{ListParams, RecallParams, ResourceParams},
        server_info,
    },
    request::method_context::MethodContext,
    revision::MethodResult,
};
use vademecum_core::auth::Right;

/// Tool that a caller must be allowed to call.
const SEARCH_TOOL: &str = "knowledge.search";

impl Service {
    /// Lists the resources, with the `SKILL.md` of each skill for clients without the extension.
    pub(crate) async fn list_resources(
        &self,
        context: &MethodContext<'_>,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        let ListParams { cursor } = parse_params(params)?;
        let call = context.request_context(Input::default());
        let mut resources = self.handler.list_resources(&call);
        resources.extend(self.handler.list_skills(&call).await?.iter().map(Skill::to_resource));
        let list = list_page("resources", &resources, cursor.as_deref())?;
        Ok(MethodResult::cached(list, USER_LIST_CACHE))
    }

    /// Answers a method of the extension Skills.
    pub(crate) async fn call_skill_method(
        &self,
        context: &MethodContext<'_>,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        let call = context.request_context(Input::default());
        let skills = self.handler.list_skills(&call).await?;
        let json = if method == "skills/list" {
            let ListParams { cursor } = parse_params(params)?;
            list_page("skills", &skills, cursor.as_deref())?
        } else {
            let ResourceParams { uri } = parse_params(params)?;
            context.request_metrics.items.record([&uri]);
            if method == "skills/get" {
                let skill = skills.iter().find(|skill| skill.uri == uri);
                let skill = skill.ok_or_else(|| unknown_skill_uri(&uri, "a skill"))?;
                jsonrpc::to_json(&json!({ "skill": skill }))
            } else {
                let ListParams { cursor } = parse_params(params)?;
                let children = list_directory(&skills, &uri);
                let children = children.ok_or_else(|| unknown_skill_uri(&uri, "a directory"))?;
                let list = list_page("resources", &children, cursor.as_deref())?;
                return Ok(MethodResult::new(list));
            }
        };
        let meta = server_info::untrusted_contents();
        Ok(MethodResult { meta, ..MethodResult::cached(json, USER_LIST_CACHE) })
    }

    /// Returns what the library has about a prompt, as `context`, or nothing. The caller needs the
    /// right to search.
    pub(crate) async fn recall(
        &self,
        context: &MethodContext<'_>,
        params: Option<&RawValue>,
    ) -> Result<MethodResult, Failure> {
        let RecallParams { prompt } = parse_params(params)?;
        let principal = &context.principal;
        if !principal.has_right(Right::Read) || !principal.access().permits_tool(SEARCH_TOOL) {
            return Err(Failure::method_not_found("vademecum/recall"));
        }
        if let Some(wait) = self.options.rates.count_tool_call(principal.user(), SEARCH_TOOL) {
            return Err(Failure::too_many(wait));
        }
        let call = context.request_context(Input::default());
        let found = self.handler.recall(&prompt, &call).await?;
        let found = found.map_or_else(|| json!({}), |text| json!({ "context": text }));
        let meta = server_info::untrusted_contents();
        Ok(MethodResult { meta, ..MethodResult::new(jsonrpc::to_json(&found)) })
    }
}

fn unknown_skill_uri(uri: &str, kind: &str) -> Failure {
    let shown: String = uri.chars().take(200).collect();
    Failure::invalid_params(format!(
        "params.uri: `{shown}` is not {kind} of this server; skills/list lists the skills"
    ))
}
