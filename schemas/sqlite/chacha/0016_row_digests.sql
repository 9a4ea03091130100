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
CREATE TRIGGER notes_undigested_insert AFTER INSERT ON notes
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 1 AND key IN (NEW.row);
END;
CREATE TRIGGER notes_undigested_update AFTER UPDATE ON notes
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 1 AND key IN (OLD.row, NEW.row);
END;
CREATE TRIGGER notes_undigested_delete AFTER DELETE ON notes
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 1 AND key IN (OLD.row);
END;
CREATE TRIGGER keywords_undigested_insert AFTER INSERT ON keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 2 AND key IN (NEW.id);
END;
CREATE TRIGGER keywords_undigested_update AFTER UPDATE ON keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 2 AND key IN (OLD.id, NEW.id);
END;
CREATE TRIGGER keywords_undigested_delete AFTER DELETE ON keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 2 AND key IN (OLD.id);
END;
CREATE TRIGGER note_keywords_undigested_insert AFTER INSERT ON note_keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 3;
END;
CREATE TRIGGER note_keywords_undigested_update AFTER UPDATE ON note_keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 3;
END;
CREATE TRIGGER note_keywords_undigested_delete AFTER DELETE ON note_keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 3;
END;
CREATE TRIGGER character_cards_undigested_insert AFTER INSERT ON character_cards
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 4 AND key IN (NEW.id);
END;
CREATE TRIGGER character_cards_undigested_update AFTER UPDATE ON character_cards
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 4 AND key IN (OLD.id, NEW.id);
END;
CREATE TRIGGER character_cards_undigested_delete AFTER DELETE ON character_cards
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 4 AND key IN (OLD.id);
END;
CREATE TRIGGER conversations_undigested_insert AFTER INSERT ON conversations
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 5 AND key IN (NEW.row);
END;
CREATE TRIGGER conversations_undigested_update AFTER UPDATE ON conversations
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 5 AND key IN (OLD.row, NEW.row);
END;
CREATE TRIGGER conversations_undigested_delete AFTER DELETE ON conversations
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 5 AND key IN (OLD.row);
END;
CREATE TRIGGER messages_undigested_insert AFTER INSERT ON messages
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 6 AND key IN (NEW.row);
END;
CREATE TRIGGER messages_undigested_update AFTER UPDATE ON messages
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 6 AND key IN (OLD.row, NEW.row);
END;
CREATE TRIGGER messages_undigested_delete AFTER DELETE ON messages
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 6 AND key IN (OLD.row);
END;
CREATE TRIGGER conversation_keywords_undigested_insert AFTER INSERT ON conversation_keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 7;
END;
CREATE TRIGGER conversation_keywords_undigested_update AFTER UPDATE ON conversation_keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 7;
END;
CREATE TRIGGER conversation_keywords_undigested_delete AFTER DELETE ON conversation_keywords
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 7;
END;
CREATE TRIGGER message_metadata_undigested_insert AFTER INSERT ON message_metadata
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 8;
END;
CREATE TRIGGER message_metadata_undigested_update AFTER UPDATE ON message_metadata
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 8;
END;
CREATE TRIGGER message_metadata_undigested_delete AFTER DELETE ON message_metadata
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 8;
END;
CREATE TRIGGER imported_undigested_insert AFTER INSERT ON imported
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 9;
END;
CREATE TRIGGER imported_undigested_update AFTER UPDATE ON imported
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 9;
END;
CREATE TRIGGER imported_undigested_delete AFTER DELETE ON imported
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 9;
END;
CREATE TRIGGER changes_undigested_insert AFTER INSERT ON changes
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 10 AND key IN (NEW.number);
END;
CREATE TRIGGER changes_undigested_update AFTER UPDATE ON changes
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 10 AND key IN (OLD.number, NEW.number);
END;
CREATE TRIGGER changes_undigested_delete AFTER DELETE ON changes
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 10 AND key IN (OLD.number);
END;
CREATE TRIGGER import_bases_undigested_insert AFTER INSERT ON import_bases
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 11;
END;
CREATE TRIGGER import_bases_undigested_update AFTER UPDATE ON import_bases
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 11;
END;
CREATE TRIGGER import_bases_undigested_delete AFTER DELETE ON import_bases
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 11;
END;
CREATE TRIGGER links_undigested_insert AFTER INSERT ON links
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 12;
END;
CREATE TRIGGER links_undigested_update AFTER UPDATE ON links
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 12;
END;
CREATE TRIGGER links_undigested_delete AFTER DELETE ON links
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 12;
END;
CREATE TRIGGER link_names_undigested_insert AFTER INSERT ON link_names
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 13;
END;
CREATE TRIGGER link_names_undigested_update AFTER UPDATE ON link_names
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 13;
END;
CREATE TRIGGER link_names_undigested_delete AFTER DELETE ON link_names
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 13;
END;
CREATE TRIGGER provenance_undigested_insert AFTER INSERT ON provenance
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 14;
END;
CREATE TRIGGER provenance_undigested_update AFTER UPDATE ON provenance
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 14;
END;
CREATE TRIGGER provenance_undigested_delete AFTER DELETE ON provenance
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 14;
END;
