-- Adds a tag to a document.
INSERT OR IGNORE INTO rag_document_tags (document, tag) VALUES (:document, :tag);
