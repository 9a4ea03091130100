-- Adds to the digest of a row what rules of access depend on, so that they notice a row that is gone.

-- A hash of the item to which a row links a tag or an origin, or of the columns of an item that rules
-- read. NULL in tables that rules do not read, and until the next check of a file of an earlier version.
ALTER TABLE row_digests ADD COLUMN access_key INTEGER;

-- Finds the digests of all tags and origins of an item, also those whose rows are no longer found.
CREATE INDEX row_digests_by_access_key ON row_digests (access_key) WHERE access_key IS NOT NULL;
