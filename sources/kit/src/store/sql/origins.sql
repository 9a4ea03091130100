-- The origins that begin with :prefix and are still there, with their fingerprints.
SELECT origin, digest
FROM imported
WHERE source = :source AND substr(origin, 1, length(:prefix)) = :prefix AND digest <> '';
