-- All conversations, except logs of sessions, that have one of :tags and were modified from :after to
-- before :before. The index `conversations_listed` has all columns, so no message is read.
SELECT row * 2 AS key, id, title, created_at, last_modified, '' AS folders, NULL AS origin, NULL AS type
FROM main.conversations AS conversations
WHERE deleted = 0
  AND id NOT IN (SELECT id FROM main.conversations WHERE is_log = 1)
  AND last_modified >= COALESCE(:after, '')
  AND last_modified < COALESCE(:before, '~')
  AND (
      :tags IS NULL
      OR id IN (
          SELECT conversation_keywords.conversation_id
          FROM keywords
          JOIN conversation_keywords ON conversation_keywords.keyword_id = keywords.id
          WHERE keywords.deleted = 0
            AND EXISTS (
                SELECT 1
                FROM json_each(:tags) AS wanted
                WHERE keywords.keyword = wanted.value COLLATE NOCASE
                   OR substr(keywords.keyword, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
            )
      )
  );
