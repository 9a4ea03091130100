//! Icons of the server and its tools, as `data:` URIs. Clients must support PNG and may support SVG.

use std::sync::LazyLock;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{ToolEffect, ToolEntry, Toolset};

static SERVER: LazyLock<Value> = LazyLock::new(|| {
    json!([
        png_icon(include_bytes!("icon/server.png"), "48x48"),
        icon(include_bytes!("icon/server.svg"), "image/svg+xml", "any"),
    ])
});
static READ: LazyLock<Value> = LazyLock::new(|| tool_icon(include_bytes!("icon/read.png")));
static WRITE: LazyLock<Value> = LazyLock::new(|| tool_icon(include_bytes!("icon/write.png")));
static DATABASE: LazyLock<Value> = LazyLock::new(|| tool_icon(include_bytes!("icon/database.png")));

/// Returns the icons of the server: a PNG of 48 × 48 pixels, and an SVG of any size.
pub(crate) fn server_icons() -> Value {
    SERVER.clone()
}

/// Returns the `icons` of a tool, which show its side effect, or that it uses a database.
pub(crate) fn tool_icons(tool: &ToolEntry) -> Value {
    let icons = match (tool.toolset, tool.effect) {
        (Toolset::Databases | Toolset::Custom, _) => &DATABASE,
        (_, ToolEffect::Reads) => &READ,
        (
            _,
            ToolEffect::Adds | ToolEffect::AddsOnce | ToolEffect::Replaces | ToolEffect::Unbounded,
        ) => &WRITE,
    };
    Value::clone(icons)
}

fn tool_icon(image: &[u8]) -> Value {
    json!([png_icon(image, "32x32")])
}

fn png_icon(image: &[u8], size: &str) -> Value {
    icon(image, "image/png", size)
}

fn icon(image: &[u8], mime_type: &str, size: &str) -> Value {
    let src = format!("data:{mime_type};base64,{}", STANDARD.encode(image));
    json!({ "src": src, "mimeType": mime_type, "sizes": [size] })
}
