-- Inserts a keyword, or restores it if it was deleted.
INSERT INTO keywords (keyword, created_at, last_modified)
VALUES (:keyword, :now, :now)
ON CONFLICT (keyword) DO UPDATE SET deleted = 0 WHERE deleted <> 0;
