-- Version 3 of the words in full-text tables also has words such as `e-mail` without their signs,
-- parts of words with numbers, and emoji. Tables with rows are rebuilt later.
UPDATE fts_versions
SET version = 3
WHERE
    (table_name = 'note_fts' AND NOT EXISTS (SELECT 1 FROM note_fts_docsize))
    OR (table_name = 'chat_fts' AND NOT EXISTS (SELECT 1 FROM chat_fts_docsize))
    OR (table_name = 'character_fts' AND NOT EXISTS (SELECT 1 FROM character_fts_docsize));
