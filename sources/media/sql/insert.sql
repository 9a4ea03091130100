-- Adds a media document.
INSERT INTO Media (
    url, title, type, content, author, ingestion_date, content_hash, uuid, last_modified,
    chunking_status
)
VALUES (
    :url, :title, :type, :content, :author, :now, :content_hash, :uuid, :last_modified,
    'completed'
);
