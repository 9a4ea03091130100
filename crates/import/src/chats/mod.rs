//! Importers of conversations with assistants.
//!
//! Start with `conversation`, which turns the conversations of all services into drafts, then read
//! `role_chats`.

mod chat_exports;
mod chatgpt;
mod claude;
mod conversation;
mod conversation_tree;
mod message_content;
mod role_chats;
mod silly_tavern;

pub(crate) use self::{
    chat_exports::ChatExportImporter, role_chats::RoleChatImporter,
    silly_tavern::SillyTavernImporter,
};
