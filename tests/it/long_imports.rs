//! Imports that end before all is read: long documents are read on by the next import, and one that Ctrl-C ends
//! keeps what was read.

use std::{fmt::Write as _, time::Duration};

use serde_json::{Value, json};
use vademecum_model::Deadline;
use vademecum_store::{Database, Durability};

use crate::support::Library;

/// Number of pages of the long document.
const PAGES: usize = 80;
/// Maximum number of imports until it is read.
const MAX_IMPORTS: usize = 60;

/// Returns a PDF with many pages of text, each with a word of its own.
fn long_pdf() -> Vec<u8> {
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        String::new(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>".to_owned(),
    ];
    let mut kids = String::new();
    for page in 1..=PAGES {
        let number = objects.len() + 1;
        write!(kids, "{number} 0 R ").unwrap();
        objects.push(format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {} 0 R\
             /Resources<</Font<</F1 3 0 R>>>>>>",
            number + 1
        ));
        let lines = (0..60).fold(String::new(), |mut lines, line| {
            let text = "Knead the dough of rye and let it rest until it has risen twice";
            write!(lines, "({text}, {line}.) Tj 0 -12 Td ").unwrap();
            lines
        });
        let shown = format!("BT /F1 9 Tf 72 800 Td (Thimble{page}.) Tj 0 -12 Td {lines}ET");
        objects.push(format!("<</Length {}>>stream\n{shown}\nendstream", shown.len()));
    }
    objects[1] = format!("<</Type/Pages/Kids[{kids}]/Count {PAGES}>>");
    let mut file = "%PDF-1.4\n".to_owned();
    let mut offsets = String::new();
    for (number, object) in (1..).zip(&objects) {
        writeln!(offsets, "{:010} 00000 n ", file.len()).unwrap();
        write!(file, "{number} 0 obj\n{object}\nendobj\n").unwrap();
    }
    let (start, size) = (file.len(), objects.len() + 1);
    write!(
        file,
        "xref\n0 {size}\n0000000000 65535 f \n{offsets}trailer\n\
         <</Size {size}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n"
    )
    .unwrap();
    file.into_bytes()
}

/// Returns the text of the only document.
fn read_document(library: &Library) -> String {
    let store = library.store(Database::Media);
    let deadline = Deadline::after(Duration::from_mins(1));
    let read = store.read(deadline, |reader| {
        reader.query_one("SELECT content FROM Media", &[], |row| row.get("content"))
    });
    read.unwrap()
}

#[test]
fn long_document_is_read_on_by_each_import() {
    let library = Library::new();
    library.write_file("books/long.pdf", long_pdf());
    let limits = library.write_file("limits.toml", "[import]\nfile_seconds = 1\n");
    let folder = library.file_path("books");
    let arguments =
        ["import", "--json", folder.to_str().unwrap(), "--config", limits.to_str().unwrap()];
    let mut read_pages = Vec::new();
    let mut last = Value::Null;
    for round in 0..MAX_IMPORTS {
        let done = library.run(&arguments);
        assert_eq!(done.code, 0, "{done:?}");
        last = done.parse_json();
        let counts = ["new", "updated", "unchanged"].map(|name| last[name].as_u64().unwrap());
        assert_eq!(counts.iter().sum::<u64>(), 1, "{last}");
        assert_eq!(counts[0] == 1, round == 0, "{last}");
        let Some(left_out) = last["skipped"].get(0) else { break };
        assert_eq!(left_out["partial"], true, "{last}");
        assert!(left_out["reason"].as_str().unwrap().contains("import it again"), "{last}");
        let place = left_out["place"].as_str().unwrap();
        read_pages.push(place.split(' ').nth(1).unwrap().parse::<usize>().unwrap());
    }
    assert_eq!(last["skipped"], json!([]), "{read_pages:?}");
    assert!(!read_pages.is_empty() && read_pages.is_sorted(), "{read_pages:?}");
    let text = read_document(&library);
    let words = text.split(|sign: char| !sign.is_alphanumeric());
    let pages: Vec<&str> = words.filter_map(|word| word.strip_prefix("Thimble")).collect();
    let expected: Vec<String> = (1..=PAGES).map(|page| page.to_string()).collect();
    assert_eq!(pages, expected, "each page once, in order");
    let again = library.run(&arguments).parse_json();
    assert_eq!((&again["unchanged"], &again["bytes"]), (&json!(1), &json!(0)), "{again}");
    let found = library.run(&["search", "thimble80", "--json"]).parse_json();
    assert_eq!(found["total_estimated"], 1, "{found}");
    // Read again under another name, it is cut again, and keeps its text.
    std::fs::rename(folder.join("long.pdf"), folder.join("renamed.pdf")).unwrap();
    for round in 0..MAX_IMPORTS {
        let renamed = library.run(&arguments).parse_json();
        assert!(read_document(&library) == text, "round {round}: {renamed}");
        assert_eq!((&renamed["new"], &renamed["missing"]), (&json!(0), &json!([])), "{renamed}");
        if renamed["skipped"].get(0).is_none() {
            assert!(round > 0, "{renamed}");
            return;
        }
    }
    panic!("it is never read to its end again");
}

#[test]
fn file_that_changes_while_it_is_read_on_keeps_its_items() {
    let library = Library::new();
    let path = library.write_file("books/long.pdf", long_pdf());
    let limits = library.write_file("limits.toml", "[import]\nfile_seconds = 1\n");
    let arguments =
        ["import", "--json", path.to_str().unwrap(), "--config", limits.to_str().unwrap()];
    let first = library.run(&arguments).parse_json();
    assert_eq!(first["skipped"][0]["partial"], true, "{first}");
    let text = read_document(&library);
    // The pages before are those of another content.
    let ledger = library.store(Database::Imports);
    let sql = "UPDATE partial_documents SET digest = 'other'";
    ledger.write(Durability::Full, |writer| writer.execute(sql, &[]).map(drop)).unwrap();
    drop(ledger);
    let second = library.run(&arguments).parse_json();
    let reason = second["skipped"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("has changed while it was read"), "{second}");
    assert_eq!(second["skipped"][0]["partial"], true, "its pages are in the library: {second}");
    let third = library.run(&arguments).parse_json();
    assert_eq!(third["new"], 0, "{third}");
    assert!(read_document(&library).len() >= text.len(), "{third}");
}

#[cfg(unix)]
#[test]
fn interrupted_import_keeps_what_was_read() {
    use std::process::{Command, Stdio};

    use crate::support::vademecum_command;

    let library = Library::new();
    for number in 0..40 {
        let text = format!("Note {number} about thimbles.");
        library.write_file(&format!("in/{number}.md"), text);
    }
    // It is read last, and takes longer than the test waits.
    let attributes = (0..400_000).fold(String::new(), |mut text, number| {
        write!(text, " a{number}=1").unwrap();
        text
    });
    let page = format!("<!doctype html><html><body><p{attributes}>Text.</p></body></html>");
    library.write_file("in/slow.html", page);
    let limits = library.write_file("limits.toml", "[import]\nfile_seconds = 600\n");
    let folder = library.file_path("in");
    let mut process = vademecum_command()
        .args(["import", folder.to_str().unwrap(), "--config", limits.to_str().unwrap()])
        .args(["--data", library.data_folder().to_str().unwrap()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The folders of the user are created when the import has begun.
    while !library.data_folder().join("users/local/chacha.db").exists()
        && process.try_wait().unwrap().is_none()
    {
        std::thread::yield_now();
    }
    let killed = Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let done = process.wait_with_output().unwrap();
    let errors = String::from_utf8(done.stderr).unwrap();
    assert_eq!(done.status.code(), Some(130), "{errors}");
    assert!(errors.contains("not read; what was read before is kept"), "{errors}");
    assert!(errors.contains("Run the same command again to go on"), "{errors}");
    std::fs::remove_file(library.file_path("in/slow.html")).unwrap();
    let done = library.run(&["import", "--json", folder.to_str().unwrap()]);
    let summary = done.parse_json();
    assert_eq!(summary["left"], 0, "{summary}");
    let found = library.run(&["search", "thimbles", "--json"]).parse_json();
    assert_eq!(found["total_estimated"], 40, "{summary}");
}
