-- Selects the origins that start with :prefix and still exist, with their fingerprints.
SELECT origin, digest
FROM imported
WHERE source = :source AND substr(origin, 1, length(:prefix)) = :prefix AND digest <> '';
