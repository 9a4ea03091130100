-- Deletes the import record of a file.
DELETE FROM files WHERE path = :path AND asked = :asked;
