//! `read_resource`: reads MCP resources, for clients that support tools only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vademecum_actors::CallError;
use vademecum_mcp::{RequestContext, Resource, ResourceBody, ResourceContents, Toolset};

use super::system_info;
use crate::display::push_display;
use crate::{ErrorFormat, Tool, ToolOutput, ToolResult, ToolServices, resources};

/// Reads a resource.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadResource {
    /// Only list the resources.
    #[serde(default)]
    list: bool,
    /// Resource URI, such as `pg://system_info`.
    uri: Option<String>,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// Result of `read_resource`: a list of resources, or contents.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ReadResourceOutput {
    /// Resources that can be read.
    resources: Option<Vec<ListedResource>>,
    /// Contents of the resource.
    contents: Option<Vec<ResourceText>>,
}

/// A listed resource.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ListedResource {
    uri: String,
    name: String,
    description: String,
    mime_type: String,
}

/// Contents of a resource.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ResourceText {
    uri: String,
    mime_type: String,
    /// Text; binary contents in base64.
    text: String,
}

impl Tool for ReadResource {
    const NAME: &'static str = "read_resource";
    const TITLE: &'static str = "Read a resource";
    const DESCRIPTION: &'static str = "Read a resource by its URI, or list all. \
        pg://system_info has version and platform of a PostgreSQL database.";
    const TOOLSET: Toolset = Toolset::Databases;
    const ERROR_FORMAT: ErrorFormat = ErrorFormat::TextOrResourceError;
    const HAS_LONG_RESULTS: bool = true;
    type Output = ReadResourceOutput;

    async fn call(
        self,
        services: &ToolServices,
        call: &RequestContext,
    ) -> ToolResult<Self::Output> {
        if self.list {
            let listed = resources::list_resources(services, call);
            let output = ReadResourceOutput::from_resources(&listed);
            let text = services.text(|| output.render());
            return Ok(ToolOutput { output, text, meta: None });
        }
        let uri = self.uri.filter(|uri| !uri.trim().is_empty()).ok_or_else(|| {
            let problem = "uri: is missing; pass one, such as pg://system_info, or `list`: true \
                           to list them";
            CallError::Invalid(problem.to_owned())
        })?;
        let contents = match self.profile.as_deref().zip(system_info::SystemInfoUri::parse(&uri)) {
            Some((profile, system_info_uri)) => {
                system_info_uri.with_profile(profile).read_system_info(services, &uri, call).await?
            }
            None => resources::read_resource(services, &uri, call).await?,
        };
        let output = ReadResourceOutput::from_contents(contents);
        let text = services.text(|| output.render());
        Ok(ToolOutput { output, text, meta: None })
    }
}

impl ReadResourceOutput {
    fn from_resources(listed: &[Resource]) -> Self {
        let listed = listed.iter().map(|resource| ListedResource {
            uri: resource.uri.to_string(),
            name: resource.name.to_string(),
            description: resource.description.to_string(),
            mime_type: resource.mime_type.to_string(),
        });
        Self { resources: Some(listed.collect()), contents: None }
    }

    fn from_contents(
        ResourceContents { uri, mime_type, body, read_on: _, meta: _ }: ResourceContents,
    ) -> Self {
        let text = match body {
            ResourceBody::Text(text) => text,
            ResourceBody::Blob(bytes) => bytes,
        };
        Self { resources: None, contents: Some(vec![ResourceText { uri, mime_type, text }]) }
    }

    fn render(&self) -> String {
        if let Some(contents) = &self.contents {
            let texts: Vec<&str> = contents.iter().map(|read| read.text.as_str()).collect();
            return texts.join("\n");
        }
        let mut page = String::from("Available Resources:\n====================\n");
        for ListedResource { uri, name, description, mime_type } in self.resources.iter().flatten()
        {
            push_display(
                &mut page,
                format_args!(
                    "\nURI: {uri}\nName: {name}\nDescription: {description}\nMIME Type: {mime_type}\n"
                ),
            );
        }
        page
    }
}
