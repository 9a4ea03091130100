//! A paper or book of a bibliography, and the entry that it becomes.

use vademecum_model::Timestamp;

use super::entry::ReadingEntry;

/// The fields of a paper or book, all of which may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reference {
    /// Key in its file.
    pub(super) key: String,
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) authors: Vec<String>,
    /// Date of publication: `2026`, `2026-01` or `2026-01-05`.
    pub(super) date: String,
    pub(super) container: String,
    pub(super) publisher: String,
    pub(super) volume: String,
    pub(super) number: String,
    pub(super) pages: String,
    pub(super) doi: String,
    pub(super) isbn: String,
    pub(super) url: String,
    pub(super) file: String,
    pub(super) summary: String,
    pub(super) note: String,
    pub(super) keywords: Vec<String>,
}

impl Reference {
    /// Returns the entry. `file` is the origin of the file: a key is unique in it only.
    pub(super) fn into_entry(self, file: &str) -> ReadingEntry {
        let doi = self.doi.trim().trim_start_matches("https://doi.org/");
        let doi = doi.trim_start_matches("http://dx.doi.org/").to_owned();
        let by_doi =
            || if doi.is_empty() { String::new() } else { format!("https://doi.org/{doi}") };
        ReadingEntry {
            origin: match (doi.as_str(), self.key.as_str()) {
                ("", "") => format!("{file}#{}", self.title),
                ("", key) => format!("{file}#{key}"),
                (doi, _) => format!("doi:{}", doi.to_lowercase()),
            },
            title: self.title,
            author: self.authors.join("; "),
            url: if self.url.trim().is_empty() { by_doi() } else { self.url },
            media_type: "paper",
            tags: self.keywords,
            note: self.note,
            text: self.summary,
            created_at: publication_time(&self.date),
            fields: vec![
                ("Type", self.kind),
                ("Published", self.date),
                ("In", self.container),
                ("Publisher", self.publisher),
                ("Volume", self.volume),
                ("Number", self.number),
                ("Pages", self.pages),
                ("DOI", doi),
                ("ISBN", self.isbn),
                ("Key", self.key),
                ("File", self.file),
            ],
            ..ReadingEntry::default()
        }
    }
}

/// Parses a date whose month and day may be missing.
fn publication_time(date: &str) -> Option<Timestamp> {
    let parts: Vec<u32> = date.split(['-', '/']).filter_map(|it| it.trim().parse().ok()).collect();
    let year = parts.first().filter(|year| (1_000..3_000).contains(*year))?;
    let part = |at: usize| parts.get(at).copied().unwrap_or(1);
    let day = format!("{year:04}-{:02}-{:02}", part(1), part(2));
    Timestamp::parse(&day).or_else(|_| Timestamp::parse(&format!("{year:04}-01-01"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reference_is_identified_by_doi_or_key() {
        let reference = |doi: &str, key: &str| {
            let [doi, key, date] = [doi, key, "2026-02"].map(str::to_owned);
            Reference { key, date, doi, ..Reference::default() }.into_entry("file:/a.bib")
        };
        let entry = reference("https://doi.org/10.1/X", "k");
        assert_eq!(
            (entry.origin.as_str(), entry.url.as_str()),
            ("doi:10.1/x", "https://doi.org/10.1/X")
        );
        assert_eq!(entry.created_at.unwrap().to_string(), "2026-02-01T00:00:00.000Z");
        assert_eq!(reference("", "k").origin, "file:/a.bib#k");
        assert_eq!(publication_time("2026-13-99").unwrap().to_string(), "2026-01-01T00:00:00.000Z");
        assert_eq!(publication_time("forthcoming"), None);
    }
}
