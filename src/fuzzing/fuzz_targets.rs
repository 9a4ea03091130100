//! The list of fuzz functions; importers have their own list.

use super::{query, server, settings, statement};
use vademecum_import::fuzz_parsers as files;

/// A function that reads arbitrary bytes.
type FuzzFunction = fn(&[u8]);

/// Readers of input other than files, by the name used by the fuzz target.
static FUZZ_FUNCTIONS: [(&str, FuzzFunction); 6] = [
    ("message", server::fuzz_message),
    ("arguments", server::fuzz_arguments),
    ("query", query::fuzz_query),
    ("settings", settings::fuzz_settings),
    ("config", settings::fuzz_client_options),
    ("statement", statement::fuzz_statement),
];

/// Runs the reader of this name on `bytes`. Returns `false` if there is none.
pub fn feed(name: &str, bytes: &[u8]) -> bool {
    match FUZZ_FUNCTIONS.iter().find(|(it, _)| *it == name) {
        Some((_, read)) => {
            read(bytes);
            true
        }
        None => files::run_parser(name, bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use vademecum_import::fuzz_parsers::names;
    use vademecum_testing::{for_each_mutated_seed, seeds, seeds_folder};

    use super::*;

    #[test]
    fn readers_and_seed_folders_match() {
        let folders = fs::read_dir(seeds_folder()).unwrap();
        let folders = folders.map(|it| it.unwrap().file_name().into_string().unwrap());
        let folders: BTreeSet<_> = folders.collect();
        let all = FUZZ_FUNCTIONS.iter().map(|(name, _)| *name).chain(names());
        assert_eq!(folders, all.map(String::from).collect());
        for name in folders {
            assert!(!seeds(&name).is_empty(), "{name}");
        }
    }

    #[test]
    fn mutated_seeds_break_no_reader() {
        for (name, read) in FUZZ_FUNCTIONS {
            for_each_mutated_seed(name, read);
        }
    }
}
