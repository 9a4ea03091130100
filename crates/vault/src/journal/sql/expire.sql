-- Deletes the changes before a time.
DELETE FROM changes WHERE changed_at < :before;
