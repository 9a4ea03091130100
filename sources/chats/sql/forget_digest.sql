-- Clears the digest of :origin, so that its next import is saved even if it is unchanged.
UPDATE imported SET digest = '' WHERE source = 'chats' AND origin = :origin;
