-- Updates a document and restores it if it was deleted.
UPDATE Media
SET url = :url, title = :title, type = :type, content = :content, author = :author,
    content_hash = :content_hash, last_modified = :last_modified,
    prev_version = version, version = version + 1, deleted = 0, is_trash = 0
WHERE id = :id;
