//! Resources of the conformance suite.

use vademecum_mcp::{Failure, Resource, ResourceBody, ResourceContents, ResourceTemplate};

use crate::PNG_BASE64;

const TEXT_URI: &str = "test://static-text";
const BINARY_URI: &str = "test://static-binary";

pub(crate) fn list_resources() -> Vec<Resource> {
    let resource = |uri: &'static str, name: &'static str, kind: &'static str| Resource {
        uri: uri.into(),
        name: name.into(),
        title: name.into(),
        description: "A resource of the suite.".into(),
        mime_type: kind.into(),
    };
    vec![
        resource(TEXT_URI, "Static text", "text/plain"),
        resource(BINARY_URI, "Static binary", "image/png"),
    ]
}

pub(crate) fn list_templates() -> Vec<ResourceTemplate> {
    vec![ResourceTemplate {
        uri_template: "test://template/{id}/data".to_owned(),
        name: "Template".to_owned(),
        title: "Template".to_owned(),
        description: "A family of resources of the suite.".to_owned(),
        mime_type: Some("application/json".into()),
    }]
}

pub(crate) fn read_resource(uri: &str) -> Result<ResourceContents, Failure> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    match (uri, id) {
        (TEXT_URI, _) => {
            let text = "This is the content of the static text resource.";
            Ok(ResourceContents::text(uri, "text/plain", text.to_owned()))
        }
        (BINARY_URI, _) => Ok(ResourceContents {
            read_on: None,
            meta: None,
            uri: uri.to_owned(),
            mime_type: "image/png".to_owned(),
            body: ResourceBody::Blob(PNG_BASE64.to_owned()),
        }),
        (_, Some(id)) => {
            let text = format!(r#"{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}"#);
            Ok(ResourceContents::text(uri, "application/json", text))
        }
        (_, None) => Err(Failure::resource_not_found(format!("there is no resource `{uri}`"))),
    }
}
