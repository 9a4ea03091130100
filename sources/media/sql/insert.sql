-- Inserts a document, with the id :wanted if it is free.
INSERT INTO Media (
    id, url, title, type, content, author, ingestion_date, content_hash, uuid, last_modified,
    chunking_status
)
VALUES (
    (SELECT :wanted WHERE NOT EXISTS (SELECT 1 FROM Media WHERE id = :wanted)),
    :url, :title, :type, :content, :author, :ingestion_date, :content_hash, :uuid, :last_modified,
    'completed'
);
