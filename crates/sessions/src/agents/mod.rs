//! The programs whose sessions are read: a file for each, and one list.

mod aider;
mod amp;
mod antigravity;
mod claude_code;
mod cline;
mod codex;
mod codex_text;
mod copilot;
mod cursor_cli;
mod cursor_ide;
mod format;
mod gemini;
mod goose;
mod kimi;
mod list;
mod opencode;
mod qwen;
mod vscode;
mod vscode_log;
mod zed;

pub use format::{AgentFormat, Match};
pub use list::{AGENTS, find_agent, session_neighbours};
