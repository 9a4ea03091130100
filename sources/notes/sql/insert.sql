-- Inserts a note.
INSERT INTO notes (id, title, content, created_at, last_modified)
VALUES (:id, :title, :content, :created_at, :last_modified);
