-- Adds the other names of a note (file name and aliases, one a line) and the folders of its file,
-- which its full-text table also has.

ALTER TABLE notes ADD COLUMN names TEXT NOT NULL DEFAULT '';
ALTER TABLE notes ADD COLUMN folders TEXT NOT NULL DEFAULT '';

DROP TABLE note_fts;
CREATE VIRTUAL TABLE note_fts USING fts5 (
    title, content, keywords, names, folders,
    content = '', contentless_delete = 1, tokenize = 'vademecum'
);
INSERT INTO note_fts (rowid, title, content, keywords, names, folders)
SELECT
    row, title, content,
    (
        SELECT group_concat(keywords.keyword, ' ')
        FROM note_keywords
        JOIN keywords ON keywords.id = note_keywords.keyword_id
        WHERE note_keywords.note_id = notes.id AND keywords.deleted = 0
    ),
    names, folders
FROM notes
WHERE deleted = 0
ORDER BY row;
UPDATE fts_versions SET version = 3 WHERE table_name = 'note_fts';
