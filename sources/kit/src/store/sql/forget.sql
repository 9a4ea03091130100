-- Forgets the fingerprint of :origin, so that it is read anew if it comes again.
UPDATE imported SET digest = '' WHERE source = :source AND origin = :origin AND digest <> ''
RETURNING item;
