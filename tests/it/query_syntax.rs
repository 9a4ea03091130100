//! End-to-end tests of query syntax and tokenization: identifiers with punctuation, exact words,
//! prefixes, fields, exclusions, scripts without spaces, and typo correction.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Library, McpClient, SOURCES, Server};

/// Returns the titles of the hits of a search over all sources.
fn titles(server: &Server, query: &str) -> Vec<String> {
    titles_in(server, query, &SOURCES)
}

fn titles_in(server: &Server, query: &str, sources: &[&str]) -> Vec<String> {
    let arguments = json!({ "query": query, "limit": 100, "sources": sources });
    let found = server.client().call_tool("knowledge.search", &arguments);
    let hits = found["results"].as_array().unwrap();
    hits.iter().map(|hit| hit["title"].as_str().unwrap().to_owned()).collect()
}

/// Returns the sources that have hits.
fn sources_with_hits(server: &Server, query: &str) -> BTreeSet<String> {
    let found = server.client().call_tool("knowledge.search", &json!({ "query": query }));
    let source = |hit: &Value| hit["source"].as_str().unwrap().to_owned();
    found["results"].as_array().unwrap().iter().map(source).collect()
}

fn title_set(titles: &[String]) -> BTreeSet<&str> {
    titles.iter().map(String::as_str).collect()
}

/// Identifiers, each with words that find it because they are parts of it.
const IDENTIFIERS: [(&str, &[&str]); 16] = [
    ("snake_case", &["snake", "case", "snakes"]),
    ("_private_field", &["private", "field"]),
    ("MAX_BODY_BYTES", &["max", "body", "bytes", "byte"]),
    ("camelCase", &["camel", "case", "camelcase"]),
    ("parseURL", &["parse", "url", "parseurl"]),
    ("HTTPServer", &["http", "server", "httpserver"]),
    ("readAllFiles()", &["read", "files", "readAllFiles"]),
    ("C++", &["c"]),
    ("F#", &["f"]),
    ("R&D", &["r"]),
    ("v1.2.3", &["v1", "3"]),
    ("std::vec::Vec", &["std", "vec"]),
    ("ada@mail.example.org", &["ada", "mail", "example"]),
    ("https://docs.example.org/guide/intro.html?page=2#top", &["docs", "guide", "intro", "top"]),
    ("src/retrieve/rank.rs", &["src", "retrieve", "rank", "rs"]),
    (r"C:\Users\ada\notes.txt", &["users", "notes", "txt"]),
];

/// Splits an identifier at punctuation and at case changes.
fn split_identifier(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for (letter, next) in name.chars().zip(name.chars().skip(1).chain([' '])) {
        let begins = letter.is_uppercase() && (!before.is_uppercase() || next.is_lowercase());
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        words.last_mut().unwrap().extend(Some(letter).filter(|it| it.is_alphanumeric()));
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Serves one note per identifier that contains it, and three decoys that contain its words
/// separately, as often or more often.
fn serve_identifiers_and_decoys() -> Server {
    let mut notes = Vec::new();
    for (place, (name, _)) in IDENTIFIERS.iter().enumerate() {
        notes.push((format!("name {place}"), format!("We wrote {name} there on Monday.")));
        let backwards: Vec<String> = split_identifier(name).into_iter().rev().collect();
        let (once, more) = (backwards.join(" quickly "), backwards.join(" again "));
        notes.push((format!("once {place}"), format!("They wrote {once} there.")));
        notes.push((format!("twice {place}"), format!("{once} or {more}.")));
        notes.push((format!("apart {place}"), format!("Now {}", backwards.join(" and then "))));
    }
    Library::with_notes(notes).serve()
}

#[test]
fn exact_identifier_ranks_first() {
    let server = serve_identifiers_and_decoys();
    for (place, (name, _)) in IDENTIFIERS.iter().enumerate() {
        for query in [(*name).to_owned(), format!("{name}?"), format!("where is {name}, please?")] {
            let found = titles(&server, &query);
            assert_eq!(found[0], format!("name {place}"), "{query}: {found:?}");
        }
    }
}

#[test]
fn identifier_found_by_each_part() {
    let server = serve_identifiers_and_decoys();
    for (place, (name, parts)) in IDENTIFIERS.iter().enumerate() {
        for part in *parts {
            let found = titles(&server, part);
            assert!(found.contains(&format!("name {place}")), "{name} by {part}: {found:?}");
        }
    }
}

#[test]
fn quoted_identifier_matches_exactly() {
    let server = serve_identifiers_and_decoys();
    for (place, (name, _)) in IDENTIFIERS.iter().enumerate() {
        let found = titles(&server, &format!("\"{name}\""));
        assert_eq!(found, [format!("name {place}")], "{name}");
    }
}

#[test]
fn hyphenated_words_match_joined_and_in_parts() {
    let server = Library::with_notes([
        ("both", "A foo-bar is here."),
        ("foo", "A foo, a foo, but no more."),
        ("bar", "A bar, a bar, but no more."),
        ("apart", "A bar that has nothing at all to do with any foo."),
    ])
    .serve();
    let found = titles(&server, "foo-bar");
    assert_eq!((found[0].as_str(), found.len()), ("both", 4), "{found:?}");
    for part in ["foo", "bar"] {
        assert!(titles(&server, part).contains(&"both".to_owned()), "{part}");
    }
    assert_eq!(titles(&server, "\"foo-bar\""), ["both"]);
}

fn serve_inflected_forms() -> Server {
    Library::with_notes([
        ("knead", "I knead it."),
        ("kneads", "She kneads it."),
        ("kneading", "We are kneading it."),
        ("kneaded", "It was kneaded."),
        ("kneader", "A kneader is a machine."),
        ("need", "I need it."),
    ])
    .serve()
}

#[test]
fn quoted_word_disables_stemming() {
    let server = serve_inflected_forms();
    for word in ["knead", "kneads", "kneading", "kneaded"] {
        assert_eq!(titles(&server, &format!("\"{word}\"")), [word]);
        assert_eq!(titles(&server, &format!("\"{}\"", word.to_uppercase())), [word]);
        let all = titles(&server, word);
        assert!(
            title_set(&all).is_superset(&["knead", "kneads", "kneading", "kneaded"].into()),
            "{word}"
        );
    }
    assert_eq!(titles(&server, "\"kneading it\""), ["kneading"]);
}

#[test]
fn star_matches_prefix() {
    let server = serve_inflected_forms();
    let all = ["knead", "kneads", "kneading", "kneaded", "kneader"];
    assert_eq!(title_set(&titles(&server, "knead*")), all.into());
    assert_eq!(title_set(&titles(&server, "KNE*")), all.into());
    assert_eq!(titles(&server, "kneadi*"), ["kneading"]);
    assert_eq!(title_set(&titles(&server, "kneade*")), ["kneaded", "kneader"].into());
    assert_eq!(title_set(&titles(&server, "ne* machine")), ["need", "kneader"].into());
}

#[test]
fn field_prefix_restricts_search_in_every_source() {
    let library = Library::with_item_per_source("Ada", "She tends the lamp.");
    library.import_file(
        "notes",
        "other.md",
        "---\ntags: [granite]\n---\n# Basalt\nAda tends stones.",
    );
    library.import_file("media", "other.txt", "Ada and the lamp");
    let server = library.serve();
    for query in ["name:ada", "title:Ada", "Title:\"ada\"", "name:ad*"] {
        assert_eq!(title_set(&titles(&server, query)), ["Ada"].into(), "{query}");
        assert_eq!(sources_with_hits(&server, query).len(), 5, "{query}");
    }
    assert!(titles(&server, "ada").contains(&"Basalt".to_owned()));
    for query in ["tags:granite", "tag:granite", "keywords:GRANITE", "tags:granite stones lamp"] {
        assert_eq!(titles(&server, query), ["Basalt"], "{query}");
    }
    assert_eq!(titles(&server, "title:basalt lamp"), ["Basalt"]);
    assert_eq!(titles(&server, "title:granite").len(), 0);
    assert_eq!(titles(&server, "text:stones"), ["Basalt"]);
    // An unknown field name is searched as a word.
    assert!(titles(&server, "about:stones").contains(&"Basalt".to_owned()));
}

#[test]
fn minus_excludes_words_and_phrases() {
    let server = Library::with_notes([
        ("rye", "Bread of rye."),
        ("wheat", "Bread of wheat."),
        ("both", "Bread of rye and wheat."),
        ("rye bread", "This is rye bread."),
    ])
    .serve();
    assert_eq!(title_set(&titles(&server, "bread -rye")), ["wheat"].into());
    assert_eq!(title_set(&titles(&server, "bread NOT rye NOT wheat")), BTreeSet::new());
    assert_eq!(title_set(&titles(&server, "bread -wheat")), ["rye", "rye bread"].into());
    assert_eq!(
        title_set(&titles(&server, "bread -\"rye bread\"")),
        ["rye", "wheat", "both"].into()
    );
    assert_eq!(title_set(&titles(&server, "\"of rye\" -wheat")), ["rye"].into());
    assert_eq!(title_set(&titles(&server, "bread - rye")).len(), 4);
}

#[test]
fn substring_found_in_scripts_without_spaces() {
    let notes = [
        ("japanese", "昨日、東京都庁舎の展望室へ行きました。カタカナもある。"),
        ("chinese", "我们在北京大学的图书馆里学习机器翻译。"),
        ("korean", "서울특별시청에서 도서관까지 걸어갔습니다."),
        ("thai", "ฉันกำลังเรียนภาษาไทยที่มหาวิทยาลัย"),
        ("decoy", "京の東、館の書図、시별특、ยไทาษา、訳翻、室望"),
    ];
    let server = Library::with_notes(notes).serve();
    for (title, parts) in [
        ("japanese", &["東京", "東京都", "都庁", "庁舎", "展望室", "行きました", "カタカナ"][..]),
        ("chinese", &["北京", "大学", "北京大学", "图书馆", "机器翻译", "学习"]),
        ("korean", &["서울", "특별시", "도서관", "도서관까지", "시청"]),
        ("thai", &["ภาษา", "ไทย", "ภาษาไทย", "เรียน", "มหาวิทยาลัย"]),
    ] {
        for part in parts {
            assert_eq!(titles(&server, part).first().map(String::as_str), Some(title), "{part}");
            assert_eq!(titles(&server, &format!("\"{part}\"")), [title], "{part}");
        }
    }
}

#[test]
fn german_question_ignores_stop_words() {
    let server = Library::with_notes([
        ("Brot", "Das Brot ruht, der Ofen ist heiß."),
        ("Wie", "Wie kann ich das nur, und wo ist es so? Ich weiß nicht, wie ich das kann."),
        ("Käse", "Der Käse reift im Keller."),
    ])
    .serve();
    assert_eq!(titles(&server, "Wie kann ich das Brot im Ofen backen?"), ["Brot"]);
    assert_eq!(titles(&server, "Wo ist der KASE, und wie ist er so?"), ["Käse"]);
    assert_eq!(titles(&server, "Wo ist der Ofen so heiss?"), ["Brot"]);
}

#[test]
fn typo_is_repaired_and_reported() {
    let server = serve_inflected_forms();
    for (typo, meant) in
        [("knaeding", "kneading"), ("kneding", "kneading"), ("knewding it", "kneading it")]
    {
        let answer = server.client().call_tool("knowledge.search", &json!({ "query": typo }));
        let found = answer["results"].as_array().unwrap();
        assert!(found.len() >= 4, "{typo}: {answer}");
        assert_eq!(answer["_meta"]["searched_for"], meant, "{typo}");
        assert_eq!(found[0]["score"], 0.5, "a repaired query says so in its scores");
    }
    let call = json!({ "name": "knowledge.search", "arguments": { "query": "knaeding" } });
    let result = server.client().call_method("tools/call", &call);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("searched for: kneading"), "{text}");
    let nothing = server.client().call_tool("knowledge.search", &json!({ "query": "zzyzxzz" }));
    assert_eq!(nothing["results"].as_array().map(Vec::len), Some(0));
}

#[test]
fn unknown_word_is_repaired_beside_known_ones() {
    let server = Library::with_notes([
        ("Sourdough", "The sourdough rests overnight."),
        ("Night", "The train leaves overnight."),
    ])
    .serve();
    let answer =
        server.client().call_tool("knowledge.search", &json!({ "query": "sourdouhg overnight" }));
    assert_eq!(answer["_meta"]["searched_for"], "sourdough overnight");
    assert_eq!(answer["results"][0]["title"], "Sourdough");
}

#[test]
fn spelling_mode_decides_about_unknown_words() {
    let server = serve_inflected_forms();
    let search =
        |tool: &str, arguments: serde_json::Value| server.client().call_tool(tool, &arguments);
    for answer in [
        search("notes.search", json!({ "query": "knaeding" })),
        search("knowledge.search", json!({ "query": "knaeding", "spelling": "suggest" })),
    ] {
        assert_eq!(answer["results"], json!([]), "{answer}");
        assert_eq!(answer["_meta"]["did_you_mean"], "kneading");
    }
    let off = search("knowledge.search", json!({ "query": "knaeding", "spelling": "off" }));
    assert_eq!((&off["results"], &off["_meta"]), (&json!([]), &serde_json::Value::Null), "{off}");
}

#[test]
fn names_numbers_and_quoted_words_are_not_replaced() {
    let server = Library::with_notes([
        ("Codes", "Error E1049 of NASA has a house in Berlin, says zanzibarcanary1u."),
        ("House", "The house that Jack has built."),
    ])
    .serve();
    for query in
        ["E1099", "\"hoose\"", "NASE", "the Berlyn wall", "zanzibarcanary2u", "Haus", "hsa"]
    {
        let answer = server.client().call_tool("knowledge.search", &json!({ "query": query }));
        assert!(answer["_meta"]["searched_for"].is_null(), "{query}: {answer}");
    }
}

#[test]
fn misspelled_german_noun_is_replaced() {
    let notes = [("Hymne", "Die Sängerin singt die Nationalhymne vor dem Spiel.")];
    let server = Library::with_notes(notes).serve();
    let search =
        |query: &str| server.client().call_tool("knowledge.search", &json!({ "query": query }));
    for query in ["Wer hat die Ntaionalhymne gesungen?", "Wo ist die Sägnerin?"] {
        let found = search(query);
        assert!(found["_meta"]["searched_for"].is_string(), "{query}: {found}");
        assert_eq!(found["results"][0]["title"], "Hymne", "{query}: {found}");
    }
    assert!(search("Wer hat die NATIOANLHYMNE gesungen?")["_meta"]["searched_for"].is_null());
}

#[test]
fn quoted_phrase_must_occur_in_short_query() {
    let server = Library::with_notes([
        ("Bread", "Rye is not bread, and the oven is hot."),
        ("Rye bread", "A rye bread."),
    ])
    .serve();
    let search =
        |query: &str| server.client().call_tool("knowledge.search", &json!({ "query": query }));
    let strict = search("\"rye bread\" oven");
    assert_eq!(strict["results"].as_array().unwrap().len(), 1, "{strict}");
    assert_eq!(strict["_meta"], json!({ "required": ["rye bread"] }));
    let question = "how long does a loaf of \"rye bread\" have to stay in the hot oven of mine";
    let found = search(question);
    assert_eq!(found["results"][0]["title"], "Rye bread", "{found}");
    assert_eq!(found["results"].as_array().unwrap().len(), 2, "the phrase need not occur");
}

#[test]
fn excluded_words_need_others() {
    let server = Library::with_notes([("Rye", "Rye and yeast."), ("Oat", "Oat and rye.")]).serve();
    for query in ["-yeast", "NOT yeast", "-\"rye and\""] {
        let error =
            server.client().expect_tool_error("knowledge.search", &json!({ "query": query }));
        assert!(error.contains("has only words to exclude"), "{query}: {error}");
    }
    assert_eq!(titles(&server, "rye NOT yeast"), ["Oat"]);
}

/// A word in other forms than those of the text, by language.
const NATIVE_QUERIES: [(&str, &str, &[&str]); 16] = [
    (
        "ru",
        "В библиотеке хранятся старые книги о путешествиях.",
        &["книга", "путешествие", "библиотека"],
    ),
    ("uk", "У нашому місті є дві великі школи та театри.", &["школа", "театр"]),
    ("el", "Οι άνθρωποι μένουν σε μεγάλες πόλεις.", &["άνθρωπος", "ανθρωπος", "ΑΝΘΡΩΠΟΙ"]),
    (
        "tr",
        "Kitaplarımızdan birini kaybettik ve gözlerimiz bu kadar yoruldu.",
        &["kitap", "KİTAPLAR", "göz"],
    ),
    ("ar", "قرأت الكتاب في المكتبة الكبيرة.", &["كتاب", "مكتبة", "كِتَاب"]),
    ("fa", "درخت‌های زیادی در باغ ما است.", &["درخت", "باغ"]),
    ("hi", "लड़कों ने किताबें पढ़ीं।", &["किताब", "लड़का"]),
    ("ro", "Cărțile vechi sunt în bibliotecă.", &["carte", "biblioteca", "bibliotecă"]),
    (
        "de",
        "Die Häuser am Fluss wurden verkauft, und nicht eine wird bleiben.",
        &["Haus", "hauser", "verkaufen"],
    ),
    (
        "fr",
        "Les chevaux étaient dans les prairies, pour une œuvre.",
        &["prairie", "oeuvre", "ETAIENT"],
    ),
    ("es", "Las ciudades españolas y los niños por una calle.", &["ciudad", "nino", "niño"]),
    ("fi", "Talossamme asui monta kissaa, mutta he olivat iloisia.", &["talo", "kissa"]),
    ("pl", "Książki leżą na półkach, ale łódź jest na wodzie.", &["książka", "lodz", "łódź"]),
    ("vi", "Có bao nhiêu con chó trong thành phố?", &["chó", "thành phố", "thanh pho"]),
    ("he", "הַסֵּפֶר נמצא בספרייה", &["הספר"]),
    (
        "sv",
        "Böckerna står i bokhyllan och inte på bordet, att läsa som vanligt.",
        &["böcker", "bokhylla"],
    ),
];

#[test]
fn native_queries_find_other_forms() {
    let notes = NATIVE_QUERIES.map(|(language, text, _)| (language, text));
    let server = Library::with_notes(notes).serve();
    let mut missed = Vec::new();
    for (language, _, queries) in NATIVE_QUERIES {
        for query in queries {
            let found = titles(&server, query);
            if found.first().map(String::as_str) != Some(language) {
                missed.push(format!("{language} {query}: {found:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn exact_word_ranks_above_its_forms() {
    let server = Library::with_notes([
        ("forms", "One kneads, and two are kneaded here."),
        ("exact", "One is kneading, and two are kneading."),
    ])
    .serve();
    assert_eq!(titles(&server, "kneading"), ["exact", "forms"]);
    assert_eq!(titles(&server, "kneads"), ["forms", "exact"]);
    assert_eq!(titles(&server, "\"kneading\""), ["exact"]);
}

/// Ways of writing a word; each finds all of a group.
const SPELLINGS: [&[&str]; 9] = [
    &["e-mail", "email", "E\u{2011}Mail", "emails"],
    &["U.S.A.", "USA", "usa"],
    &["12,500.00", "12500", "12'500", "12.500", "12\u{202f}500"],
    &["iPhone15", "iPhone 15", "iphone15", "iphone 15"],
    &["re-use", "reuse"],
    &["covid-19", "COVID19", "covid 19"],
    &["👍", "👍🏽"],
    &["👩", "👩🏽\u{200d}🔬"],
    &["❤", "❤️"],
];

#[test]
fn word_found_in_all_spellings() {
    let mut notes = vec![("other".to_owned(), "Nothing of the kind.".to_owned())];
    for (group, spellings) in SPELLINGS.iter().enumerate() {
        for (place, written) in spellings.iter().enumerate() {
            notes.push((format!("{group} {place}"), format!("They said {written} then.")));
        }
    }
    let server = Library::with_notes(notes).serve();
    for (group, spellings) in SPELLINGS.iter().enumerate() {
        let expected: Vec<String> =
            (0..spellings.len()).map(|place| format!("{group} {place}")).collect();
        for query in *spellings {
            let found = titles(&server, query);
            let first = title_set(&found[..spellings.len().min(found.len())]);
            assert_eq!(first, title_set(&expected), "{query}: {found:?}");
            let excluded = titles(&server, &format!("said -{query}"));
            let left = expected.iter().filter(|title| excluded.contains(title)).count();
            let is_one_word = !query.contains([' ', '\u{200d}']);
            assert!(!is_one_word || left == 0, "{query}: {excluded:?}");
        }
    }
    assert_eq!(title_set(&titles(&server, "🔬")), BTreeSet::from(["7 1"]));
}

#[test]
fn spelling_is_highlighted_as_written() {
    let texts =
        [("e-mail", "An e-mail."), ("usa", "In the U.S.A. now."), ("cook", "A 👩🏽\u{200d}🍳!")];
    let server = Library::with_notes(texts).serve();
    for (query, written) in [("email", "e-mail"), ("USA", "U.S.A"), ("👩", "👩🏽\u{200d}🍳")]
    {
        let arguments = json!({ "query": query, "highlight": true });
        let hit = server.client().only_hit("notes.search", &arguments);
        let snippet: Vec<char> = hit["snippet"].as_str().unwrap().chars().collect();
        let place = &hit["highlights"][0];
        let end = |name: &str| usize::try_from(place[name].as_u64().unwrap()).unwrap();
        let shown: String = snippet[end("start")..end("end")].iter().collect();
        assert_eq!(shown, written, "{hit}");
    }
}

#[test]
fn phrases_around_spellings_match() {
    let server = Library::with_notes([
        ("joined", "Send 12,500 emails to the U.S.A. by iPhone15 today."),
        ("apart", "Send e-mail. Today the U.S. and A. had 12 of 500."),
    ])
    .serve();
    for query in ["\"emails to the U.S.A. by\"", "\"iPhone 15 today\"", "\"12,500 emails\""] {
        assert_eq!(titles(&server, query), ["joined"], "{query}");
    }
    assert_eq!(titles(&server, "12500"), ["joined"]);
    assert_eq!(titles(&server, "title:usa"), Vec::<String>::new());
}
