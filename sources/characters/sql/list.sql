-- All characters that have one of :tags and were modified from :after to before :before. The index
-- `characters_listed` has all columns, so no card is read. Tags that are not a JSON list count as none.
SELECT id AS key, id, name AS title, created_at, last_modified, '' AS folders, NULL AS origin, NULL AS type
FROM main.character_cards AS character_cards
WHERE deleted = 0
  AND last_modified >= COALESCE(:after, '')
  AND last_modified < COALESCE(:before, '~')
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
