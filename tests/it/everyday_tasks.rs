//! Questions that a person asks of their own library, each answered in at most two calls and 4 KB.

use serde_json::{Value, json};

use crate::{
    support::{HttpClient, Library, McpClient, Server, character_card, claude_conversation},
    writing::{WRITE_ENABLED, create_note},
};

/// Maximum size of the texts of all results of a task, in bytes.
const MAX_BYTES: usize = 4_096;
/// Maximum number of calls of a task.
const MAX_CALLS: usize = 2;

/// The attempt to answer one question.
struct Task<'a> {
    client: &'a HttpClient<'a>,
    question: &'static str,
    calls: usize,
    bytes: usize,
}

impl<'a> Task<'a> {
    fn new(client: &'a HttpClient<'a>, question: &'static str) -> Self {
        Self { client, question, calls: 0, bytes: 0 }
    }

    /// Calls a tool, and returns the text for the model and the structured result.
    fn call(&mut self, tool: &str, arguments: &Value) -> (String, Value) {
        let mut result = self.client.tool_result(tool, arguments);
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        assert_ne!(result["isError"], true, "{}: {text}", self.question);
        self.calls += 1;
        self.bytes += text.len();
        assert!(self.calls <= MAX_CALLS, "{}", self.question);
        assert!(self.bytes <= MAX_BYTES, "{}: {} bytes", self.question, self.bytes);
        (text, result["structuredContent"].take())
    }

    /// Calls a tool whose text must answer the question.
    #[expect(clippy::needless_pass_by_value, reason = "calls are easier to read")]
    fn answer(mut self, tool: &str, arguments: Value, parts: &[&str]) {
        let (text, _) = self.call(tool, &arguments);
        for part in parts {
            assert!(text.contains(part), "{}: no {part} in {text}", self.question);
        }
    }
}

/// Writes a small library of several sources: a household with a boat.
fn write_library() -> Library {
    let library = Library::new();
    let note = |path: &str, tags: &str, date: &str, text: &str| {
        let text = format!("---\ntags: [{tags}]\ncreated: {date}\nmodified: {date}\n---\n{text}");
        library.write_file(&format!("vault/{path}.md"), text);
    };
    note(
        "Boiler",
        "house",
        "2026-02-03",
        "We decided on a heat pump instead of a new boiler. \
        It comes in May and costs 11,400.",
    );
    note("Garden", "garden", "2026-09-14", "The medlar was pruned. The bees have moved.");
    note("Compost", "garden", "2026-08-30", "Turn it every third week.");
    note("Hedge", "garden", "2026-09-28", "The hedge was cut too late.");
    note("Lease 2024", "papers", "2024-03-01", "Lease of the berth: 820 a year.");
    note("Lease 2026", "papers", "2026-03-01", "Lease of the berth: 910 a year, until 2028.");
    note("Projects/Boat/Mast", "boat", "2026-05-02", "The mast has seventeen rivets. Two leak.");
    note("Projects/Boat/Sails", "boat", "2026-05-09", "The genoa needs a new clew.");
    note("Projects/House/Roof", "house", "2026-06-01", "Slates are at the yard in Porto.");
    let vault = library.file_path("vault");
    let done = library.run(&["import", "notes", vault.to_str().unwrap()]);
    assert_eq!(done.code, 0, "{done:?}");
    library.import_file("media", "talk.vtt", "WEBVTT\n\n\
        00:00:01.000 --> 00:00:09.000\n<v Ada>Welcome to the harbour evening.\n\n\
        00:31:00.000 --> 00:31:20.000\n<v Ada>A tide clock has one hand.\n\n\
        00:31:20.000 --> 00:31:40.000\n<v Ada>It goes round in twelve hours and twenty-five minutes.\n\n\
        00:50:00.000 --> 00:50:10.000\n<v Bram>Are there questions?\n");
    library.import_file(
        "media",
        "mail.eml",
        "From: Ines Rao <ines@example.org>\n\
        To: me@example.org\nSubject: Invoice for the antifouling\n\
        Date: Mon, 4 May 2026 10:00:00 +0000\n\nThe antifouling is 340 in all. Pay by Friday.\n",
    );
    library.import_file(
        "media",
        "bookmarks.html",
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n\
        <DT><A HREF=\"https://bread.example/sourdough\">Sourdough without a scale</A>\n\
        <DD>Feed the starter twice.\n\
        <DT><A HREF=\"https://boats.example/genoa\">How to cut a genoa</A>\n</DL>",
    );
    let conversation = claude_conversation(
        "Rigging",
        [
            ("human", "Can we sail with two leaking rivets?"),
            ("assistant", "The mast will not hold in a gale. Replace the rivets first."),
        ],
    );
    library.import_file("chats", "chat.json", conversation.to_string());
    let card = character_card("Captain Wren", "A retired pilot. Her password is halcyon.");
    library.import_file("characters", "wren.json", card);
    library.import_file(
        "prompts",
        "prompts.csv",
        "act,prompt,tags\n\"Minutes\",\"Write minutes of ${meeting} in ten lines.\",\"work\"\n",
    );
    library
}

fn serve() -> Server {
    write_library().serve_with_settings(WRITE_ENABLED)
}

#[test]
fn questions_about_content_are_answered() {
    let server = serve();
    let client = server.open_session();
    let task = |question| Task::new(&client, question);
    task("What did I decide about the boiler?").answer(
        "knowledge.search",
        json!({ "query": "What did I decide about the boiler?", "limit": 3 }),
        &["heat pump", "notes://"],
    );
    task("The bookmark about sourdough").answer(
        "media.search",
        json!({ "query": "sourdough", "limit": 3 }),
        &["Sourdough without a scale", "https://bread.example/sourdough"],
    );
    task("Who said that the mast will not hold?").answer(
        "chats.search",
        json!({ "query": "\"mast will not hold\"", "limit": 3 }),
        &["assistant", "Rigging"],
    );
    task("The mail from Ines about the invoice").answer(
        "media.search",
        json!({ "query": "Ines invoice antifouling", "media_types": ["email"], "limit": 3 }),
        &["Invoice for the antifouling", "340"],
    );
    task("How many rivets has the mast?").answer(
        "knowledge.search",
        json!({ "query": "\"seventeen rivets\"", "limit": 3 }),
        &["Mast"],
    );
    task("The password of Captain Wren").answer(
        "characters.get",
        json!({ "name": "Captain Wren" }),
        &["halcyon"],
    );
    task("My prompt for minutes").answer(
        "prompts.get",
        json!({ "prompt_id_or_name": "Minutes" }),
        &["in ten lines"],
    );
    task("What else is there like the note on the genoa?").answer(
        "knowledge.search",
        json!({ "query": "genoa", "sources": ["media"] }),
        &["How to cut a genoa"],
    );
}

#[test]
fn part_of_talk_is_found_with_its_time() {
    let server = serve();
    let client = server.open_session();
    let mut task = Task::new(&client, "The part of the talk about the tide clock");
    let (text, found) = task.call("media.search", &json!({ "query": "tide clock", "limit": 1 }));
    assert!(text.contains("31:00"), "{text}");
    let hit = &found["results"][0];
    let arguments = json!({ "media_id": hit["id"], "around": hit["start_ms"],
        "format": "text" });
    task.answer("media.transcript", arguments, &["twelve hours and twenty-five minutes"]);
}

#[test]
fn questions_about_time_and_place_are_answered() {
    let server = serve();
    let client = server.open_session();
    let task = |question| Task::new(&client, question);
    let month = json!({ "sources": ["notes"], "tags": ["garden"], "after": "2026-09-01",
        "before": "2026-10-01" });
    let mut last_month = task("Notes tagged garden changed in September");
    let (_, page) = last_month.call("knowledge.list", &month);
    let titles: Vec<&str> = page["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["Hedge", "Garden"]);
    task("What did I write on 30 August?").answer(
        "knowledge.list",
        json!({ "after": "2026-08-30", "before": "2026-08-31" }),
        &["Compost", "1 of 1"],
    );
    task("The newest lease").answer(
        "knowledge.search",
        json!({ "query": "title:lease", "order_by": "recent", "limit": 1 }),
        &["Lease 2026", "910"],
    );
    task("What is in the folder of the boat?").answer(
        "knowledge.list",
        json!({ "folder": "Projects/Boat" }),
        &["Mast", "Sails", "2 of 2"],
    );
    task("Which tags do I use, and how often?").answer(
        "knowledge.list",
        json!({ "facets": ["tags"] }),
        &["garden (3)", "boat (2)"],
    );
    task("Which notes had I in March?").answer(
        "knowledge.list",
        json!({ "sources": ["notes"], "as_of": "2026-03-31" }),
        &["Lease 2026", "Boiler", "3 of 3"],
    );
}

#[test]
fn changes_of_an_agent_are_seen_and_undone() {
    let server = serve();
    let (person, agent) = (server.open_session_named("person"), server.open_session_named("agent"));
    let note = create_note(&person, "Packing list", "Oilskins. Flares. Charts.");
    let change = json!({ "note_id": note["id"], "version": 1, "content": "Sunscreen." });
    agent.call_tool("notes.update", &change);
    Task::new(&person, "What was the packing list before the agent changed it?").answer(
        "notes.get",
        json!({ "title": "Packing list", "as_of": 1, "retrieval": { "mode": "full" } }),
        &["Oilskins. Flares. Charts."],
    );
    let mut task = Task::new(&person, "What did the agent do to it?");
    let (text, history) = task.call("knowledge.history", &json!({ "uri": note["uri"] }));
    assert!(text.contains("agent") && text.contains("Oilskins"), "{text}");
    let version = history["changes"][0]["version"].as_i64().unwrap() - 1;
    let restore = json!({ "uri": note["uri"], "version": version });
    task.answer("knowledge.restore", restore, &["3"]);
    Task::new(&person, "Is it as before?").answer(
        "knowledge.get",
        json!({ "id": note["uri"], "retrieval": { "mode": "full" } }),
        &["Oilskins. Flares. Charts."],
    );
    let append = json!({ "note_id": note["id"], "content": "Rope." });
    Task::new(&person, "Add the rope to the packing list").answer("notes.append", append, &[]);
}
