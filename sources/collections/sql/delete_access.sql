-- Deletes the access tags of a document.
DELETE FROM rag_document_access WHERE document = :document;
