-- The item that was imported from :origin, and the fingerprint it had then.
SELECT item, digest FROM imported WHERE source = :source AND origin = :origin;
