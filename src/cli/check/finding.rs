//! What a look at something found.

use std::path::Path;

use serde::Serialize;

use crate::cli::output::{plain, say};

/// How bad something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// It is as it should be.
    Sound,
    /// It was not as it should be, and is now.
    Mended,
    /// It works, and should be otherwise.
    Warning,
    /// It does not work, or soon will not.
    Wrong,
}

/// Something that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    level: Level,
    #[serde(rename = "where")]
    place: String,
    what: String,
    #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// What was found, in the order in which it was looked at.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    /// Something is as it should be.
    pub(super) fn sound(&mut self, place: &str, what: &str) {
        self.add(Level::Sound, place, what, None);
    }

    /// Something was mended.
    pub(super) fn mended(&mut self, place: &Path, what: &str) {
        self.add(Level::Mended, &place.display().to_string(), what, None);
    }

    /// Something works, and should be otherwise.
    pub(super) fn warn(&mut self, place: &str, what: &str, remedy: &str) {
        self.add(Level::Warning, place, what, Some(remedy));
    }

    /// Something does not work.
    pub(super) fn wrong(&mut self, place: &str, what: &str, remedy: &str) {
        self.add(Level::Wrong, place, what, Some(remedy));
    }

    fn add(&mut self, level: Level, place: &str, what: &str, remedy: Option<&str>) {
        let (place, what, remedy) = (plain(place), plain(what), remedy.map(plain));
        self.0.push(Finding { level, place, what, remedy });
    }

    /// Whether nothing is wrong.
    pub(super) fn all_is_well(&self) -> bool {
        self.0.iter().all(|finding| finding.level != Level::Wrong)
    }

    /// Prints everything, a line each.
    pub(super) fn tell(&self) {
        for Finding { level, place, what, remedy } in &self.0 {
            let level = match level {
                Level::Sound => "sound",
                Level::Mended => "mended",
                Level::Warning => "warning",
                Level::Wrong => "wrong",
            };
            let remedy = remedy.as_ref().map(|remedy| format!("; {remedy}")).unwrap_or_default();
            say(&format!("{level}: {place}: {what}{remedy}"));
        }
    }
}
