-- Says that the prompt :id was changed.
UPDATE Prompts
SET last_modified = :now, prev_version = version, version = version + 1
WHERE id = :id;
