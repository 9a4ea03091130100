-- Deletes a document.
DELETE FROM rag_documents WHERE id = :id;
