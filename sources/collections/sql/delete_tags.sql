-- Deletes the tags of a document.
DELETE FROM rag_document_tags WHERE document = :document;
