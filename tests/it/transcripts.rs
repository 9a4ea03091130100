//! End-to-end tests of times in recordings: hits that tell when, and parts of transcripts.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::{Library, McpClient, Server};

/// Serves a talk of two hours with one cue every ten seconds. The word `capstan` is said at 1:00:00.
fn serve_talk() -> Server {
    let mut cues = String::from("WEBVTT\n");
    for number in 0..720 {
        let time = |second: u32| {
            format!("{:02}:{:02}:{:02}.000", second / 3_600, second / 60 % 60, second % 60)
        };
        let (start, end) = (time(number * 10), time(number * 10 + 8));
        let sentence = if number == 360 {
            "Now the capstan turns.".to_owned()
        } else {
            format!("Sentence {number}.")
        };
        write!(cues, "\n{start} --> {end}\n<v Ada>{sentence}\n").unwrap();
    }
    let library = Library::new();
    library.import_file("media", "talk.vtt", cues);
    library.import_file("media", "plain.md", "# Plain\nNo capstan here, and no times.");
    library.serve()
}

fn transcript(server: &Server, arguments: &Value) -> Value {
    let mut all = json!({ "media_id": "media://1" });
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    server.client().tool_result("media.transcript", &all)["structuredContent"].take()
}

#[test]
fn hit_in_recording_tells_when() {
    let server = serve_talk();
    let client = server.client();
    for tool in ["media.search", "knowledge.search"] {
        let found = client.call_tool(tool, &json!({ "query": "capstan turns" }));
        let (recording, plain) = (&found["results"][0], &found["results"][1]);
        assert_eq!(recording["start_ms"], 3_600_000, "{recording}");
        assert!(plain.get("start_ms").is_none(), "{plain}");
        let text = client.call_tool_text(tool, &json!({ "query": "capstan turns" }));
        assert!(text.lines().next().unwrap().contains(" — at 1:00:00 — 20"), "{text}");
        let there = transcript(&server, &json!({ "around": recording["start_ms"] }));
        assert!(there["content"].as_str().unwrap().contains("capstan"), "{there}");
    }
}

#[test]
fn window_around_time_says_what_was_cut() {
    let server = serve_talk();
    for around in [json!(3_600_000), json!("3600000"), json!("1:00:00"), json!("60:00")] {
        let part = transcript(&server, &json!({ "around": around }));
        let lines = part["content"].as_str().unwrap().lines().count();
        assert_eq!(lines, 12, "{around}: {part}");
        assert_eq!(
            part["window"],
            json!({
                "from_ms": 3_540_000, "to_ms": 3_660_000, "total_ms": 7_198_000,
                "omitted_before": 354, "omitted_after": 354, "next_from": 3_660_000,
            })
        );
    }
    let arguments = json!({ "media_id": 1, "around": "1:00:00" });
    let result = server.client().tool_result("media.transcript", &arguments);
    let remark = result["content"][1]["text"].as_str().unwrap();
    assert_eq!(
        remark,
        "[0:59:00 to 1:01:00 of 1:59:58; 354 segments before, 354 after; read on with \
         {\"from\":3660000,\"to\":3780000}]"
    );
    assert!(transcript(&server, &json!({})).get("window").is_none());
}

#[test]
fn parts_in_every_format_join_to_the_whole() {
    let server = serve_talk();
    for format in ["text", "srt", "vtt", "json"] {
        let (mut from, mut sentences) = (json!(0), 0);
        while !from.is_null() {
            let to = from.as_u64().unwrap() + 1_000_000;
            let part = transcript(&server, &json!({ "format": format, "from": from, "to": to }));
            sentences += part["content"].to_string().matches("Sentence").count();
            from = part["window"]["next_from"].clone();
        }
        // JSON has each sentence in its segment and in the text.
        assert_eq!(sentences, if format == "json" { 1_438 } else { 719 }, "{format}");
    }
    let end = transcript(&server, &json!({ "from": "1:59:00", "format": "json" }));
    assert_eq!(end["content"]["segments"].as_array().unwrap().len(), 6);
    assert_eq!(end["window"]["omitted_after"], 0);
}

#[test]
fn invalid_windows_are_errors() {
    let server = serve_talk();
    let client = server.client();
    for (arguments, part) in [
        (json!({ "from": "soon" }), "from: expected milliseconds or h:mm:ss"),
        (json!({ "from": -5 }), "from: expected milliseconds"),
        (json!({ "around": 1, "to": 2 }), "around: pass either around, or from and to"),
        (json!({ "from": "0:02", "to": "0:01" }), "to: must be later than from"),
        (json!({ "from": "2:00:00" }), "after the end of this transcript, which is 1:59:58"),
    ] {
        let mut all = json!({ "media_id": 1 });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        let error = client.expect_tool_error("media.transcript", &all);
        assert!(error.contains(part), "{arguments}: {error}");
    }
}
