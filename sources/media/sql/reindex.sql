-- Indexes the document :key from its stored columns.
INSERT OR REPLACE INTO media_fts (rowid, title, content, author, keywords)
SELECT
    id, title || coalesce(char(10) || (
        SELECT group_concat(nullif(vademecum_file_name(origin), Media.title), char(10))
        FROM (
            SELECT origin
            FROM imported INDEXED BY imported_by_item
            WHERE source = 'media' AND item = CAST(Media.id AS TEXT)
            ORDER BY origin
        )
    ), ''), content, author,
    (
        SELECT group_concat(Keywords.keyword, ' ')
        FROM MediaKeywords
        JOIN Keywords ON Keywords.id = MediaKeywords.keyword_id
        WHERE MediaKeywords.media_id = Media.id AND Keywords.deleted = 0
    )
FROM Media
WHERE id = :key;
