-- View of the media documents that a restricted reader may see. Chunks, transcripts and analyses are
-- read only for a document of the view.

CREATE TEMP VIEW Media AS
SELECT *
FROM main.Media
WHERE NOT EXISTS (SELECT 1 FROM temp.access_hidden_sources WHERE source = 'media')
  AND (
    NOT EXISTS (SELECT 1 FROM temp.access_limited_sources WHERE source = 'media')
    OR EXISTS (
        SELECT 1
        FROM main.MediaKeywords AS link
        JOIN main.Keywords AS keyword ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'media' AND rule.denied = 0
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.media_id = Media.id
    )
  )
  AND NOT EXISTS (
        SELECT 1
        FROM main.MediaKeywords AS link
        JOIN main.Keywords AS keyword ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'media' AND rule.denied = 1
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.media_id = Media.id
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.imported AS origin
    JOIN temp.access_folders AS folder
        ON folder.source = 'media'
        AND origin.origin >= folder.first AND origin.origin < folder.beyond
    WHERE origin.source = 'media' AND origin.item = CAST(Media.id AS TEXT)
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.provenance AS part
    JOIN temp.access_origins AS rule ON rule.source = 'media' AND rule.origin = part.name
    WHERE part.source = 'media' AND part.item = CAST(Media.id AS TEXT) AND part.kind = 'origin'
  )
  AND NOT EXISTS (
    SELECT 1
    FROM temp.access_origins AS rule
    WHERE rule.source = 'media' AND rule.origin = CASE
        WHEN Media.type = 'email' THEN 'mail'
        WHEN Media.type IN ('feed', 'podcast') THEN 'feed'
        WHEN Media.type IN ('html', 'article') THEN 'web_page'
        WHEN substr(Media.url, 1, 7) = 'http://' OR substr(Media.url, 1, 8) = 'https://' THEN 'web_page'
        WHEN EXISTS (
        SELECT 1
        FROM main.imported AS origin INDEXED BY imported_by_item
        WHERE origin.source = 'media' AND origin.item = CAST(Media.id AS TEXT) AND origin.digest <> 'written here'
    ) THEN 'imported_file'
        ELSE 'own'
    END
  );
