-- Reads one media document, with its keywords as a JSON list.
SELECT
    id, title, type, url, author, ingestion_date, last_modified, version,
    (
        SELECT json_group_array(keyword)
        FROM (
            SELECT Keywords.keyword
            FROM MediaKeywords
            JOIN Keywords ON Keywords.id = MediaKeywords.keyword_id
            WHERE MediaKeywords.media_id = Media.id AND Keywords.deleted = 0
            ORDER BY Keywords.keyword
        )
    ) AS tags,
    coalesce(
        (
            SELECT group_concat(nullif(vademecum_file_name(origin), Media.title), char(10))
            FROM (
                SELECT origin
                FROM imported INDEXED BY imported_by_item
                WHERE source = 'media' AND item = CAST(Media.id AS TEXT)
                ORDER BY origin
            )
        ),
        ''
    ) AS names,
    (SELECT created_at FROM DocumentDates WHERE media_id = Media.id) AS created_at,
    COALESCE(content, '') AS content
FROM Media
WHERE id = :id AND deleted = 0 AND is_trash = 0;
