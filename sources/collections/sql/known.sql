-- Finds the stored document :doc_id before it is replaced or removed.
SELECT id, content_hash, deleted FROM rag_documents WHERE doc_id = :doc_id;
