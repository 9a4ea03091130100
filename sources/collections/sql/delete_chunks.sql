-- Deletes the chunks of a document.
DELETE FROM rag_chunks WHERE document = :document;
