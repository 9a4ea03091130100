-- Adds a digest of each row, so that damage of the file is found (docs/adr/0046-row-digests.md).

-- The digest of the row `key` of a table: its INTEGER PRIMARY KEY, or a hash of another primary key. The
-- program writes it in the transaction that writes the row. A row without one was written by another
-- program, or by an earlier version, and gets its digest at the next check.
CREATE TABLE row_digests (
    table_number INTEGER NOT NULL,
    key INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    PRIMARY KEY (table_number, key)
) WITHOUT ROWID;

-- `is_writing` is 1 only within a transaction that writes digests. The other columns say where the check
-- in the background goes on: after this row of this table; and when it was last complete.
CREATE TABLE digest_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    is_writing INTEGER NOT NULL,
    verified_table INTEGER NOT NULL,
    verified_key INTEGER NOT NULL,
    verified_at TEXT
);
INSERT INTO digest_state (id, is_writing, verified_table, verified_key) VALUES (1, 0, 0, 0);

-- When another program changes a row, its digest is removed: a deliberate change is no damage. The key of
-- a table without an INTEGER PRIMARY KEY is not known there, so all its digests are removed.
CREATE TRIGGER Media_undigested_insert AFTER INSERT ON Media
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 1 AND key IN (NEW.id);
END;
CREATE TRIGGER Media_undigested_update AFTER UPDATE ON Media
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 1 AND key IN (OLD.id, NEW.id);
END;
CREATE TRIGGER Media_undigested_delete AFTER DELETE ON Media
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 1 AND key IN (OLD.id);
END;
CREATE TRIGGER Keywords_undigested_insert AFTER INSERT ON Keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 2 AND key IN (NEW.id);
END;
CREATE TRIGGER Keywords_undigested_update AFTER UPDATE ON Keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 2 AND key IN (OLD.id, NEW.id);
END;
CREATE TRIGGER Keywords_undigested_delete AFTER DELETE ON Keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 2 AND key IN (OLD.id);
END;
CREATE TRIGGER MediaKeywords_undigested_insert AFTER INSERT ON MediaKeywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 3 AND key IN (NEW.id);
END;
CREATE TRIGGER MediaKeywords_undigested_update AFTER UPDATE ON MediaKeywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 3 AND key IN (OLD.id, NEW.id);
END;
CREATE TRIGGER MediaKeywords_undigested_delete AFTER DELETE ON MediaKeywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 3 AND key IN (OLD.id);
END;
CREATE TRIGGER DocumentVersions_undigested_insert AFTER INSERT ON DocumentVersions
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 4 AND key IN (NEW.id);
END;
CREATE TRIGGER DocumentVersions_undigested_update AFTER UPDATE ON DocumentVersions
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 4 AND key IN (OLD.id, NEW.id);
END;
CREATE TRIGGER DocumentVersions_undigested_delete AFTER DELETE ON DocumentVersions
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 4 AND key IN (OLD.id);
END;
CREATE TRIGGER UnvectorizedMediaChunks_undigested_insert AFTER INSERT ON UnvectorizedMediaChunks
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 5 AND key IN (NEW.id);
END;
CREATE TRIGGER UnvectorizedMediaChunks_undigested_update AFTER UPDATE ON UnvectorizedMediaChunks
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 5 AND key IN (OLD.id, NEW.id);
END;
CREATE TRIGGER UnvectorizedMediaChunks_undigested_delete AFTER DELETE ON UnvectorizedMediaChunks
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 5 AND key IN (OLD.id);
END;
CREATE TRIGGER Transcripts_undigested_insert AFTER INSERT ON Transcripts
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 6 AND key IN (NEW.id);
END;
CREATE TRIGGER Transcripts_undigested_update AFTER UPDATE ON Transcripts
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 6 AND key IN (OLD.id, NEW.id);
END;
CREATE TRIGGER Transcripts_undigested_delete AFTER DELETE ON Transcripts
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 6 AND key IN (OLD.id);
END;
CREATE TRIGGER DocumentDates_undigested_insert AFTER INSERT ON DocumentDates
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 7 AND key IN (NEW.media_id);
END;
CREATE TRIGGER DocumentDates_undigested_update AFTER UPDATE ON DocumentDates
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 7 AND key IN (OLD.media_id, NEW.media_id);
END;
CREATE TRIGGER DocumentDates_undigested_delete AFTER DELETE ON DocumentDates
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 7 AND key IN (OLD.media_id);
END;
CREATE TRIGGER imported_undigested_insert AFTER INSERT ON imported
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 8;
END;
CREATE TRIGGER imported_undigested_update AFTER UPDATE ON imported
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 8;
END;
CREATE TRIGGER imported_undigested_delete AFTER DELETE ON imported
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 8;
END;
CREATE TRIGGER changes_undigested_insert AFTER INSERT ON changes
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 9 AND key IN (NEW.number);
END;
CREATE TRIGGER changes_undigested_update AFTER UPDATE ON changes
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 9 AND key IN (OLD.number, NEW.number);
END;
CREATE TRIGGER changes_undigested_delete AFTER DELETE ON changes
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 9 AND key IN (OLD.number);
END;
CREATE TRIGGER import_bases_undigested_insert AFTER INSERT ON import_bases
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 10;
END;
CREATE TRIGGER import_bases_undigested_update AFTER UPDATE ON import_bases
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 10;
END;
CREATE TRIGGER import_bases_undigested_delete AFTER DELETE ON import_bases
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 10;
END;
CREATE TRIGGER links_undigested_insert AFTER INSERT ON links
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 11;
END;
CREATE TRIGGER links_undigested_update AFTER UPDATE ON links
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 11;
END;
CREATE TRIGGER links_undigested_delete AFTER DELETE ON links
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 11;
END;
CREATE TRIGGER link_names_undigested_insert AFTER INSERT ON link_names
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 12;
END;
CREATE TRIGGER link_names_undigested_update AFTER UPDATE ON link_names
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 12;
END;
CREATE TRIGGER link_names_undigested_delete AFTER DELETE ON link_names
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 12;
END;
CREATE TRIGGER provenance_undigested_insert AFTER INSERT ON provenance
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 13;
END;
CREATE TRIGGER provenance_undigested_update AFTER UPDATE ON provenance
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 13;
END;
CREATE TRIGGER provenance_undigested_delete AFTER DELETE ON provenance
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 13;
END;
