-- Clears the fingerprint of :origin, so that a later import reads it again. Items changed in the
-- library are kept.
UPDATE imported
SET digest = ''
WHERE source = :source AND origin = :origin AND digest <> '' AND changed_at IS NULL
RETURNING item;
