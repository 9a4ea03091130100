//! Optional fields of listed tools: each is sent only to clients that read it, because the list is
//! part of every conversation.

use serde_json::{Value, json};

use crate::{ToolEntry, request::method_context::MethodContext, tools::icon};
use vademecum_core::auth::Right;

/// Maximum size of a result that Claude Code passes to its model, in characters. The longest text of
/// an item has 100,000 characters; as JSON with escapes and fields it fits twice. The client accepts
/// at most 500,000 here.
const MAX_RESULT_CHARS: u32 = 250_000;

/// An optional field of a listed tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolField {
    /// `_meta.ui`: the app that shows the results.
    App,
    /// `icons`.
    Icons,
    /// `_meta["anthropic/maxResultSizeChars"]`. Without it, Claude Code saves a result above 25,000
    /// tokens or 50,000 characters as a file.
    ResultSize,
    /// `securitySchemes` and the same in `_meta`: the OAuth scope that the tool needs. `ChatGPT`
    /// reads both.
    SecuritySchemes,
}

impl ToolField {
    /// Returns the fields that the client of this request reads.
    pub(crate) fn read_by(context: &MethodContext<'_>, has_oauth: bool) -> Vec<Self> {
        let MethodContext { client, revision, principal, .. } = context;
        // An app is a resource: it is of no use to a caller who may not read resources.
        let apps = context.capabilities.apps
            && principal.has_right(Right::Read)
            && principal.access().permits_methods("resources");
        [
            (Self::App, apps),
            // Such a client has a graphical interface; the icons are too large for all others.
            (Self::Icons, apps && revision.has_icons()),
            (Self::ResultSize, client.reads_result_size()),
            (Self::SecuritySchemes, has_oauth && client.reads_security_schemes()),
        ]
        .into_iter()
        .filter_map(|(field, is_read)| is_read.then_some(field))
        .collect()
    }

    /// Adds the field to a tool of the list, if the tool has a value for it.
    pub(crate) fn add_to(self, tool: &mut Value, entry: &ToolEntry) {
        match self {
            Self::App => {
                if let Some(uri) = entry.presentation.app_uri {
                    tool["_meta"]["ui"] = json!({ "resourceUri": uri });
                }
            }
            Self::Icons => tool["icons"] = icon::tool_icons(entry),
            Self::ResultSize => {
                if entry.presentation.has_long_results {
                    tool["_meta"]["anthropic/maxResultSizeChars"] = MAX_RESULT_CHARS.into();
                }
            }
            Self::SecuritySchemes => {
                let schemes = json!([{ "type": "oauth2", "scopes": [entry.right.as_str()] }]);
                tool["_meta"]["securitySchemes"] = schemes.clone();
                tool["securitySchemes"] = schemes;
            }
        }
    }
}
