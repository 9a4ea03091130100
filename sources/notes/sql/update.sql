-- Updates a note and restores it if it was deleted.
UPDATE notes
SET title = :title, content = :content, names = :names, folders = :folders,
    last_modified = :last_modified,
    version = version + 1, deleted = 0
WHERE id = :id
RETURNING row;
