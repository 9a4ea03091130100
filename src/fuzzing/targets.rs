//! The list of what is fed, beside that of the importers.

use super::{query, server, settings, statement};
use crate::import::fuzzing as files;

/// Reads bytes, whatever they are.
type Reader = fn(&[u8]);

/// What reads no files, by the names of the targets.
static READERS: [(&str, Reader); 6] = [
    ("message", server::message),
    ("arguments", server::arguments),
    ("query", query::query),
    ("settings", settings::settings),
    ("config", settings::config),
    ("statement", statement::statement),
];

/// Feeds `bytes` to the reader of this name; to none, if there is none.
pub fn feed(target: &str, bytes: &[u8]) {
    match READERS.iter().find(|(name, _)| *name == target) {
        Some((_, read)) => read(bytes),
        None => files::parse(target, bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;
    use crate::import::fuzzing::tests::{changed, folder, seeds};

    #[test]
    fn every_reader_has_a_target_and_every_target_its_seeds() {
        let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let bins = manifest["bin"].as_array().unwrap();
        let bins: BTreeSet<&str> = bins.iter().map(|bin| bin["name"].as_str().unwrap()).collect();
        let names = READERS.iter().map(|(name, _)| *name).chain(files::targets());
        assert_eq!(bins, names.collect());
        for name in bins {
            assert!(!seeds(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn whatever_is_changed_in_a_seed_breaks_no_reader() {
        for (name, read) in READERS {
            changed(name, read);
        }
    }
}
