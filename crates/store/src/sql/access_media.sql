-- View of the media documents that a restricted reader may see. Chunks, transcripts and analyses are
-- read only for a document of the view.
-- Indexes are named so that rules read what the views of sound items have verified (item_damage.rs).

CREATE TEMP VIEW Media AS
SELECT *
FROM temp.sound_Media AS Media
WHERE NOT EXISTS (SELECT 1 FROM temp.access_hidden_sources WHERE source = 'media')
  AND (
    NOT EXISTS (SELECT 1 FROM temp.access_limited_sources WHERE source = 'media')
    OR EXISTS (
        SELECT 1
        FROM main.MediaKeywords AS link INDEXED BY sqlite_autoindex_MediaKeywords_1
        JOIN main.Keywords AS keyword NOT INDEXED ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'media' AND rule.denied = 0
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.media_id = Media.id
    )
  )
  AND NOT EXISTS (
        SELECT 1
        FROM main.MediaKeywords AS link INDEXED BY sqlite_autoindex_MediaKeywords_1
        JOIN main.Keywords AS keyword NOT INDEXED ON keyword.id = link.keyword_id AND keyword.deleted = 0
        JOIN temp.access_tags AS rule
            ON rule.source = 'media' AND rule.denied = 1
            AND keyword.keyword LIKE rule.pattern ESCAPE '\'
        WHERE link.media_id = Media.id
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.imported AS origin INDEXED BY imported_by_item
    JOIN temp.access_folders AS folder
        ON folder.source = 'media'
        AND origin.origin >= folder.first AND origin.origin < folder.beyond
    WHERE origin.source = 'media' AND origin.item = CAST(Media.id AS TEXT)
  )
  AND NOT EXISTS (
    SELECT 1
    FROM main.provenance AS part INDEXED BY sqlite_autoindex_provenance_1
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
