//! `read_resource`: what can be read by its URI, for clients that only call tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::system_info;
use crate::{
    actors::CallError,
    tools::{Contract, Form, Replied, Toolbox, resources, text},
};
use vademecum_mcp::{Body, Call, Contents, Resource, Toolset};

/// Reads a resource.
#[derive(Debug)]
pub struct ReadResource;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadResourceInput {
    /// Only list what can be read.
    #[serde(default)]
    list: bool,
    /// What to read, such as `pg://system_info`.
    uri: Option<String>,
    /// The database; not needed if there is only one.
    profile: Option<String>,
}

/// What there is, or what it holds.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ReadResourceOutput {
    /// What can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<Vec<Listed>>,
    /// What was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    contents: Option<Vec<Read>>,
}

/// A resource that is listed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Listed {
    uri: String,
    name: String,
    description: String,
    mime_type: String,
}

/// What a resource holds.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Read {
    uri: String,
    mime_type: String,
    /// What it says; of bytes, they in base64.
    text: String,
}

impl Contract for ReadResource {
    const NAME: &'static str = "read_resource";
    const TITLE: &'static str = "Read a resource";
    const DESCRIPTION: &'static str = "Read a resource by its URI, or list which there are. \
        pg://system_info tells version and platform of a PostgreSQL database.";
    const TOOLSET: Toolset = Toolset::Databases;
    const FORM: Form = Form::Located;
    type Input = ReadResourceInput;
    type Output = ReadResourceOutput;

    async fn call(
        toolbox: &Toolbox,
        input: ReadResourceInput,
        call: &Call,
    ) -> Result<Replied<ReadResourceOutput>, CallError> {
        if input.list {
            let listed = resources::listed(toolbox, &call.principal);
            let output = ReadResourceOutput::list(&listed);
            let text = toolbox.text(|| output.text());
            return Ok(Replied { output, text, meta: None });
        }
        let uri = input.uri.filter(|uri| !uri.trim().is_empty()).ok_or_else(|| {
            let problem = "uri: is missing; pass one, such as pg://system_info, or `list`: true \
                           to see which there are";
            CallError::Invalid(problem.to_owned())
        })?;
        let contents = match input.profile.as_deref().zip(system_info::Asked::parse(&uri)) {
            Some((profile, asked)) => asked.of(profile).read(toolbox, &uri, call).await?,
            None => resources::read(toolbox, &uri, call).await?,
        };
        let output = ReadResourceOutput::read(contents);
        let text = toolbox.text(|| output.text());
        Ok(Replied { output, text, meta: None })
    }
}

impl ReadResourceOutput {
    fn list(listed: &[Resource]) -> Self {
        let listed = listed.iter().map(|resource| Listed {
            uri: resource.uri.to_string(),
            name: resource.name.to_string(),
            description: resource.description.to_string(),
            mime_type: resource.mime_type.to_string(),
        });
        Self { resources: Some(listed.collect()), contents: None }
    }

    fn read(Contents { uri, mime_type, body }: Contents) -> Self {
        let text = match body {
            Body::Text(text) => text,
            Body::Blob(bytes) => bytes,
        };
        Self { resources: None, contents: Some(vec![Read { uri, mime_type, text }]) }
    }

    fn text(&self) -> String {
        if let Some(contents) = &self.contents {
            let texts: Vec<&str> = contents.iter().map(|read| read.text.as_str()).collect();
            return texts.join("\n");
        }
        let mut page = String::from("Available Resources:\n====================\n");
        for Listed { uri, name, description, mime_type } in self.resources.iter().flatten() {
            text::push(
                &mut page,
                format_args!(
                    "\nURI: {uri}\nName: {name}\nDescription: {description}\nMIME Type: {mime_type}\n"
                ),
            );
        }
        page
    }
}
