-- Returns a row if the character :key is one of :items, has one of :tags and was modified from :after to before :before.
-- Tags that are not a JSON list count as none.
SELECT 1
FROM character_cards
WHERE id = :key
  AND (:items IS NULL OR CAST(id AS TEXT) IN (SELECT value FROM json_each(:items)))
  AND (:after IS NULL OR last_modified >= :after)
  AND (:before IS NULL OR last_modified < :before)
  AND (
      :tags IS NULL
      OR EXISTS (
          SELECT 1
          FROM json_each(CASE WHEN json_valid(character_cards.tags) THEN character_cards.tags END) AS tag
          WHERE EXISTS (
              SELECT 1
              FROM json_each(:tags) AS wanted
              WHERE tag.value = wanted.value COLLATE NOCASE
                 OR substr(tag.value, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
          )
      )
  );
