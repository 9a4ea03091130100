-- The quotes of a source.
SELECT item, kind, key, target, fragment, position, context
FROM links
WHERE source = :source AND key = :key
LIMIT :most;
