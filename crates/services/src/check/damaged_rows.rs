//! Check of the digests of rows: damaged items are named, and restored where a right copy is found.

use std::{collections::BTreeSet, fs, path::PathBuf, sync::Arc, time::Duration};

use vademecum_model::{Deadline, FrontMatterBlock, Uri};
use vademecum_source::{Source, SourceError, item_origins};
use vademecum_store::{HealedFrom, RowDamage, RowDamageKind, RowVerification, Store, StoreError};
use vademecum_vault::{
    journal::import_base_texts,
    links::{are_links_outdated, are_links_right, rebuild_links},
};

use super::findings::CheckFindings;
use crate::text::format_count;

/// Maximum time to read the title or other texts of a damaged item.
const TEXTS_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time to verify the links of the items of a source.
const LINKS_TIMEOUT: Duration = Duration::from_hours(1);
/// Maximum number of damaged items that are named.
const MAX_NAMED: usize = 1_000;

/// Maximum size of a file in which the text of an item is looked for, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// What to do with damaged items.
#[derive(Clone, Debug, Default)]
pub struct DamageRepair {
    /// Folders of backups in which right copies are searched, in this order.
    pub backups: Vec<PathBuf>,
    /// Whether items without a right copy are taken as they are.
    pub keeps_damaged: bool,
}

/// A check of the rows of a database.
pub(super) struct DamagedRowsCheck<'a> {
    pub(super) store: &'a Store,
    pub(super) sources: &'a [Arc<dyn Source>],
    /// Name of the database in findings.
    pub(super) place: &'a str,
    /// The same database in backups.
    pub(super) backups: &'a [PathBuf],
    pub(super) keeps_damaged: bool,
}

/// Reads a file of text, if it is one.
fn read_text_file(path: &str) -> Option<String> {
    let about = fs::symlink_metadata(path).ok()?;
    let is_text = about.is_file() && about.len() <= MAX_FILE_BYTES;
    is_text.then(|| fs::read_to_string(path).ok()).flatten()
}

impl DamagedRowsCheck<'_> {
    /// Verifies all rows, and writes digests that are missing. Returns whether all rows are right.
    pub(super) fn run(
        &self,
        repair: bool,
        findings: &mut CheckFindings,
    ) -> Result<bool, SourceError> {
        let verification = self.store.verify_rows()?;
        if verification.lacks_digests() {
            self.write_digests(&verification, findings)?;
        }
        let mut left = verification.damage;
        if repair && !left.is_empty() {
            left = self.heal(left, findings)?;
        }
        // Links are read again from right texts only.
        let is_right = left.is_empty() && self.check_links(repair, findings)?;
        let remedy = "`vademecum check --repair` restores it if its digest tells how, or with \
                      `--from-backup FOLDER` from a backup; `--keep-damaged` takes it as it is";
        self.report_items(&left, remedy, findings);
        Ok(is_right)
    }

    /// Names the damaged items of a file with damaged pages, and writes nothing. Returns whether all rows
    /// are right.
    pub(super) fn report(&self, findings: &mut CheckFindings) -> Result<bool, SourceError> {
        let damage = self.store.verify_rows()?.damage;
        let remedy = "restore a backup with `vademecum restore`: pages of the file are damaged";
        self.report_items(&damage, remedy, findings);
        Ok(damage.is_empty())
    }

    fn report_items(&self, damage: &[RowDamage], remedy: &str, findings: &mut CheckFindings) {
        for (what, items) in self.name_items(damage) {
            let text = format!("{what}: it is neither shown nor changed ({items})");
            findings.add_error(self.place, &text, remedy);
        }
    }

    fn write_digests(
        &self,
        verification: &RowVerification,
        findings: &mut CheckFindings,
    ) -> Result<(), StoreError> {
        match self.store.write_missing_digests(verification) {
            Ok(()) => {}
            Err(StoreError::ReadOnly { .. } | StoreError::Full { .. }) => {
                let what = "the digests of some rows cannot be written";
                findings.add_warning(self.place, what, "make the file writable");
            }
            Err(error) => return Err(error),
        }
        if verification.damaged_digests > 0 {
            let count = usize::try_from(verification.damaged_digests).unwrap_or(usize::MAX);
            let what = format!(
                "{} of rows were damaged, and written again",
                format_count(count, "digest")
            );
            findings.add_repaired(self.store.path(), &what);
        }
        Ok(())
    }

    /// Verifies the stored links of items, and reads them again from the texts if they are to be repaired.
    /// Returns whether all are right.
    fn check_links(&self, repair: bool, findings: &mut CheckFindings) -> Result<bool, SourceError> {
        let mut are_right = true;
        for source in self.sources {
            let has_right_links = self.store.read(Deadline::after(LINKS_TIMEOUT), |reader| {
                let name = source.name();
                Ok::<_, StoreError>(
                    are_links_outdated(reader, name)? || are_links_right(name, reader)?,
                )
            })?;
            if has_right_links {
                continue;
            }
            let name = source.name();
            if repair {
                rebuild_links(&**source, self.store)?;
                let what = format!("the links of the items in {name} were read again");
                findings.add_repaired(self.store.path(), &what);
            } else {
                let what = format!("the stored links of {name} are damaged");
                let remedy = "`vademecum check --repair` reads them again";
                findings.add_error(self.place, &what, remedy);
                are_right = false;
            }
        }
        Ok(are_right)
    }

    /// Restores rows, and returns those that could not be restored.
    fn heal(
        &self,
        damage: Vec<RowDamage>,
        findings: &mut CheckFindings,
    ) -> Result<Vec<RowDamage>, StoreError> {
        let backups: Vec<_> = self.backups.iter().filter(|it| it.exists()).cloned().collect();
        let healed = self.store.heal_rows(&damage, &backups, |row| self.other_texts(row))?;
        let mut left = Vec::new();
        for (row, from) in damage.into_iter().zip(healed) {
            let how = match from {
                None => {
                    left.push(row);
                    continue;
                }
                Some(HealedFrom::Digest) => "its digest tells the damaged byte".to_owned(),
                Some(HealedFrom::File) => "from its file".to_owned(),
                Some(HealedFrom::Journal) => "from the text of its last import".to_owned(),
                Some(HealedFrom::Backup(path)) => format!("from {}", path.display()),
            };
            let name = self.name_of(&row);
            findings.add_repaired(self.store.path(), &format!("{name} was restored: {how}"));
        }
        if self.keeps_damaged && !left.is_empty() {
            self.store.accept_damage(&left)?;
            for (what, _) in self.name_items(&left) {
                findings.add_repaired(self.store.path(), &format!("{what}, and was kept as it is"));
            }
            left.clear();
        }
        Ok(left)
    }

    /// Returns texts of an item, or of which it has parts: those of the file from which it was imported or
    /// which it shares, and those that the journal keeps of its last import. They need not be trusted: only
    /// the text that fits the digest is taken.
    fn other_texts(&self, row: &RowDamage) -> Vec<(HealedFrom, String)> {
        let Some((source, item)) = &row.item else { return Vec::new() };
        let mut texts = self.file_texts(source, item);
        texts.dedup();
        let mut texts: Vec<_> = texts.into_iter().map(|text| (HealedFrom::File, text)).collect();
        if let Some(source) = self.sources.iter().find(|it| it.name().as_str() == source) {
            let kept = self.store.read(Deadline::after(TEXTS_TIMEOUT), |reader| {
                import_base_texts(reader, source.name(), item)
            });
            let kept = kept.unwrap_or_default().into_iter();
            texts.extend(kept.map(|text| (HealedFrom::Journal, text)));
        }
        texts
    }

    /// Returns what the text of an item may be by its file.
    fn file_texts(&self, source: &str, item: &str) -> Vec<String> {
        let origins: Result<Vec<String>, StoreError> = self
            .store
            .read(Deadline::after(TEXTS_TIMEOUT), |reader| item_origins(reader, source, item));
        let mut texts = Vec::new();
        for origin in origins.unwrap_or_default() {
            let Some(text) = origin.strip_prefix("file:").and_then(read_text_file) else {
                continue;
            };
            let text = text.replace("\r\n", "\n");
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let body = FrontMatterBlock::body_of(text);
            for text in [text, body] {
                let own_lines = text.trim_start_matches('\n');
                texts.extend(
                    [text, own_lines, own_lines.trim_end(), text.trim()].map(str::to_owned),
                );
            }
        }
        texts
    }

    /// Describes each damaged item once, with the tables of its damaged rows.
    fn name_items(&self, damage: &[RowDamage]) -> Vec<(String, String)> {
        let mut named: Vec<(String, BTreeSet<&str>)> = Vec::new();
        for row in damage {
            let mut what = format!("{} is damaged", self.name_of(row));
            match row.kind {
                RowDamageKind::Changed => {}
                RowDamageKind::Missing if row.item.is_some() => {
                    what = format!("{} lacks a row", self.name_of(row));
                }
                RowDamageKind::Missing => what = format!("a row of {} is gone", row.table),
                RowDamageKind::Unknown => what.push_str(" perhaps: its key is unknown"),
            }
            if let Some((_, tables)) = named.iter_mut().find(|(other, _)| *other == what) {
                tables.insert(row.table);
            } else if named.len() < MAX_NAMED {
                named.push((what, BTreeSet::from([row.table])));
            }
        }
        let list = |tables: BTreeSet<&str>| {
            format!("table {}", tables.into_iter().collect::<Vec<_>>().join(", "))
        };
        named.into_iter().map(|(what, tables)| (what, list(tables))).collect()
    }

    /// Returns the address and the title of the item of a row.
    fn name_of(&self, row: &RowDamage) -> String {
        let Some((source, id)) = &row.item else { return format!("a row of {}", row.table) };
        let Some(source) = self.sources.iter().find(|it| it.name().as_str() == source) else {
            return format!("a row of {}", row.table);
        };
        let uri = Uri::item(source.name(), id.as_str());
        let title = source.item_statements().and_then(|statements| {
            let found: Result<Option<Option<String>>, StoreError> =
                self.store.read(Deadline::after(TEXTS_TIMEOUT), |reader| {
                    let sql = statements.title_sql;
                    reader.query_first(sql, &[(":id", id)], |row| row.get("title"))
                });
            found.ok().flatten().flatten()
        });
        match title {
            Some(title) => format!("`{uri}` ({title})"),
            None => format!("`{uri}`"),
        }
    }
}
