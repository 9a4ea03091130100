-- Inserts a keyword, or restores it if it was deleted.
INSERT INTO Keywords (keyword, uuid, last_modified)
VALUES (:keyword, :uuid, :now)
ON CONFLICT (keyword) DO UPDATE SET deleted = 0 WHERE deleted <> 0;
