//! Real text: the files of a folder, split into passages at paragraphs.

use std::{
    collections::{HashSet, VecDeque},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use walkdir::WalkDir;

use super::{PASSAGE_CHARS, Passage, Passages, SeededRng, markup};

/// Extensions of the files read.
const EXTENSIONS: [&str; 6] = ["md", "txt", "rst", "html", "htm", "rs"];
/// Maximum size of a file, in bytes. Larger files are data rather than text.
const MAX_FILE_BYTES: u64 = 4 * 1_024 * 1_024;

/// Splits the files of a folder into parts of equal size. Neighbouring files are in the same part,
/// so the parts differ in content; files are shuffled within a part, so any beginning of it is
/// representative.
pub(crate) fn split_folder(folder: &Path, count: usize) -> Result<Vec<Passages>> {
    let files = list_files(folder)?;
    anyhow::ensure!(!files.is_empty(), "no text in {}", folder.display());
    let total: u64 = files.iter().map(|(_, size)| size).sum();
    let share = total / count.max(1) as u64 + 1;
    let mut parts: Vec<Vec<PathBuf>> = vec![Vec::new(); count];
    let mut before = 0;
    for (path, size) in files {
        let part = usize::try_from(before / share).unwrap_or(0);
        if let Some(part) = parts.get_mut(part) {
            part.push(path);
        }
        before += size;
    }
    Ok(parts.into_iter().map(|files| Box::new(FolderPassages::new(files)) as Passages).collect())
}

/// Lists the text files below a folder by name, with their sizes in bytes.
fn list_files(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.context("cannot walk the folder of texts")?;
        let known = entry.path().extension().and_then(|it| it.to_str());
        if !entry.file_type().is_file() || !known.is_some_and(|it| EXTENSIONS.contains(&it)) {
            continue;
        }
        let size = entry.metadata().context("cannot read the size of a file")?.len();
        if size <= MAX_FILE_BYTES {
            files.push((entry.into_path(), size));
        }
    }
    Ok(files)
}

/// Reads files one after the other. Repeated passages, such as licence headers, are skipped.
#[derive(Debug)]
struct FolderPassages {
    files: VecDeque<PathBuf>,
    ready: VecDeque<Passage>,
    seen_hashes: HashSet<u64>,
}

impl FolderPassages {
    fn new(mut files: Vec<PathBuf>) -> Self {
        SeededRng::new(files.len()).shuffle(&mut files);
        Self { files: files.into(), ready: VecDeque::new(), seen_hashes: HashSet::new() }
    }

    fn is_new(&mut self, passage: &Passage) -> bool {
        let mut hasher = DefaultHasher::new();
        passage.body.hash(&mut hasher);
        self.seen_hashes.insert(hasher.finish())
    }
}

impl Iterator for FolderPassages {
    type Item = Passage;

    fn next(&mut self) -> Option<Passage> {
        loop {
            while let Some(passage) = self.ready.pop_front() {
                if self.is_new(&passage) {
                    return Some(passage);
                }
            }
            let path = self.files.pop_front()?;
            // Files that are not UTF-8 are skipped.
            if let Ok(text) = fs::read_to_string(&path) {
                self.ready.extend(split_into_passages(&path, &text));
            }
        }
    }
}

/// Splits a file into passages of whole paragraphs. The title is the last heading, or the file name
/// before the first heading.
fn split_into_passages(path: &Path, text: &str) -> Vec<Passage> {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let text = match extension {
        "html" | "htm" => markup::html_to_text(text),
        "rs" => markup::rust_doc_text(text),
        _ => text.to_owned(),
    };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().replace(['_', '-', '.'], " "));
    let mut title = stem.unwrap_or_default();
    let (mut found, mut body) = (Vec::new(), String::new());
    for paragraph in text.split("\n\n").flat_map(split_paragraph) {
        if let Some(heading) = paragraph.strip_prefix('#') {
            push_passage(&title, &mut body, &mut found);
            let heading = heading.trim_start_matches('#').lines().next().unwrap_or_default();
            heading.trim().clone_into(&mut title);
        }
        if !body.is_empty() && body.len() + paragraph.len() > PASSAGE_CHARS * 3 / 2 {
            push_passage(&title, &mut body, &mut found);
        }
        body.push_str(paragraph);
        body.push_str("\n\n");
        if body.len() >= PASSAGE_CHARS {
            push_passage(&title, &mut body, &mut found);
        }
    }
    push_passage(&title, &mut body, &mut found);
    found
}

/// Appends the collected text as a passage, unless it is very short.
fn push_passage(title: &str, body: &mut String, found: &mut Vec<Passage>) {
    let text = body.trim();
    if text.len() > PASSAGE_CHARS / 5 {
        found.push(Passage { title: title.to_owned(), body: text.to_owned() });
    }
    body.clear();
}

/// Splits a paragraph that is longer than a passage at spaces.
fn split_paragraph(paragraph: &str) -> impl Iterator<Item = &str> {
    let mut rest = paragraph.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = if rest.len() > PASSAGE_CHARS * 3 / 2 {
            let near = rest.floor_char_boundary(PASSAGE_CHARS);
            let space = rest.get(..near)?.rfind([' ', '\n']).filter(|at| *at > 0);
            space.unwrap_or(near)
        } else {
            rest.len()
        };
        let (piece, more) = rest.split_at(end);
        rest = more.trim_start();
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_split_at_paragraphs_under_headings() {
        let paragraph = "It rains on the hills. ".repeat(30);
        let text = format!("{paragraph}\n\n# Weather\n\n{paragraph}\n\n{paragraph}\n\nshort");
        let found = split_into_passages(Path::new("a_day.md"), &text);
        let titles: Vec<&str> = found.iter().map(|passage| passage.title.as_str()).collect();
        assert_eq!(titles, ["a day", "Weather"]);
        assert!(found[1].body.starts_with("# Weather") && found[1].body.len() > PASSAGE_CHARS);
    }

    #[test]
    fn long_paragraph_is_split_between_words() {
        let text = "ß word ".repeat(1_000);
        let found = split_into_passages(Path::new("long.txt"), &text);
        assert!(found.len() >= 7 && found.iter().all(|it| it.body.len() <= PASSAGE_CHARS * 3 / 2));
    }
}
