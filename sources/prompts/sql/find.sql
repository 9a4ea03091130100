-- Prompts that have the name :title or the file :path, which is a pattern, with the best first. They have
-- no address (:url). `priority` tells what was found.
SELECT id AS key, id, name <> :title AS priority
FROM Prompts
WHERE deleted = 0 AND :url IS NULL
  AND (:title IS NULL OR name = :title COLLATE NOCASE)
  AND (
      :path IS NULL
      OR CAST(id AS TEXT) IN (
          SELECT item
          FROM imported
          WHERE source = 'prompts'
            AND (origin GLOB :path OR origin GLOB :path || '#*')
      )
  )
ORDER BY priority, last_modified DESC, id
LIMIT :most;
