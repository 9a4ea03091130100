-- Brings a message up to date; one that was deleted comes back.
UPDATE messages
SET sender = :sender, content = :content, timestamp = :timestamp, last_modified = :now,
    version = version + 1, deleted = 0
WHERE id = :id;
