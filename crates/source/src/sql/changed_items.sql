-- Selects the items with origins from :first to :last that were changed in the library since their
-- import.
SELECT origin, item, digest
FROM imported
WHERE source = :source AND origin BETWEEN :first AND :last AND changed_at IS NOT NULL
ORDER BY origin;
