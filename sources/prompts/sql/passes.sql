-- Returns a row if the prompt :key has one of :tags and was modified from :after to before :before.
SELECT 1
FROM Prompts
WHERE id = :key
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
            AND PromptKeywordsTable.keyword COLLATE NOCASE IN (SELECT value FROM json_each(:tags))
      )
  );
