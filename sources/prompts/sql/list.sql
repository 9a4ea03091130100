-- All prompts that have one of :tags and were modified from :after to before :before. The index
-- `prompts_listed` has all columns, so no text is read. Prompts have no date of creation.
SELECT id AS key, id, name AS title, last_modified AS created_at, last_modified, '' AS folders, NULL AS origin, NULL AS type
FROM main.Prompts AS Prompts
WHERE deleted = 0
  AND last_modified >= COALESCE(:after, '')
  AND last_modified < COALESCE(:before, '~')
  AND (
      :tags IS NULL
      OR id IN (
          SELECT PromptKeywordLinks.prompt_id
          FROM PromptKeywordsTable
          JOIN PromptKeywordLinks ON PromptKeywordLinks.keyword_id = PromptKeywordsTable.id
          WHERE PromptKeywordsTable.deleted = 0
            AND EXISTS (
                SELECT 1
                FROM json_each(:tags) AS wanted
                WHERE PromptKeywordsTable.keyword = wanted.value COLLATE NOCASE
                   OR substr(PromptKeywordsTable.keyword, 1, length(wanted.value) + 1) = wanted.value || '/' COLLATE NOCASE
            )
      )
  );
