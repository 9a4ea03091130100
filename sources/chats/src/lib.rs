//! The chats.
