-- Stores the text of a document once: its chunks are ranges of it (docs/adr/0058-chunks-are-ranges.md).

-- `own_text` is the text of a chunk that is no range of its document. It is empty if the text is that from
-- `start_char` to `end_char` of Media.content. `creation_date` is NULL if it is `last_modified`.
ALTER TABLE UnvectorizedMediaChunks RENAME TO DocumentChunks;
ALTER TABLE DocumentChunks RENAME COLUMN chunk_text TO own_text;

-- The chunks with their texts, under the names of tldw.
CREATE VIEW UnvectorizedMediaChunks AS
SELECT
    id, media_id,
    CASE
        WHEN own_text <> '' OR start_char IS NULL OR start_char < 0 OR end_char <= start_char
        THEN own_text
        ELSE coalesce(
            (
                SELECT substr(Media.content, start_char + 1, end_char - start_char)
                FROM Media
                WHERE Media.id = media_id
            ),
            own_text
        )
    END AS chunk_text,
    chunk_index, start_char, end_char, chunk_type,
    coalesce(creation_date, last_modified) AS creation_date, last_modified_orig, is_processed,
    metadata, uuid, last_modified, version, client_id, deleted, prev_version, merge_parent_uuid
FROM DocumentChunks;

-- The document from which on chunks may repeat its text, as in earlier versions. The program changes them
-- in the background, and removes the row when all are changed.
CREATE TABLE chunk_range_progress (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    next_media_id INTEGER NOT NULL
);
INSERT INTO chunk_range_progress (id, next_media_id)
SELECT 1, -9223372036854775808
WHERE EXISTS (SELECT 1 FROM DocumentChunks);

DROP TRIGGER UnvectorizedMediaChunks_undigested_insert;
DROP TRIGGER UnvectorizedMediaChunks_undigested_update;
DROP TRIGGER UnvectorizedMediaChunks_undigested_delete;
CREATE TRIGGER DocumentChunks_undigested_insert AFTER INSERT ON DocumentChunks
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 5 AND key IN (NEW.id);
END;
CREATE TRIGGER DocumentChunks_undigested_update AFTER UPDATE ON DocumentChunks
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 5 AND key IN (OLD.id, NEW.id);
END;
CREATE TRIGGER DocumentChunks_undigested_delete AFTER DELETE ON DocumentChunks
WHEN (SELECT is_writing FROM digest_state) = 0
BEGIN
    DELETE FROM row_digests WHERE table_number = 5 AND key IN (OLD.id);
END;
