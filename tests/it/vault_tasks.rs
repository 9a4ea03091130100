//! Twenty everyday tasks over a vault, each in at most two calls whose answers have at most 4 KB on the wire each, for
//! a client that takes structured content.

use serde_json::{Value, json};

use crate::{
    support::{HttpClient, Library, Server, character_card, claude_conversation},
    writing::WRITE_ENABLED,
};

/// Maximum size of the body of a response, in bytes.
const MAX_BYTES: usize = 4_096;
/// Maximum number of calls of a task.
const MAX_CALLS: usize = 2;

/// Writes a vault of an astronomy club with its files beside it.
#[expect(clippy::too_many_lines, reason = "the files of a vault")]
fn write_library() -> Library {
    let library = Library::new();
    let note = |path: &str, front: &str, text: &str| {
        library.write_file(&format!("club/{path}.md"), format!("---\n{front}\n---\n{text}\n"));
    };
    let day = |date: &str| format!("created: {date}\nmodified: {date}");
    note(
        "Decisions/Dome",
        &day("2026-02-11"),
        "We decided to repair the dome with aluminium and not to buy fibreglass. It costs 8,250.",
    );
    note(
        "Decisions/Membership",
        &day("2026-04-02"),
        "# Fees\nAdults pay 60, students 20.\n# Rules\nKeys stay with [[Treasurer]].\n## Night\nNo white \
         light after dusk. See [[Dome]].",
    );
    note("People/Treasurer", &day("2026-01-20"), "Hal keeps the books. [[Missing Ledger]]");
    for (title, rating, status) in [
        ("Cosmos", "9", "read"),
        ("Contact", "7", "read"),
        ("Gravitation", "10", "unread"),
        ("Nightfall", "8.5", "read"),
        ("Almanac", "5", "read"),
    ] {
        let front =
            format!("rating: {rating}\nstatus: {status}\ntags: [book]\n{}", day("2025-12-01"));
        note(&format!("Library/{title}"), &front, &format!("{title}: notes of a reader."));
    }
    note(
        "Projects/Mirror",
        &format!("tags: [optics]\n{}", day("2026-09-12")),
        "- [x] Order pitch\n- [ ] Polish the mirror\n- [ ] Test with a Ronchi grating\n",
    );
    note(
        "Projects/Mount",
        &format!("tags: [optics]\n{}", day("2026-09-20")),
        "- [ ] Balance the fork\nThe mount drifts 14 arc seconds an hour.",
    );
    note(
        "Projects/Radio",
        &format!("tags: [radio]\n{}", day("2026-08-30")),
        "Horn antenna for 21 cm.",
    );
    note("Lease 2023", &day("2023-05-01"), "Lease of the hill: 400 a year.");
    note("Lease 2026", &day("2026-05-01"), "Lease of the hill: 460 a year, until 2029.");
    for number in 0..40 {
        let text =
            format!("Observed M{number} for {number} minutes. {}", "Seeing was fair. ".repeat(30));
        note(
            &format!("Nights/Night {number}"),
            &format!("tags: [night]\n{}", day("2026-07-07")),
            &text,
        );
    }
    let vault = library.file_path("club");
    assert_eq!(library.run(&["import", vault.to_str().unwrap()]).code, 0);
    library.import_file(
        "media",
        "lecture.vtt",
        "WEBVTT\n\n00:00:02.000 --> 00:00:08.000\n<v Iris>Good evening, and clear skies.\n\n\
         00:12:30.000 --> 00:12:50.000\n<v Iris>A light bridge splits the umbra.\n\n\
         00:12:50.000 --> 00:13:10.000\n<v Iris>It lasts for about two days.\n",
    );
    library.import_file(
        "media",
        "mail.eml",
        "From: Jo Lind <jo@example.org>\nTo: me@example.org\nSubject: Quote for the eyepieces\n\
         Date: Tue, 3 Mar 2026 09:00:00 +0000\n\nThe three eyepieces are 512 together.\n",
    );
    library.import_file(
        "media",
        "bookmarks.html",
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n\
         <DT><A HREF=\"https://sky.example/ronchi\">Ronchi test at home</A>\n</DL>",
    );
    let chat = claude_conversation(
        "Collimation",
        [("human", "The stars are comets."), ("assistant", "Turn the screw nearest to the tail.")],
    );
    library.import_file("chats", "chat.json", chat.to_string());
    let card = character_card("Old Halley", "An astronomer. His lucky number is seventy-six.");
    library.import_file("characters", "halley.json", card);
    library.import_file(
        "prompts",
        "prompts.csv",
        "act,prompt,tags\n\"Night report\",\"Write a report of the night at ${place}.\",\"club\"\n",
    );
    library
}

/// The attempt to do one task.
struct Task<'a> {
    client: &'a HttpClient<'a>,
    name: &'static str,
    calls: usize,
}

impl Task<'_> {
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments } });
        let response = self.client.send(&request);
        self.calls += 1;
        assert!(self.calls <= MAX_CALLS, "{}", self.name);
        let bytes = response.body.len();
        assert!(bytes <= MAX_BYTES, "{}: {bytes} bytes: {}", self.name, response.body);
        let mut answer = response.json();
        assert_eq!(answer["result"]["isError"], false, "{}: {answer}", self.name);
        answer["result"]["structuredContent"].take()
    }

    fn answer(&mut self, tool: &str, arguments: &Value, parts: &[&str]) {
        let found = self.call(tool, arguments).to_string();
        for part in parts {
            assert!(found.contains(part), "{}: no {part} in {found}", self.name);
        }
    }
}

fn open(server: &Server) -> HttpClient<'_> {
    server.open_session_with(&json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" }, "config": { "text": "none" },
    }))
}

fn serve() -> Server {
    write_library().serve_with_settings(WRITE_ENABLED)
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of tasks")]
fn fifteen_tasks_of_everyday_are_done() {
    let server = serve();
    let client = open(&server);
    let search = |query: &str| json!({ "query": query, "limit": 3 });
    let tasks: [(&str, &str, Value, &[&str]); 14] = [
        (
            "What did we decide about the dome?",
            "knowledge.search",
            search("What did we decide about the dome?"),
            &["aluminium", "Decisions/Dome.md"],
        ),
        (
            "The bookmark about Ronchi",
            "media.search",
            search("ronchi"),
            &["https://sky.example/ronchi"],
        ),
        (
            "Who said which screw to turn?",
            "chats.search",
            search("\"turn the screw\""),
            &["assistant", "Collimation"],
        ),
        (
            "The mail about the eyepieces",
            "media.search",
            json!({ "query": "eyepieces quote", "media_types": ["email"], "limit": 3 }),
            &["512"],
        ),
        ("How far does the mount drift?", "knowledge.search", search("\"arc seconds\""), &["14"]),
        (
            "The lucky number of Halley",
            "characters.get",
            json!({ "name": "Old Halley" }),
            &["seventy-six"],
        ),
        (
            "My prompt for reports",
            "prompts.get",
            json!({ "prompt_id_or_name": "Night report" }),
            &["Write a report"],
        ),
        (
            "What is like the note on the mirror?",
            "knowledge.related",
            json!({ "uri": "Mirror", "limit": 3 }),
            &["Ronchi test at home"],
        ),
        (
            "Notes tagged optics changed in September",
            "knowledge.list",
            json!({ "tags": ["optics"], "after": "2026-09-01", "before": "2026-10-01" }),
            &["Mirror", "Mount", "\"total\":2"],
        ),
        (
            "What did I write on 30 August?",
            "knowledge.list",
            json!({ "after": "2026-08-30", "before": "2026-08-31" }),
            &["Radio", "\"total\":1"],
        ),
        (
            "The newest lease",
            "knowledge.search",
            json!({ "query": "title:lease", "order_by": "recent", "limit": 1 }),
            &["Lease 2026", "460"],
        ),
        (
            "What is in the folder of projects?",
            "knowledge.list",
            json!({ "folder": "Projects" }),
            &["Mirror", "Mount", "Radio", "\"total\":3"],
        ),
        (
            "Which tags do I use, and how often?",
            "knowledge.list",
            json!({ "facets": ["tags"] }),
            &["night", "book", "\"count\":40", "\"count\":5"],
        ),
        (
            "Which notes had I in March 2026?",
            "knowledge.list",
            json!({ "sources": ["notes"], "as_of": "2026-03-31", "order_by": "title" }),
            &["Dome", "Cosmos"],
        ),
    ];
    for (name, tool, arguments, parts) in tasks {
        Task { client: &client, name, calls: 0 }.answer(tool, &arguments, parts);
    }
    let mut talk =
        Task { client: &client, name: "What did the lecture say of light bridges?", calls: 0 };
    let found = talk.call("media.search", &search("light bridge"));
    let hit = &found["results"][0];
    let loc = json!({ "start_ms": hit["start_ms"] });
    let read = json!({ "media_id": hit["id"], "retrieval": { "mode": "chunk", "loc": loc } });
    talk.answer("media.get", &read, &["about two days"]);
}

#[test]
fn five_tasks_of_the_vault_are_done() {
    let server = serve();
    let client = open(&server);
    let task = |name| Task { client: &client, name, calls: 0 };
    task("Which books that I have read are good?").answer(
        "knowledge.list",
        &json!({ "properties": { "rating": ">=8", "status": "read" } }),
        &["Cosmos", "Nightfall", "\"total\":2"],
    );
    task("What is to be done in the projects?").answer(
        "knowledge.list",
        &json!({ "tasks": "open", "path": "Projects" }),
        &["Polish the mirror", "Test with a Ronchi grating", "Balance the fork", "\"total\":2"],
    );
    task("Which links lead nowhere?").answer(
        "knowledge.list",
        &json!({ "links": "broken" }),
        &["Treasurer", "Missing Ledger", "\"total\":1"],
    );
    task("The rules of the night, and to which notes they link").answer(
        "knowledge.get",
        &json!({ "title": "Membership#Night" }),
        &["No white light"],
    );
    let mut daily = task("Note in the daily note that the dome leaks");
    let written = daily
        .call("notes.append", &json!({ "at": "daily note ## Log", "content": "The dome leaks." }));
    let read = json!({ "id": written["uri"], "retrieval": { "mode": "full" } });
    daily.answer("knowledge.get", &read, &["## Log", "The dome leaks."]);
}
