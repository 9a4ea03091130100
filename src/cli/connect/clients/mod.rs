//! One client a file: where its settings are, and what it needs.

pub(super) mod chatgpt;
pub(super) mod claude_code;
pub(super) mod claude_desktop;
pub(super) mod codex;
pub(super) mod cursor;
pub(super) mod vscode;
