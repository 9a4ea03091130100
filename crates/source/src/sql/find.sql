-- Items that have the title :title or the file :path, which is a pattern, with the best first. They
-- have no address (:url). `priority` tells what was found.
SELECT {key} AS key, id, {title} <> :title AS priority
FROM {table}
WHERE {live} AND :url IS NULL
  AND (:title IS NULL OR {title} = :title COLLATE NOCASE)
  AND (
      :path IS NULL
      OR CAST(id AS TEXT) IN (
          SELECT item
          FROM imported
          WHERE source = '{source}'
            AND (origin GLOB :path OR origin GLOB :path || '#*')
      )
  )
ORDER BY priority, last_modified DESC, id
LIMIT :most;
