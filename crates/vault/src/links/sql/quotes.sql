-- The quotes of a source.
SELECT item, kind, key, target, fragment, position, context
FROM links INDEXED BY links_by_key
WHERE source = :source AND key = :key
LIMIT :most;
