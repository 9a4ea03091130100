//! Cleaning of what agents read: texts, and the parts of resources and prompts that are text.

use vademecum_mcp::{ContentBlock, GetPromptResult, ResourceBody, ResourceContents};
pub(super) use vademecum_search::safe_text::{
    clean_characters, clean_json_string, clean_snippet, clean_string, clean_text, clean_value,
    restore_text,
};

/// Cleans the text of a resource.
pub(super) fn clean_resource(contents: &mut ResourceContents) {
    contents.read_on.iter_mut().for_each(clean_string);
    match &mut contents.body {
        ResourceBody::Text(json) if contents.mime_type == "application/json" => {
            clean_json_string(json);
        }
        // What the program or the owner of the server has written may be code.
        ResourceBody::Text(text) if contents.uri.starts_with("ui:") => clean_characters(text),
        ResourceBody::Text(text) if contents.uri.starts_with("skill:") => clean_characters(text),
        ResourceBody::Text(text) => clean_string(text),
        ResourceBody::Blob(_) => {}
    }
}

/// Cleans the texts of a prompt.
pub(super) fn clean_prompt(prompt: &mut GetPromptResult) {
    if let Some(description) = &mut prompt.description {
        clean_string(description);
    }
    for message in &mut prompt.messages {
        match &mut message.content {
            ContentBlock::Text { text } => clean_string(text),
            ContentBlock::Resource { resource } => clean_resource(resource),
            ContentBlock::Image { .. } | ContentBlock::Audio { .. } => {}
        }
    }
}
