-- The document :doc_id, as far as it must be known to be replaced.
SELECT id, content_hash, deleted FROM rag_documents WHERE doc_id = :doc_id;
