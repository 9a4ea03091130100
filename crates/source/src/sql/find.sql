-- Items that have the title :title, the file :path, which is a pattern, or one of the addresses :url,
-- with the best first. `priority` tells what was found.
SELECT {key} AS key, id, {title} <> :title AS priority
FROM {table}
WHERE {live}
  AND (:title IS NULL OR {title} = :title COLLATE NOCASE)
  AND (:url IS NULL OR {address} IN (SELECT value FROM json_each(:url)))
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
