//! Files as other programs write them, with the words that a test needs.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::Library;

/// A conversation as Claude exports it: who says what.
pub(crate) fn conversation<S: AsRef<str>>(
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

/// A character card of the second version.
pub(crate) fn card(name: &str, description: &str) -> String {
    let data = json!({ "name": name, "description": description, "tags": ["made up"] });
    json!({ "spec": "chara_card_v2", "spec_version": "2.0", "data": data }).to_string()
}

/// Prompts as a spreadsheet writes them: name and text.
pub(crate) fn prompts<'a>(prompts: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let rows = prompts.into_iter().map(|(name, text)| format!("\"{name}\",\"{text}\"\n"));
    format!("act,prompt\n{}", rows.collect::<String>())
}

impl Library {
    /// A library with one item in each source, all with this title and text.
    pub(crate) fn with(title: &str, text: &str) -> Self {
        let library = Self::new();
        library.import("notes", "note.md", format!("# {title}\n{text}"));
        library.import("media", "document.md", format!("# {title}\n{text}"));
        let chat = conversation(title, [("human", text)]);
        library.import("chats", "chat.json", chat.to_string());
        library.import("characters", "card.json", card(title, text));
        library.import("prompts", "prompts.csv", prompts([(title, text)]));
        library
    }

    /// A library with `count` items in each source that hold the word
    /// `pebble`; the rest of what they say differs, some of it not at all.
    pub(crate) fn of_pebbles(count: usize) -> Self {
        let library = Self::new();
        let texts: Vec<String> = (0..count)
            .map(|number| format!("A pebble {}.", "and sand ".repeat(number % 4)))
            .collect();
        let names: Vec<String> = (0..count).map(|number| format!("Beach {number}")).collect();
        let named = || names.iter().map(String::as_str).zip(texts.iter().map(String::as_str));
        for (name, text) in named() {
            library.write(&format!("notes/{name}.md"), text);
            library.write(&format!("media/{name}.txt"), format!("{name}: {text}"));
            library.write(&format!("characters/{name}.json"), card(name, text));
        }
        let chats: Vec<Value> =
            named().map(|(name, text)| conversation(name, [("human", text)])).collect();
        library.write("chats/chats.json", Value::from(chats).to_string());
        library.write("prompts/prompts.csv", prompts(named()));
        library.import_folders();
        library
    }
}

/// A picture of one pixel with a card in a text chunk.
pub(crate) fn picture(keyword: &str, card: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 1, 1);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.add_text_chunk(keyword.to_owned(), STANDARD.encode(card)).unwrap();
    encoder.write_header().unwrap().write_image_data(&[0]).unwrap();
    bytes
}
