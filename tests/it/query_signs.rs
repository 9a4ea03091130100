//! End-to-end tests of signs in queries: flags of programs, hyphens and quotes take no answer away, and
//! the answer says what they were read as.

use serde_json::{Value, json};

use crate::support::{Library, McpClient, Server};

/// A note: its title, its text, a program with a flag in it, three words of the text, and two words
/// that both occur in it, but not one after the other.
type SignedNote = (
    &'static str,
    &'static str,
    (&'static str, &'static str),
    [&'static str; 3],
    [&'static str; 2],
);

const NOTES: [SignedNote; 20] = [
    (
        "Count lines",
        "wc -l shows the number of lines of a file.",
        ("wc", "l"),
        ["shows", "number", "lines"],
        ["file", "number"],
    ),
    (
        "Pick a key",
        "ssh -i chooses the private key of the login.",
        ("ssh", "i"),
        ["chooses", "private", "login"],
        ["login", "private"],
    ),
    (
        "Template of a message",
        "git commit -t opens the editor with a template.",
        ("git commit", "t"),
        ["opens", "editor", "template"],
        ["template", "editor"],
    ),
    (
        "Pager that quits",
        "less -FX quits if the text fits on one screen.",
        ("less", "FX"),
        ["quits", "fits", "screen"],
        ["screen", "quits"],
    ),
    (
        "History of a function",
        "git log -L follows the lines of one function.",
        ("git log", "L"),
        ["follows", "lines", "function"],
        ["function", "follows"],
    ),
    (
        "Shell in a container",
        "docker run -it keeps the terminal attached.",
        ("docker run", "it"),
        ["keeps", "terminal", "attached"],
        ["attached", "keeps"],
    ),
    (
        "Find by pattern",
        "find . -name compares each file name with a pattern.",
        ("find", "name"),
        ["compares", "each", "pattern"],
        ["pattern", "compares"],
    ),
    (
        "Only folders",
        "find . -type d lists directories and nothing else.",
        ("find", "type"),
        ["lists", "directories", "else"],
        ["else", "directories"],
    ),
    (
        "Start an archive",
        "java -jar starts the class of the manifest.",
        ("java", "jar"),
        ["starts", "class", "manifest"],
        ["manifest", "starts"],
    ),
    (
        "Races between threads",
        "go test -race reports unsynchronised access to memory.",
        ("go test", "race"),
        ["reports", "unsynchronised", "memory"],
        ["memory", "access"],
    ),
    (
        "Verbose transfer",
        "curl -verbose prints the headers of both sides.",
        ("curl", "verbose"),
        ["prints", "headers", "sides"],
        ["sides", "headers"],
    ),
    (
        "Unpack an archive",
        "tar -xzf unpacks what gzip compressed.",
        ("tar", "xzf"),
        ["unpacks", "gzip", "compressed"],
        ["compressed", "unpacks"],
    ),
    (
        "Key without a passphrase",
        "openssl req -nodes writes an unencrypted key.",
        ("openssl req", "nodes"),
        ["writes", "unencrypted", "key"],
        ["key", "writes"],
    ),
    (
        "Codec of a film",
        "ffmpeg -vcodec selects how pictures are encoded.",
        ("ffmpeg", "vcodec"),
        ["selects", "pictures", "encoded"],
        ["encoded", "pictures"],
    ),
    (
        "Apply without a question",
        "terraform apply -auto-approve changes the machines at once.",
        ("terraform apply", "auto-approve"),
        ["changes", "machines", "once"],
        ["machines", "changes"],
    ),
    (
        "All warnings",
        "gcc -Wall warns of suspicious code.",
        ("gcc", "Wall"),
        ["warns", "suspicious", "code"],
        ["code", "warns"],
    ),
    (
        "Remove a folder",
        "rm -rf deletes everything below, without asking.",
        ("rm", "rf"),
        ["deletes", "everything", "asking"],
        ["asking", "deletes"],
    ),
    (
        "Sivuston julkaisu",
        "Obsidian Publish -sivusto näyttää julkaistut muistiinpanot.",
        ("Obsidian Publish", "sivusto"),
        ["näyttää", "julkaistut", "muistiinpanot"],
        ["muistiinpanot", "näyttää"],
    ),
    (
        "Columns with values",
        "The constraint IS NOT NULL rejects rows that lack a value.",
        ("constraint IS NOT", "NULL"),
        ["rejects", "rows", "value"],
        ["value", "rejects"],
    ),
    (
        "Profile of a program",
        "perf record -graph samples the stack of each thread.",
        ("perf record", "graph"),
        ["samples", "stack", "thread"],
        ["thread", "samples"],
    ),
];

fn search(server: &Server, query: &str) -> Value {
    server.client().call_tool("knowledge.search", &json!({ "query": query, "limit": 100 }))
}

/// Returns the titles of the results.
fn titles(found: &Value) -> Vec<&str> {
    let hits = found["results"].as_array().unwrap().iter();
    hits.map(|hit| hit["title"].as_str().unwrap()).collect()
}

/// Returns ten questions about a note, with flags, hyphens and quotes.
fn questions(note: &SignedNote) -> [String; 10] {
    let (_, _, (program, flag), [one, two, three], [after, before]) = note;
    [
        format!("{program} -{flag} {one}"),
        format!("{program} -{flag}"),
        format!("{one} {two} -{flag}"),
        format!("what does {program} -{flag} do?"),
        format!("-{flag} {two} {three}"),
        format!("why {program} -{flag} {one} unexpected {three}"),
        format!("\"{after} {before}\" {program}"),
        format!("{program} \"{three} {one}\" -{flag}"),
        format!("\"{program} {three}\""),
        format!("{one}-{two} \"{after}\" -{flag}"),
    ]
}

#[test]
fn signs_take_no_answer_away() {
    let notes = NOTES.iter().map(|(title, text, ..)| (*title, (*text).to_owned()));
    let server = Library::with_notes(notes).serve();
    let mut worse = Vec::new();
    let mut asked = 0;
    for note in &NOTES {
        for question in questions(note) {
            asked += 1;
            let plain = question.replace(['"', '-'], " ");
            let (signed, plain) = (search(&server, &question), search(&server, &plain));
            let rank = |found: &Value| titles(found).iter().position(|title| *title == note.0);
            let Some(without) = rank(&plain) else { panic!("{question}: {plain}") };
            if rank(&signed).is_none_or(|with| with > without) {
                worse.push(format!("{question}: {:?} instead of {without}", rank(&signed)));
            }
        }
    }
    assert_eq!((asked, worse), (200, Vec::new()));
}

#[test]
fn answer_says_what_signs_were_read_as() {
    let server = Library::with_notes([
        ("Rye", "Rye bread of the baker.".to_owned()),
        ("Oat", "Bread of oats and yeast.".to_owned()),
        ("Find", "find . -name finds bread.".to_owned()),
    ])
    .serve();
    for (query, expected, found, sentence) in [
        ("bread -yeast", json!({ "excluded": ["yeast"] }), 2, "Excluded: yeast."),
        ("bread NOT yeast", json!({ "excluded": ["yeast"] }), 2, "Excluded: yeast."),
        ("\"rye bread\" oats", json!({ "required": ["rye bread"] }), 1, "Required: rye bread."),
        ("text:oats bread", json!({ "required": ["text:oats"] }), 1, "Required: text:oats."),
        ("bread -name", json!({ "ignored": ["-name"] }), 3, "searched as words: -name."),
        ("-yeast bread", json!({ "ignored": ["-yeast"] }), 3, "searched as words: -yeast."),
        (
            "\"baker bread\"",
            json!({ "loosened": ["baker bread"], "phrase_not_found": true }),
            3,
            "as quoted; scores are halved: baker bread.",
        ),
        ("rye baker -bread", json!({ "ignored": ["-bread"] }), 3, "searched as words: -bread."),
    ] {
        let params = json!({ "name": "knowledge.search", "arguments": { "query": query } });
        let answer = server.client().call_method("tools/call", &params);
        let content = &answer["structuredContent"];
        assert_eq!(content["_meta"], expected, "{query}");
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(answer["_meta"][format!("vademecum/{name}")], *value, "{query}");
        }
        assert_eq!(titles(content).len(), found, "{query}: {content}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(sentence), "{query}: {text}");
    }
    let loosened = search(&server, "\"baker bread\"");
    assert!(loosened["results"][0]["score"].as_f64() <= Some(0.5), "{loosened}");
}

/// A word that only items have which a caller may not see is no reason to read a minus otherwise.
#[test]
fn signs_of_hidden_items_are_not_read() {
    let library = Library::new();
    library.import_file("notes", "secret.md", "---\ntags: [secret]\n---\nfind . -name bread");
    library.import_file("notes", "open.md", "A name for bread.");
    library.import_file("notes", "other.md", "Bread of oats.");
    let read = |settings: &str| {
        let server = library.serve_with_settings(settings);
        search(&server, "bread -name")["_meta"].clone()
    };
    assert_eq!(read(""), json!({ "ignored": ["-name"] }));
    assert_eq!(read("[[deny]]\ntags = [\"secret\"]"), json!({ "excluded": ["name"] }));
}
