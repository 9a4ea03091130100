-- Assigns a keyword to a note.
INSERT OR IGNORE INTO note_keywords (note_id, keyword_id, created_at)
SELECT :note_id, id, :now FROM keywords WHERE keyword = :keyword;
