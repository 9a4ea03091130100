-- Marks the file as one that follows no archive.
DELETE FROM archive_state;
