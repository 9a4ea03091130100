//! End-to-end tests of conversations that grow in a tldw database.

use serde_json::json;

use crate::{
    support::{Library, TldwDirectory, TldwVariant},
    tldw::{full_item, search_uris, serve, wait_for},
};

/// Appends a message to the conversation c-1 of tldw.
fn append_message(tldw: &TldwDirectory, id: &str, sender: &str, content: &str, sent: &str) {
    let sql = format!(
        "INSERT INTO messages (id, conversation_id, sender, content, timestamp)
         VALUES ('{id}', 'c-1', '{sender}', '{content}', '2026-{sent}')"
    );
    tldw.execute_sql("1", 0, &sql);
}

#[test]
fn appended_messages_are_found_in_order() {
    let (library, tldw) = (Library::new(), TldwDirectory::new(TldwVariant::Server, &["1"]));
    let server = serve(&library, &tldw);
    let client = server.client();
    let found = |query: &str| wait_for(|| search_uris(&client, query), |found| !found.is_empty());
    assert_eq!(found("third"), ["chats://c-1#m-3"]);
    append_message(&tldw, "m-10", "Zebulon", "A gull.", "02-01 10:00:00");
    assert_eq!(found("gull"), ["chats://c-1#m-10"]);
    append_message(&tldw, "m-11", "Zebulon", "A heron.", "02-01 11:00:00");
    assert_eq!(found("heron"), ["chats://c-1#m-11"]);
    // This one is earlier than the last ones, although it is added later.
    append_message(&tldw, "m-12", "Orla", "A tern.", "01-07 10:00:00");
    assert_eq!(found("tern"), ["chats://c-1#m-12"]);
    // An earlier message changes when another one is appended.
    tldw.execute_sql(
        "1",
        0,
        "UPDATE messages SET content = 'A plover.', version = version + 1 WHERE id = 'm-10'",
    );
    append_message(&tldw, "m-13", "Orla", "A puffin.", "02-01 12:00:00");
    assert_eq!(found("puffin"), ["chats://c-1#m-13"]);
    assert_eq!((search_uris(&client, "gull"), found("plover").len()), (Vec::new(), 1));
    let whole = full_item(&client, "chats", &json!("c-1"));
    let messages = whole["content"]["messages"].as_array().unwrap();
    let ids: Vec<_> = messages.iter().map(|message| message["message_id"].as_str()).collect();
    let order = ["m-1", "m-2", "m-3", "m-12", "m-10", "m-11", "m-13"];
    assert_eq!(ids, order.map(Some));
    let neighbour = found("what comes before the puffin");
    assert_eq!(neighbour, ["chats://c-1#m-11", "chats://c-1#m-13"]);
    assert_eq!(found("zebulon"), ["chats://c-1#m-10", "chats://c-1#m-11"]);
    tldw.execute_sql("1", 0, "UPDATE messages SET deleted = 1, version = 9 WHERE id = 'm-13'");
    assert_eq!(wait_for(|| search_uris(&client, "puffin"), Vec::is_empty), [""; 0]);
    tldw.execute_sql("1", 0, "UPDATE messages SET deleted = 0, version = 10 WHERE id = 'm-13'");
    assert_eq!(found("puffin"), ["chats://c-1#m-13"]);
}
