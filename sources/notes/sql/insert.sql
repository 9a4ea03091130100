-- Inserts a note.
INSERT INTO notes (id, title, content, names, folders, created_at, last_modified)
VALUES (:id, :title, :content, :names, :folders, :created_at, :last_modified);
