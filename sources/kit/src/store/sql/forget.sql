-- Forgets the fingerprint of :origin, so that it is read anew if it comes again.
-- What was changed in the library since stays as it is.
UPDATE imported
SET digest = ''
WHERE source = :source AND origin = :origin AND digest <> '' AND changed_at IS NULL
RETURNING item;
