-- Takes a document out.
DELETE FROM rag_documents WHERE id = :id;
