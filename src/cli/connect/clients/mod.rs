//! Client definitions, one file per client: settings location and connection method.

pub(super) mod chatgpt;
pub(super) mod claude_code;
pub(super) mod claude_desktop;
pub(super) mod codex;
pub(super) mod cursor;
pub(super) mod vscode;
