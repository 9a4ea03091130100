//! The interface to the product, and the types that it returns.

mod completion;
mod content;
mod prompt;
mod resource;
mod server_handler;
pub(crate) mod skill;

pub use completion::{
    Completion, CompletionReference, CompletionRequest, MAX_COMPLETIONS, PartialArgument,
};
pub use content::{ContentBlock, ResourceBody, ResourceContents};
pub use prompt::{GetPromptResult, Prompt, PromptArgument, PromptArguments, PromptMessage, Role};
pub use resource::{Resource, ResourceTemplate};
pub use server_handler::{CallToolResult, ServerHandler};
pub use skill::{Skill, SkillResource};
