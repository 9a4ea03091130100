//! Optional fields of listed tools: each is sent only to clients that read it, because the list is
//! part of every conversation.

use serde_json::{Value, json};

use crate::{ToolEntry, tools::icon};

/// Maximum size of a result that Claude Code passes to its model, in characters. The longest text of
/// an item has 100,000 characters; as JSON with escapes and fields it fits twice. The client accepts
/// at most 500,000 here.
const MAX_RESULT_CHARS: u32 = 250_000;

/// An optional field of a listed tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolField {
    /// `_meta.ui`: the app that shows the results.
    App,
    /// `icons`: a PNG that shows the side effect of the tool.
    Icons,
    /// `_meta["anthropic/maxResultSizeChars"]`. Without it, Claude Code saves a result above 25,000
    /// tokens or 50,000 characters as a file.
    ResultSize,
    /// `securitySchemes` and the same in `_meta`: the OAuth scope that the tool needs. `ChatGPT`
    /// reads both.
    SecuritySchemes,
}

impl ToolField {
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
