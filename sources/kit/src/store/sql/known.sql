-- The item that was imported from :origin, the fingerprint it had then, and when
-- it was changed in the library since.
SELECT item, digest, changed_at FROM imported WHERE source = :source AND origin = :origin;
