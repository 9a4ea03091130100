-- Indexes the document :key from its stored columns.
INSERT OR REPLACE INTO media_fts (rowid, title, content, author, keywords)
SELECT
    id, title, content, author,
    (
        SELECT group_concat(Keywords.keyword, ' ')
        FROM MediaKeywords
        JOIN Keywords ON Keywords.id = MediaKeywords.keyword_id
        WHERE MediaKeywords.media_id = Media.id AND Keywords.deleted = 0
    )
FROM Media
WHERE id = :key;
