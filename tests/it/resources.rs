//! End-to-end tests of transcripts and MCP resources.

use serde_json::{Value, json};

use crate::support::{HttpClient, Library, McpClient, SOURCES, claude_conversation};

#[test]
fn transcript_formats_have_exact_times() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let recording = client.only_hit("media.search", &json!({ "query": "paraffin" }));
    let transcript = |more: Value| {
        let mut arguments = more;
        arguments["media_id"] = recording["id"].clone();
        client.call_tool("media.transcript", &arguments)["content"].clone()
    };
    assert_eq!(
        transcript(json!({})),
        "Orla: The first lantern burned whale oil.\n\
         Then came paraffin, and the smell was gone.\n\
         Bram: Who cleaned the chimney?\n"
    );
    assert_eq!(
        transcript(json!({ "format": "text", "include_timestamps": false })),
        transcript(json!({}))
    );
    assert!(
        transcript(json!({ "include_timestamps": true }))
            .as_str()
            .unwrap()
            .contains("[01:02:03.004] Bram: Who")
    );
    assert_eq!(
        transcript(json!({ "format": "srt" })),
        "1\n00:00:01,500 --> 00:00:04,000\nOrla: The first lantern burned whale oil.\n\n\
         2\n00:00:04,250 --> 00:00:09,750\nOrla: Then came paraffin, and the smell was gone.\n\n\
         3\n01:02:03,004 --> 01:02:05,006\nBram: Who cleaned the chimney?\n\n"
    );
    assert_eq!(
        transcript(json!({ "format": "vtt" })),
        "WEBVTT\n\n\
         00:00:01.500 --> 00:00:04.000\n<v Orla>The first lantern burned whale oil.\n\n\
         00:00:04.250 --> 00:00:09.750\n<v Orla>Then came paraffin, and the smell was gone.\n\n\
         01:02:03.004 --> 01:02:05.006\n<v Bram>Who cleaned the chimney?\n\n"
    );
    let json = transcript(json!({ "format": "json" }));
    assert_eq!(
        json["segments"][2],
        json!({ "start": 3_723.004, "end": 3_725.006, "speaker": "Bram", "text": "Who cleaned the chimney?" })
    );
    let untimed = transcript(json!({ "format": "json", "include_timestamps": false }));
    assert_eq!(
        untimed["segments"][2],
        json!({ "speaker": "Bram", "text": "Who cleaned the chimney?" })
    );
}

#[test]
fn exported_transcript_reimports_with_same_cues() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let recording = client.only_hit("media.search", &json!({ "query": "paraffin" }));
    let segments = |client: &HttpClient<'_>, id: &Value| {
        let arguments = json!({ "media_id": id, "format": "json" });
        client.call_tool("media.transcript", &arguments)["content"]["segments"].clone()
    };
    for format in ["vtt", "srt"] {
        let arguments = json!({ "media_id": recording["id"], "format": format });
        let written = client.call_tool("media.transcript", &arguments)["content"].clone();
        let again = Library::new();
        again.import_file("media", &format!("talk.{format}"), written.as_str().unwrap());
        let server = again.serve();
        let copy = server.client().only_hit("media.search", &json!({ "query": "paraffin" }));
        let (before, after) =
            (segments(&client, &recording["id"]), segments(&server.client(), &copy["id"]));
        for (one, other) in before.as_array().unwrap().iter().zip(after.as_array().unwrap()) {
            assert_eq!((&one["start"], &one["end"]), (&other["start"], &other["end"]), "{format}");
        }
        assert_eq!(before.as_array().unwrap().len(), after.as_array().unwrap().len());
    }
}

#[test]
fn recording_lists_transcript_as_attachment() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let recording = client.only_hit("media.search", &json!({ "query": "paraffin" }));
    let item = client.call_tool("media.get", &json!({ "media_id": recording["id"] }));
    let attachment = &item["attachments"][0];
    assert_eq!((&attachment["type"], &attachment["cues"]), (&json!("transcript"), &json!(3)));
    let read = client.call_method("resources/read", &json!({ "uri": attachment["uri"] }));
    let text = read["contents"][0]["text"].as_str().unwrap();
    let spoken: Value = serde_json::from_str(text).unwrap();
    assert_eq!(spoken["segments"].as_array().unwrap().len(), 3);
}

#[test]
fn document_without_transcript_is_refused() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let article = client.only_hit("media.search", &json!({ "query": "clockwork" }));
    let problem =
        client.expect_tool_error("media.transcript", &json!({ "media_id": article["id"] }));
    assert!(problem.contains("transcript"), "{problem}");
    assert_eq!(
        client.call_tool("media.get", &json!({ "media_id": article["id"] }))["attachments"],
        Value::Null
    );
}

#[test]
fn items_of_every_source_are_readable_resources() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    for (query, kind, words) in [
        ("prisms", "text/plain", "trim the wick"),
        ("clockwork", "text/plain", "rings stand in a frame of brass"),
        ("burner", "application/json", "Clean the burner"),
        ("donkey", "application/json", "What is broken?"),
        ("flickers", "application/json", "You repair lamps."),
    ] {
        let hit = client.only_hit("knowledge.search", &json!({ "query": query }));
        let read = client.call_method("resources/read", &json!({ "uri": hit["uri"] }));
        assert_eq!(read["contents"].as_array().unwrap().len(), 1);
        let contents = &read["contents"][0];
        assert_eq!((&contents["uri"], &contents["mimeType"]), (&hit["uri"], &json!(kind)));
        assert!(contents["text"].as_str().unwrap().contains(words), "{contents}");
    }
}

#[test]
fn long_resource_names_call_that_reads_on() {
    let library = Library::new();
    library.import_file("media", "long.txt", format!("thimble {}end", "hay ".repeat(40_000)));
    let messages = (0..500).map(|number| ("human", format!("thimble number {number}")));
    let conversation = claude_conversation("Long talk", messages);
    library.import_file("chats", "talk.json", conversation.to_string());
    let server = library.serve();
    let client = server.client();
    for (source, head) in [("media", "[0 to 100000 of 160011; "), ("chats", "[0 to 200 of 500; ")] {
        let found = client
            .call_tool(&format!("{source}.search"), &json!({ "query": "thimble", "limit": 1 }));
        let id = &found["results"][0]["uri"];
        let uri = id.as_str().unwrap().split('#').next().unwrap();
        let read = client.call_method("resources/read", &json!({ "uri": uri }));
        let note = read["contents"][1]["text"].as_str().unwrap();
        assert_eq!(read["_meta"]["vademecum/read_on"], note);
        assert!(note.starts_with(head), "{note}");
        let (_, call) = note.split_once("read on with knowledge.get ").unwrap();
        let arguments: Value = serde_json::from_str(call.trim_end_matches(']')).unwrap();
        let rest = client.call_tool("knowledge.get", &arguments);
        assert_eq!(rest["range"]["start"], arguments["retrieval"]["offset"], "{source}");
    }
}

#[test]
fn media_types_are_a_resource() {
    let server = Library::with_lanterns().serve();
    let client = server.client();
    let listed = client.call_method("resources/list", &json!({}));
    assert_eq!(listed["resources"][0]["uri"], "media://types");
    let read = client.call_method("resources/read", &json!({ "uri": "media://types" }));
    let contents = &read["contents"][0];
    assert_eq!(contents["mimeType"], "application/json");
    let kinds: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        kinds["types"],
        json!([
            { "type": "audio", "count": 1 }, { "type": "html", "count": 1 }, { "type": "markdown", "count": 1 },
        ])
    );
    for kind in [
        "video", "audio", "podcast", "pdf", "epub", "docx", "pptx", "html", "markdown", "txt",
        "image", "article",
    ] {
        assert!(kinds["suggested"].as_array().unwrap().contains(&json!(kind)), "{kind}");
    }
}

#[test]
fn library_stats_are_a_resource() {
    let library = Library::with_pebbles(3);
    let server = library.serve();
    let client = server.client();
    let listed = client.call_method("resources/list", &json!({}));
    assert_eq!(listed["resources"][1]["uri"], "knowledge://stats");
    let read = client.call_method("resources/read", &json!({ "uri": "knowledge://stats" }));
    let contents = &read["contents"][0];
    assert_eq!(contents["mimeType"], "application/json");
    let stats: Value = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    for (held, source) in stats["sources"].as_array().unwrap().iter().zip(SOURCES) {
        assert_eq!((&held["source"], &held["items"]), (&json!(source), &json!(3)));
        assert_eq!(held["passages"], 3, "{held}");
        assert!(held["newest"].is_string(), "{held}");
    }
    for (held, name) in
        stats["databases"].as_array().unwrap().iter().zip(["chacha", "media", "prompts"])
    {
        let file = library.data_folder().join(format!("users/local/{name}.db"));
        let bytes = std::fs::metadata(file).unwrap().len();
        assert_eq!(held["database"], name);
        assert!(held["bytes"].as_u64().unwrap() >= bytes && bytes > 0, "{held}");
    }
    let empty = Library::new().serve();
    let read = empty.client().call_method("resources/read", &json!({ "uri": "knowledge://stats" }));
    let stats: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    let nothing = json!({ "source": "notes", "items": 0, "passages": 0, "newest": null });
    assert_eq!(stats["sources"][0], nothing);
}

#[test]
fn stats_report_unreadable_database_per_source() {
    let library = Library::with_pebbles(1);
    std::fs::write(library.data_folder().join("users/local/media.db"), "no database").unwrap();
    let server = library.serve();
    let read =
        server.client().call_method("resources/read", &json!({ "uri": "knowledge://stats" }));
    let stats: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(stats["sources"][0]["items"], 1, "{stats}");
    let media = &stats["sources"][1];
    assert!(media["error"].is_string() && media.get("items").is_none(), "{stats}");
}

#[test]
fn each_source_has_resource_template() {
    let server = Library::new().serve();
    let listed = server.client().call_method("resources/templates/list", &json!({}));
    let templates: Vec<&str> = listed["resourceTemplates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|template| template["uriTemplate"].as_str().unwrap())
        .collect();
    assert_eq!(templates, SOURCES.map(|source| format!("{source}://{{id}}")));
    for template in listed["resourceTemplates"].as_array().unwrap() {
        let object =
            ["chats", "characters", "prompts"].contains(&template["name"].as_str().unwrap());
        let form = if object { "application/json" } else { "text/plain" };
        assert_eq!(template["mimeType"], form, "{template}");
    }
}
