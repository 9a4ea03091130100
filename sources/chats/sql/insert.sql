-- Adds a conversation.
INSERT INTO conversations (id, root_id, title, source, external_ref, created_at, last_modified)
VALUES (:id, :id, :title, :source, :external_ref, :created_at, :last_modified);
