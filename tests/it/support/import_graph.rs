//! The imports between the files of a crate: which file uses a name that another one defines.
//!
//! Paths are resolved through `use` and `pub use` to the file that defines the name, so that a
//! facade such as `lib.rs` is no part of a circle. Unit tests do not count. The scan reads tokens, no
//! types: a method call is no import.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Path of a module within its crate.
type ModulePath = Vec<String>;

/// Names that a file brings into scope.
type Imports = Vec<Import>;

/// A name that a file brings into scope.
#[derive(Clone, Debug)]
struct Import {
    /// The path that it stands for.
    path: Vec<String>,
    name: String,
    /// The file only hands the name on.
    is_public: bool,
}

/// Maximum number of `use` that are followed to a definition.
const MAX_HOPS: usize = 12;

/// The files of a crate and their imports.
#[derive(Debug)]
pub(crate) struct ImportGraph {
    modules: BTreeMap<ModulePath, Module>,
}

#[derive(Debug)]
struct Module {
    file: String,
    imports: Imports,
    definitions: BTreeSet<String>,
    /// Code without comments, texts, `use` and unit tests.
    code: String,
}

impl ImportGraph {
    /// Reads the files below `folder`, which holds `lib.rs`.
    pub(crate) fn read(folder: &str) -> Self {
        let base = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut modules = BTreeMap::new();
        let mut folders = vec![base.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|it| it == "rs") {
                    let inside = path.strip_prefix(&base).unwrap();
                    modules.insert(module_path(inside), Module::read(&path));
                }
            }
        }
        Self { modules }
    }

    /// Returns the groups of two or more files that import each other, directly or not.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let edges: BTreeMap<&ModulePath, BTreeSet<&ModulePath>> =
            self.modules.iter().map(|(path, module)| (path, self.targets(path, module))).collect();
        let reached = |from| {
            let (mut open, mut seen) = (vec![from], BTreeSet::new());
            while let Some(next) = open.pop() {
                open.extend(edges[next].iter().copied().filter(|target| seen.insert(*target)));
            }
            seen
        };
        let all: BTreeMap<_, BTreeSet<_>> =
            edges.keys().map(|path| (*path, reached(path))).collect();
        let mut circles = BTreeSet::new();
        for (path, seen) in &all {
            if seen.contains(path) {
                let mutual = seen.iter().filter(|other| all[*other].contains(path));
                let files = mutual.map(|other| self.modules[*other].file.clone());
                circles.insert(files.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
            }
        }
        circles.into_iter().collect()
    }

    /// Returns the other modules that a module imports from.
    fn targets<'g>(&'g self, path: &ModulePath, module: &'g Module) -> BTreeSet<&'g ModulePath> {
        let own = module.imports.iter().filter(|import| !import.is_public);
        let used = own.map(|import| import.path.clone());
        let inline = paths_in(&module.code).into_iter().map(|path| {
            let first = path.first().cloned().unwrap_or_default();
            match module.imports.iter().find(|import| import.name == first) {
                Some(import) => import.path.iter().chain(path.iter().skip(1)).cloned().collect(),
                None => path,
            }
        });
        let all = used.chain(inline);
        let found = all.filter_map(|used| self.resolve(path, &used, MAX_HOPS));
        found.filter(|target| *target != path).collect()
    }

    /// Returns the module that defines the name of a path, as seen from a module.
    fn resolve<'g>(
        &'g self,
        from: &ModulePath,
        path: &[String],
        hops: usize,
    ) -> Option<&'g ModulePath> {
        let (mut at, mut rest) = self.start(from, path)?;
        while let Some((name, after)) = rest.split_first() {
            let inner: ModulePath = at.iter().chain([name]).cloned().collect();
            let module = self.modules.get(&at)?;
            if self.modules.contains_key(&inner) {
                (at, rest) = (inner, after);
                continue;
            }
            if module.definitions.contains(name) {
                break;
            }
            let hops = hops.checked_sub(1)?;
            if let Some(import) = module.imports.iter().find(|import| import.name == *name) {
                let next: Vec<String> = import.path.iter().chain(after).cloned().collect();
                return self.resolve(&at, &next, hops);
            }
            break;
        }
        self.modules.get_key_value(&at).map(|(path, _)| path)
    }

    /// Returns the module at which a path begins, and the rest of the path.
    fn start<'p>(
        &self,
        from: &ModulePath,
        path: &'p [String],
    ) -> Option<(ModulePath, &'p [String])> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some((Vec::new(), rest)),
            "self" => Some((from.clone(), rest)),
            "super" => {
                let up = path.iter().take_while(|part| *part == "super").count();
                let kept = from.len().checked_sub(up)?;
                Some((from[..kept].to_vec(), &path[up..]))
            }
            name => {
                let inner: ModulePath = from.iter().cloned().chain([name.to_owned()]).collect();
                self.modules.contains_key(&inner).then_some((inner, rest))
            }
        }
    }
}

impl Module {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let (imports, code) = take_imports(&plain_code(&text));
        let file = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
        Self {
            file: file.to_str().unwrap().to_owned(),
            imports,
            definitions: definitions_in(&code),
            code,
        }
    }
}

/// Returns the path of the module of a file.
fn module_path(file: &Path) -> ModulePath {
    let mut path: ModulePath = file
        .with_extension("")
        .iter()
        .map(|part| part.to_str().unwrap().to_owned())
        .collect::<Vec<_>>();
    if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        path.pop();
    }
    path
}

/// Returns the code without comments, texts and unit tests.
fn plain_code(text: &str) -> String {
    let tests = ["\n#[cfg(test)]\nmod tests {", "\n#[cfg(test)]\npub(crate) mod tests {"];
    let end = tests.iter().filter_map(|begin| text.find(begin)).min().unwrap_or(text.len());
    let mut code = String::new();
    let mut rest = &text[..end];
    while let Some(letter) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(raw) = rest.strip_prefix("r#\"") {
            raw.find("\"#").map_or(rest.len(), |at| at + 5)
        } else if letter == '"' {
            text_length(rest)
        } else if letter == '\'' {
            char_length(rest)
        } else {
            0
        };
        if skipped == 0 {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
        } else {
            rest = &rest[skipped..];
        }
    }
    code
}

/// Returns the length of the text literal at the beginning.
fn text_length(code: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in code.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns the length of the character literal at the beginning, or 0 for a lifetime.
fn char_length(code: &str) -> usize {
    let letters: Vec<(usize, char)> = code.char_indices().take(12).collect();
    match letters.as_slice() {
        [_, (_, '\\'), _, rest @ ..] => {
            rest.iter().find(|(_, letter)| *letter == '\'').map_or(0, |(at, _)| at + 1)
        }
        [_, _, (at, '\''), ..] => at + 1,
        _ => 0,
    }
}

/// Takes the `use` declarations out of code.
fn take_imports(code: &str) -> (Imports, String) {
    let (mut imports, mut kept) = (Imports::new(), String::new());
    let mut rest = code;
    while let Some(at) = find_use(rest) {
        let Some(length) = rest[at..].find(';') else { break };
        kept.push_str(&rest[..at]);
        let is_public = is_declared_public(&rest[..at]);
        let mut leaves = Vec::new();
        add_leaves(&[], rest[at + 4..at + length].trim(), &mut leaves);
        imports.extend(leaves.into_iter().map(|(path, name)| Import { path, name, is_public }));
        rest = &rest[at + length + 1..];
    }
    kept.push_str(rest);
    (imports, kept)
}

/// Returns the position of the next `use` at the beginning of a declaration.
fn find_use(code: &str) -> Option<usize> {
    code.match_indices("use ").map(|(at, _)| at).find(|at| {
        let line = code[..*at].rsplit('\n').next().unwrap_or_default().trim();
        line.is_empty() || (line.starts_with("pub") && !line.contains(['{', ';', '=']))
    })
}

/// Returns whether code ends with `pub`, with or without a restriction.
fn is_declared_public(before: &str) -> bool {
    before.rsplit('\n').next().unwrap_or_default().trim_start().starts_with("pub")
}

/// Adds the names of a tree of imports, each with its path.
fn add_leaves(prefix: &[String], tree: &str, leaves: &mut Vec<(Vec<String>, String)>) {
    let part = |text: &str| text.trim().to_owned();
    if let Some((before, list)) = tree.split_once('{') {
        let outer: Vec<String> = prefix
            .iter()
            .cloned()
            .chain(before.split("::").map(part).filter(|name| !name.is_empty()))
            .collect();
        let list = list.rsplit_once('}').map_or(list, |(list, _)| list);
        for item in split_list(list) {
            add_leaves(&outer, item.trim(), leaves);
        }
        return;
    }
    let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(p, a)| (p, Some(part(a))));
    let mut full: Vec<String> = prefix.iter().cloned().chain(path.split("::").map(part)).collect();
    if full.last().is_some_and(|last| last == "self") && full.len() > 1 {
        full.pop();
    }
    if let Some(last) = full.last().filter(|last| !last.is_empty() && *last != "*").cloned() {
        leaves.push((full, alias.unwrap_or(last)));
    }
}

/// Splits a list at the commas that are in no braces.
fn split_list(list: &str) -> Vec<&str> {
    let (mut items, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[begin..]);
    items
}

/// Returns the names that code defines.
fn definitions_in(code: &str) -> BTreeSet<String> {
    let keywords =
        ["fn", "struct", "enum", "trait", "const", "static", "type", "union", "macro_rules!"];
    let words: Vec<&str> = code.split_whitespace().collect();
    let name = |word: &str| -> String {
        word.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect()
    };
    let pairs = words.windows(2).filter(|pair| keywords.contains(&pair[0]));
    pairs.map(|pair| name(pair[1])).filter(|name| !name.is_empty()).collect()
}

/// Returns the paths with `::` in code.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = code.split(|letter| !is_part(letter)).filter(|word| word.contains("::"));
    words
        .map(|word| {
            word.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>()
        })
        .filter(|path| path.len() > 1)
        .collect()
}

#[test]
fn graph_finds_circles_through_facades() {
    let folder = tempfile::tempdir().unwrap();
    let source = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    source("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use a::A;\npub use c::{C, X as Y};\n");
    source(
        "a.rs",
        "use super::{b::B, d};\npub struct A;\nfn f() -> char { '\"' }\nfn g() { d::e(); }",
    );
    source("b.rs", "pub struct B;\nfn b() { let text = \"crate::d::D\"; crate::Y::new(); }");
    source("c.rs", "use crate::A; // crate::d::e\npub struct C;\npub struct X;\n");
    source("d.rs", "pub fn e() {}\n#[cfg(test)]\nmod tests {\n    use crate::A;\n}\n");
    let mut modules = BTreeMap::new();
    for name in ["lib.rs", "a.rs", "b.rs", "c.rs", "d.rs"] {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        let (imports, code) = take_imports(&plain_code(&text));
        let module =
            Module { file: name.to_owned(), imports, definitions: definitions_in(&code), code };
        modules.insert(module_path(&PathBuf::from(name)), module);
    }
    let circles = ImportGraph { modules }.circles();
    assert_eq!(circles, [["a.rs", "b.rs", "c.rs"].map(str::to_owned).to_vec()]);
}
