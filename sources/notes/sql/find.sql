-- Notes that have the title :title, or else this file name or alias, or the file :path, which is a
-- pattern, with the best first. Notes have no address (:url). `priority` tells what was found.
SELECT
    row AS key, id,
    CASE
        WHEN title = :title THEN 0
        WHEN title = :title COLLATE NOCASE THEN 1
        ELSE 2
    END AS priority
FROM notes
WHERE deleted = 0 AND :url IS NULL
  AND (
      :title IS NULL
      OR title = :title COLLATE NOCASE
      OR instr(char(10) || lower(names) || char(10), char(10) || lower(:title) || char(10)) > 0
  )
  AND (
      :path IS NULL
      OR id IN (
          SELECT item
          FROM imported
          WHERE source = 'notes'
            AND (origin GLOB :path OR origin GLOB :path || '#*')
      )
  )
ORDER BY priority, last_modified DESC, id
LIMIT :most;
