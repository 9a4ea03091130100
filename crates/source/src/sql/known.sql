-- Selects the item imported from :origin, its fingerprint, and the time of its last change in the
-- library.
SELECT item, digest, changed_at FROM imported WHERE source = :source AND origin = :origin;
