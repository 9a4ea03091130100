//! Tools of the conformance suite.

use std::time::Duration;

use serde_json::{Value, json};
use vademecum_core::auth::Right;
use vademecum_mcp::{
    CallToolResult, ContentBlock, Failure, LogLevel, RequestContext, ResourceContents,
    ToolAudience, ToolEffect, ToolEntry, ToolPresentation, ToolSchemas, Toolset,
};

use crate::{PNG_BASE64, WAV_BASE64, input_requests};

/// Pause between two log or progress notifications of a tool.
const NOTIFICATION_INTERVAL: Duration = Duration::from_millis(50);

/// Tools without arguments.
const TOOLS_WITHOUT_ARGUMENTS: [&str; 22] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "test_trigger_tool_change",
];

pub(crate) fn tool_entries() -> Vec<ToolEntry> {
    let entry = |name, input| ToolEntry {
        name,
        title: name.into(),
        description: "A tool of the suite.".into(),
        toolset: Toolset::Knowledge,
        right: Right::Read,
        effect: ToolEffect::Reads,
        schemas: ToolSchemas { input, output: None },
        audience: ToolAudience::Everyone,
        presentation: ToolPresentation::default(),
    };
    let plain = TOOLS_WITHOUT_ARGUMENTS
        .map(|name| entry(name, json!({ "type": "object", "properties": {} })));
    let texts = |names: &[&str]| {
        let properties: serde_json::Map<_, _> =
            names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        json!({ "type": "object", "properties": properties, "required": names })
    };
    let mut entries = plain.to_vec();
    entries.push(entry("test_sampling", texts(&["prompt"])));
    entries.push(entry("test_elicitation", texts(&["message"])));
    let mut region = texts(&["region"]);
    if let Some(property) = region.pointer_mut("/properties/region") {
        *property = json!({ "type": "string", "x-mcp-header": "Region" });
    }
    entries.push(entry("test_header_parameter", region));
    entries.push(entry("json_schema_2020_12_tool", json_schema_2020_12()));
    entries
}

fn json_schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        }},
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } },
            "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}

pub(crate) async fn call_tool(
    tool: &str,
    arguments: Value,
    call: &RequestContext,
) -> Result<CallToolResult, Failure> {
    if let Some(answer) = input_requests::call_tool(tool, &arguments, call).await {
        return answer;
    }
    let blocks = match tool {
        "test_simple_text" => {
            vec![ContentBlock::text("This is a simple text response for testing.")]
        }
        "test_image_content" => vec![image_block()],
        "test_audio_content" => {
            vec![ContentBlock::Audio {
                data: WAV_BASE64.to_owned(),
                mime_type: "audio/wav".to_owned(),
            }]
        }
        "test_embedded_resource" => {
            let text = "This is an embedded resource content.";
            vec![embedded_resource("test://embedded-resource", "text/plain", text)]
        }
        "test_multiple_content_types" => vec![
            ContentBlock::text("Multiple content types test:"),
            image_block(),
            embedded_resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ],
        "test_error_handling" => {
            let text = "This tool intentionally returns an error for testing";
            return Ok(CallToolResult::tool_error(text.to_owned()));
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            for said in ["Tool execution started", "Tool processing data"] {
                call.send_log(LogLevel::Info, &said.into());
                tokio::time::sleep(NOTIFICATION_INTERVAL).await;
            }
            call.send_log(LogLevel::Info, &"Tool execution completed".into());
            vec![ContentBlock::text("The tool said what it did.")]
        }
        "test_tool_with_progress" => {
            for done in [0.0, 50.0, 100.0] {
                if let Some(progress) = call.progress_reporter() {
                    progress.report(done, Some(100.0), Some("going on"));
                }
                tokio::time::sleep(NOTIFICATION_INTERVAL).await;
            }
            vec![ContentBlock::text("The tool came to its end.")]
        }
        "test_missing_capability" => {
            call.capabilities.require_method("sampling/createMessage")?;
            vec![ContentBlock::text("The client has what it takes.")]
        }
        "test_trigger_tool_change" => vec![ContentBlock::text("The list of tools never changes.")],
        "test_header_parameter" | "json_schema_2020_12_tool" => {
            vec![ContentBlock::text(arguments.to_string())]
        }
        other => {
            return Err(Failure::internal_error(format!(
                "`{other}` is listed but not implemented"
            )));
        }
    };
    Ok(CallToolResult { blocks, ..CallToolResult::default() })
}

fn image_block() -> ContentBlock {
    ContentBlock::Image { data: PNG_BASE64.to_owned(), mime_type: "image/png".to_owned() }
}

fn embedded_resource(uri: &str, kind: &str, text: &str) -> ContentBlock {
    ContentBlock::Resource { resource: ResourceContents::text(uri, kind, text.to_owned()) }
}
