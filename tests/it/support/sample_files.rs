//! Sample files in the formats of other programs, with text chosen by the test.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::Library;

/// Builds a conversation in Claude's export format from pairs of sender and text.
pub(crate) fn claude_conversation<S: AsRef<str>>(
    title: &str,
    messages: impl IntoIterator<Item = (&'static str, S)>,
) -> Value {
    let messages: Vec<Value> = messages
        .into_iter()
        .zip(0..)
        .map(|((sender, text), number)| {
            json!({
                "uuid": format!("{title}-{number}"),
                "sender": sender,
                "text": text.as_ref(),
                "created_at": format!("2026-02-01T{:02}:{:02}:00Z", number / 60, number % 60),
            })
        })
        .collect();
    json!({
        "uuid": title,
        "name": title,
        "created_at": "2026-02-01T00:00:00Z",
        "updated_at": "2026-02-02T00:00:00Z",
        "chat_messages": messages,
    })
}

/// Builds a character card of version 2 as JSON.
pub(crate) fn character_card(name: &str, description: &str) -> String {
    let data = json!({ "name": name, "description": description, "tags": ["made up"] });
    json!({ "spec": "chara_card_v2", "spec_version": "2.0", "data": data }).to_string()
}

/// Builds a CSV file of prompts from pairs of name and text.
pub(crate) fn prompts_csv<'a>(prompts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let rows = prompts.into_iter().map(|(name, text)| format!("\"{name}\",\"{text}\"\n"));
    format!("act,prompt\n{}", rows.collect::<String>())
}

impl Library {
    /// Creates a library with one item in each source, all with this title and text.
    pub(crate) fn with_item_per_source(title: &str, text: &str) -> Self {
        let library = Self::new();
        library.import_file("notes", "note.md", format!("# {title}\n{text}"));
        library.import_file("media", "document.md", format!("# {title}\n{text}"));
        let chat = claude_conversation(title, [("human", text)]);
        library.import_file("chats", "chat.json", chat.to_string());
        library.import_file("characters", "card.json", character_card(title, text));
        library.import_file("prompts", "prompts.csv", prompts_csv([(title, text)]));
        library
    }

    /// Creates a library with `count` items in each source that contain the word `pebble`. Four
    /// different texts are used in turn.
    pub(crate) fn with_pebbles(count: usize) -> Self {
        let library = Self::new();
        let texts: Vec<String> = (0..count)
            .map(|number| format!("A pebble {}.", "and sand ".repeat(number % 4)))
            .collect();
        let names: Vec<String> = (0..count).map(|number| format!("Beach {number}")).collect();
        let named = || names.iter().map(String::as_str).zip(texts.iter().map(String::as_str));
        for (name, text) in named() {
            library.write_file(&format!("notes/{name}.md"), text);
            library.write_file(&format!("media/{name}.txt"), format!("{name}: {text}"));
            library.write_file(&format!("characters/{name}.json"), character_card(name, text));
        }
        let chats: Vec<Value> =
            named().map(|(name, text)| claude_conversation(name, [("human", text)])).collect();
        library.write_file("chats/chats.json", Value::from(chats).to_string());
        library.write_file("prompts/prompts.csv", prompts_csv(named()));
        library.import_folders();
        library
    }
}

/// Builds a PNG image of one pixel with a character card in a text chunk.
pub(crate) fn png_card(keyword: &str, card: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.add_text_chunk(keyword.to_owned(), STANDARD.encode(card)).unwrap();
    encoder.write_header().unwrap().write_image_data(&[0]).unwrap();
    bytes
}
