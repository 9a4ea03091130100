//! Conversations with models: exports of assistants, and the projects and memories of their users.
//!
//! Start with `reply`, which all of them share, then read `grok`.

mod claude_projects;
mod gemini_activity;
mod grok;
mod jan;
mod libre_chat;
mod lm_studio;
mod open_webui;
mod reply;

pub(crate) use self::{
    claude_projects::ClaudeProjects, gemini_activity::GeminiActivity, grok::Grok, jan::Jan,
    libre_chat::LibreChat, lm_studio::LmStudio, open_webui::OpenWebUi,
};
