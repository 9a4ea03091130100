//! Real text: the files of a folder, cut into passages at paragraphs.

use std::{
    collections::{HashSet, VecDeque},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use walkdir::WalkDir;

use super::{Die, LENGTH, Passage, Passages, markup};

/// The files that are read.
const EXTENSIONS: [&str; 6] = ["md", "txt", "rst", "html", "htm", "rs"];
/// Files beyond this are data rather than text.
const LONGEST_FILE: u64 = 4 * 1_024 * 1_024;

/// So many parts of equal size. Neighbouring files are in the same part, so
/// that parts differ; inside a part, files come in any order, so that its
/// beginning is like the whole of it.
pub(crate) fn parts(folder: &Path, count: usize) -> Result<Vec<Passages>> {
    let files = files(folder)?;
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
    Ok(parts.into_iter().map(|files| Box::new(Reading::new(files)) as Passages).collect())
}

/// Text files below a folder in order of their names, with their sizes.
fn files(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.context("cannot walk the folder of texts")?;
        let known = entry.path().extension().and_then(|it| it.to_str());
        if !entry.file_type().is_file() || !known.is_some_and(|it| EXTENSIONS.contains(&it)) {
            continue;
        }
        let size = entry.metadata().context("cannot read the size of a file")?.len();
        if size <= LONGEST_FILE {
            files.push((entry.into_path(), size));
        }
    }
    Ok(files)
}

/// Files that are read one after the other. What was there before, such as
/// the licence that every folder holds, is left out.
#[derive(Debug)]
struct Reading {
    files: VecDeque<PathBuf>,
    ready: VecDeque<Passage>,
    known: HashSet<u64>,
}

impl Reading {
    fn new(mut files: Vec<PathBuf>) -> Self {
        Die::new(files.len()).shuffle(&mut files);
        Self { files: files.into(), ready: VecDeque::new(), known: HashSet::new() }
    }

    fn is_new(&mut self, passage: &Passage) -> bool {
        let mut hasher = DefaultHasher::new();
        passage.body.hash(&mut hasher);
        self.known.insert(hasher.finish())
    }
}

impl Iterator for Reading {
    type Item = Passage;

    fn next(&mut self) -> Option<Passage> {
        loop {
            while let Some(passage) = self.ready.pop_front() {
                if self.is_new(&passage) {
                    return Some(passage);
                }
            }
            let path = self.files.pop_front()?;
            // What is not UTF-8 is not text.
            if let Ok(text) = fs::read_to_string(&path) {
                self.ready.extend(passages(&path, &text));
            }
        }
    }
}

/// The passages of a file: whole paragraphs, until they are long enough. The
/// last heading is the title; before the first it is the name of the file.
fn passages(path: &Path, text: &str) -> Vec<Passage> {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let text = match extension {
        "html" | "htm" => markup::of_html(text),
        "rs" => markup::of_rust(text),
        _ => text.to_owned(),
    };
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().replace(['_', '-', '.'], " "));
    let mut title = stem.unwrap_or_default();
    let (mut found, mut body) = (Vec::new(), String::new());
    for paragraph in text.split("\n\n").flat_map(pieces) {
        if let Some(heading) = paragraph.strip_prefix('#') {
            take(&title, &mut body, &mut found);
            let heading = heading.trim_start_matches('#').lines().next().unwrap_or_default();
            heading.trim().clone_into(&mut title);
        }
        if !body.is_empty() && body.len() + paragraph.len() > LENGTH * 3 / 2 {
            take(&title, &mut body, &mut found);
        }
        body.push_str(paragraph);
        body.push_str("\n\n");
        if body.len() >= LENGTH {
            take(&title, &mut body, &mut found);
        }
    }
    take(&title, &mut body, &mut found);
    found
}

/// Makes a passage of what was collected, unless it is next to nothing.
fn take(title: &str, body: &mut String, found: &mut Vec<Passage>) {
    let text = body.trim();
    if text.len() > LENGTH / 5 {
        found.push(Passage { title: title.to_owned(), body: text.to_owned() });
    }
    body.clear();
}

/// A paragraph, or what fits into a passage of one that is too long.
fn pieces(paragraph: &str) -> impl Iterator<Item = &str> {
    let mut rest = paragraph.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = if rest.len() > LENGTH * 3 / 2 {
            let near = rest.floor_char_boundary(LENGTH);
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
    fn a_file_is_cut_at_paragraphs_under_its_headings() {
        let paragraph = "It rains on the hills. ".repeat(30);
        let text = format!("{paragraph}\n\n# Weather\n\n{paragraph}\n\n{paragraph}\n\nshort");
        let found = passages(Path::new("a_day.md"), &text);
        let titles: Vec<&str> = found.iter().map(|passage| passage.title.as_str()).collect();
        assert_eq!(titles, ["a day", "Weather"]);
        assert!(found[1].body.starts_with("# Weather") && found[1].body.len() > LENGTH);
    }

    #[test]
    fn a_paragraph_without_end_is_cut_between_words() {
        let text = "ß word ".repeat(1_000);
        let found = passages(Path::new("long.txt"), &text);
        assert!(found.len() >= 7 && found.iter().all(|it| it.body.len() <= LENGTH * 3 / 2));
    }
}
