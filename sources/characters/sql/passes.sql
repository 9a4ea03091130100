-- Returns a row if the character :key has one of :tags and was modified from :after to before :before.
-- Tags that are not a JSON list count as none.
SELECT 1
FROM character_cards
WHERE id = :key
  AND (:after IS NULL OR last_modified >= :after)
  AND (:before IS NULL OR last_modified < :before)
  AND (
      :tags IS NULL
      OR EXISTS (
          SELECT 1
          FROM json_each(CASE WHEN json_valid(character_cards.tags) THEN character_cards.tags END) AS tag
          WHERE tag.value COLLATE NOCASE IN (SELECT value FROM json_each(:tags))
      )
  );
