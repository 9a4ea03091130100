//! Resolution of links as the programs that wrote them do it.

use std::collections::HashMap;

use vademecum_model::Uri;

use super::{
    LinkKey, LinkKind, LinkName, NameKind, StoredLink, StoredName,
    key::{name_key, normalize_page, normalize_path},
};

/// The file and the space of an item that contains links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkPlace {
    /// Path of the file; empty without one.
    pub(super) path: String,
    /// Folder or file in which its links are resolved; empty for an item written in the library.
    pub(super) space: String,
}

impl LinkPlace {
    /// Returns the length of the space if the path begins with it, so that it need not be stored.
    pub(super) fn space_length(&self) -> Option<i64> {
        let is_beginning = !self.space.is_empty() && self.path.starts_with(&self.space);
        is_beginning.then(|| i64::try_from(self.space.len()).ok()).flatten()
    }
}

/// Names by their keys, among which links are resolved.
#[derive(Clone, Debug, Default)]
pub struct LinkResolver {
    names: HashMap<LinkKey, Vec<StoredName>>,
    link_places: HashMap<Uri, LinkPlace>,
}

impl LinkResolver {
    /// Creates a resolver. `names` are those with the keys of the links, `link_places` the places of the
    /// items that contain the links.
    pub fn new(
        names: impl IntoIterator<Item = StoredName>,
        link_places: HashMap<Uri, LinkPlace>,
    ) -> Self {
        let mut resolver = Self { names: HashMap::new(), link_places };
        for candidate in names {
            resolver.names.entry(candidate.name.key).or_default().push(candidate);
        }
        resolver
    }

    /// Returns the place of an item that contains links.
    pub fn place_of(&self, item: &Uri) -> LinkPlace {
        self.link_places.get(item).cloned().unwrap_or_default()
    }

    /// Returns the item to which a link leads, if there is one.
    pub fn resolve<'a>(&'a self, link: &'a StoredLink) -> Option<&'a Uri> {
        if link.link.target.is_empty() && link.link.kind != LinkKind::Address {
            return Some(&link.from);
        }
        let place = self.place_of(&link.from);
        let candidates = self.names.get(&link.link.key)?;
        let target = Target::new(link, &place);
        // The front matter of a note may name its own address.
        let is_own = |it: &&StoredName| link.link.kind == LinkKind::Address && it.uri == link.from;
        let candidates = candidates.iter().filter(|it| !is_own(it));
        let ranked = candidates.filter_map(|it| Some((target.rank(&it.name, &place)?, it)));
        let best = ranked.min_by(|(one, first), (other, second)| {
            one.cmp(other).then_with(|| first.uri.cmp(&second.uri))
        });
        best.map(|(_, it)| &it.uri)
    }
}

/// Files that are no items, by the keys of their names.
#[derive(Clone, Debug, Default)]
pub struct FilePaths(HashMap<LinkKey, Vec<String>>);

impl FromIterator<String> for FilePaths {
    fn from_iter<T: IntoIterator<Item = String>>(paths: T) -> Self {
        let mut files = Self::default();
        for path in paths {
            let key = LinkKey::of(&name_key(&normalize_path(&path)));
            files.0.entry(key).or_default().push(path);
        }
        files
    }
}

impl FilePaths {
    /// Returns the file to which a link leads, as its path below the folder of the graph. `None` for a link
    /// of an item without a file.
    pub fn resolve(&self, link: &StoredLink, place: &LinkPlace) -> Option<&str> {
        if place.space.is_empty() {
            return None;
        }
        let target = Target::new(link, place);
        let candidates = self.0.get(&target.key)?.iter().filter_map(|path| {
            let normal = normalize_path(path);
            let is_candidate = is_below(&normal, &place.space);
            let name = LinkName {
                kind: NameKind::File,
                key: target.key,
                name: target.key,
                path: normal,
                space: place.space.clone(),
            };
            let (step, is_outside, length, _) =
                target.rank(&name, place).filter(|_| is_candidate)?;
            Some(((step, is_outside, length, name.path), path))
        });
        let (_, path) = candidates.min()?;
        let depth = place.space.split('/').count();
        let mut slashes = path.char_indices().filter(|(_, next)| matches!(next, '/' | '\\'));
        slashes.nth(depth - 1).and_then(|(at, _)| path.get(at + 1..))
    }
}

/// Preference of a candidate: lower is better. Its parts are the step of the search, a candidate
/// outside of the folder of the linking file, the length of the path, and the path.
type Rank<'a> = (u8, bool, usize, &'a str);

/// The target of a link in the forms in which it is compared.
struct Target {
    key: LinkKey,
    page: LinkKey,
    /// The target as a path, without `./`, `../` or `/` at the beginning.
    path: String,
    /// Paths that are meant if they exist, in order.
    exact: Vec<String>,
    /// The target names its folder from the linking file or from the space; no other path is meant.
    is_exact: bool,
}

impl Target {
    fn new(link: &StoredLink, place: &LinkPlace) -> Self {
        let path = normalize_path(&link.link.target);
        let is_relative = path.starts_with("./") || path.starts_with("../");
        let beside = join(&place.path, &path);
        let below = |path: &str| format!("{}/{path}", place.space);
        let (exact, is_exact) = if is_relative {
            (vec![beside], true)
        } else if let Some(absolute) = path.strip_prefix('/') {
            (vec![below(absolute), path.clone()], true)
        } else if matches!(link.link.kind, LinkKind::Markdown | LinkKind::Image) {
            (vec![beside, below(&path)], false)
        } else {
            (vec![below(&path)], false)
        };
        Self {
            key: link.link.key,
            page: LinkKey::of(&normalize_page(&link.link.target)),
            path: path.trim_start_matches(['.', '/']).to_owned(),
            exact,
            is_exact,
        }
    }

    /// Returns the preference of a candidate; `None` if the link does not mean it.
    fn rank<'a>(&self, name: &'a LinkName, place: &LinkPlace) -> Option<Rank<'a>> {
        let is_inside = is_in_space(name, &place.space);
        // Items written in the library belong to every folder.
        if !is_inside && !name.space.is_empty() && !place.space.is_empty() {
            return (name.kind == NameKind::Address || name.kind == NameKind::Uri).then_some((
                0,
                false,
                0,
                name.path.as_str(),
            ));
        }
        let step = match name.kind {
            NameKind::File => self.file_step(name)?,
            NameKind::Page if name.name == self.page => 4,
            NameKind::Alias if name.name == self.page => 5,
            NameKind::Title if name.name == self.page && place.space.is_empty() => 6,
            NameKind::Block | NameKind::Address | NameKind::Uri if name.key == self.key => 0,
            _ => return None,
        };
        // A name in the folder of the link is preferred to one elsewhere.
        let step = if is_inside || name.kind > NameKind::Title { step } else { step + 10 };
        let folder = place.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let is_outside = !is_below(&name.path, folder);
        Some((step, is_outside, name.path.len(), name.path.as_str()))
    }

    /// Returns the step at which a file is found by its path.
    fn file_step(&self, name: &LinkName) -> Option<u8> {
        if let Some(step) = self.exact.iter().position(|path| *path == name.path) {
            return u8::try_from(step).ok();
        }
        let ends_so = name.path.strip_suffix(self.path.as_str());
        let is_meant = ends_so.is_some_and(|rest| rest.ends_with('/'));
        (!self.is_exact && is_meant).then_some(3)
    }
}

/// Returns `true` for an item whose file is in this space, or that is a part of it.
fn is_in_space(name: &LinkName, space: &str) -> bool {
    name.space == space || (!space.is_empty() && is_below(&name.path, space))
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Returns the path that `relative` means in the folder of the file `path`.
fn join(path: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = path.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
