-- Reads one document, with its keywords as a JSON list.
SELECT
    title, type, url, author, content, ingestion_date, last_modified,
    (
        SELECT json_group_array(CAST(Keywords.keyword AS TEXT))
        FROM MediaKeywords
        JOIN Keywords ON Keywords.id = MediaKeywords.keyword_id
        WHERE MediaKeywords.media_id = Media.id AND Keywords.deleted = 0
    ) AS keywords
FROM Media
WHERE id = :id AND deleted = 0 AND is_trash = 0;
