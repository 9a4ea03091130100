-- Returns a row if the prompt :key is one of :items, has one of :tags and was modified from :after to before :before.
SELECT 1
FROM Prompts
WHERE id = :key
  AND (:items IS NULL OR CAST(id AS TEXT) IN (SELECT value FROM json_each(:items)))
  AND (:after IS NULL OR last_modified >= :after)
  AND (:before IS NULL OR last_modified < :before)
  AND (
      :tags IS NULL
      OR EXISTS (
          SELECT 1
          FROM PromptKeywordLinks
          JOIN PromptKeywordsTable ON PromptKeywordsTable.id = PromptKeywordLinks.keyword_id
          WHERE PromptKeywordLinks.prompt_id = Prompts.id
            AND PromptKeywordsTable.deleted = 0
            AND EXISTS (
                SELECT 1
                FROM json_each(:tags) AS wanted
                WHERE PromptKeywordsTable.keyword = wanted.value COLLATE NOCASE
                   OR substr(PromptKeywordsTable.keyword, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
            )
      )
  );
