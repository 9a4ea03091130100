//! Conversations between people: exports of messengers.
//!
//! Start with `message`, which all of them share, then read `telegram`.

mod discord;
mod google_chat;
mod message;
mod messenger;
mod signal;
mod slack;
mod slack_text;
mod telegram;
mod telegram_html;
mod whatsapp;
mod whatsapp_line;

pub(crate) use self::{
    discord::Discord, google_chat::GoogleChat, messenger::Messenger, signal::Signal, slack::Slack,
    telegram::Telegram, telegram_html::TelegramPages, whatsapp::WhatsApp,
};
