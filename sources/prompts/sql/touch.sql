-- Increments the version of the prompt :id and updates its modification time.
UPDATE Prompts
SET last_modified = :now, prev_version = version, version = version + 1
WHERE id = :id;
