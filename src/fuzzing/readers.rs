//! The list of what is fed, beside that of the importers.

use super::{query, server, settings, statement};
use vademecum_import::fuzzing as files;

/// Reads bytes, whatever they are.
type Reader = fn(&[u8]);

/// What reads no files, by the names that the fuzz target knows it by.
static READERS: [(&str, Reader); 6] = [
    ("message", server::message),
    ("arguments", server::arguments),
    ("query", query::query),
    ("settings", settings::settings),
    ("config", settings::config),
    ("statement", statement::statement),
];

/// Feeds `bytes` to the reader of this name; whether there is one.
pub fn feed(name: &str, bytes: &[u8]) -> bool {
    match READERS.iter().find(|(it, _)| *it == name) {
        Some((_, read)) => {
            read(bytes);
            true
        }
        None => files::parse(name, bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use vademecum_import::fuzzing::names;
    use vademecum_testing::{for_each_mutated_seed, seeds, seeds_folder};

    use super::*;

    #[test]
    fn every_reader_has_seeds_and_all_seeds_have_a_reader() {
        let folders = fs::read_dir(seeds_folder()).unwrap();
        let folders = folders.map(|it| it.unwrap().file_name().into_string().unwrap());
        let folders: BTreeSet<_> = folders.collect();
        let all = READERS.iter().map(|(name, _)| *name).chain(names());
        assert_eq!(folders, all.map(String::from).collect());
        for name in folders {
            assert!(!seeds(&name).is_empty(), "{name}");
        }
    }

    #[test]
    fn whatever_is_changed_in_a_seed_breaks_no_reader() {
        for (name, read) in READERS {
            for_each_mutated_seed(name, read);
        }
    }
}
