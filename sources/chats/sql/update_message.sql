-- Updates a message and restores it if it was deleted.
UPDATE messages
SET sender = :sender, content = :content, timestamp = :timestamp, last_modified = :now,
    version = version + 1, deleted = 0, position = :position
WHERE id = :id;
