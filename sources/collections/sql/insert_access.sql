-- Adds an access tag to a document.
INSERT OR IGNORE INTO rag_document_access (document, tag) VALUES (:document, :tag);
