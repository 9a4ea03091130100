-- Content hashes of the documents of the source :source_id.
SELECT doc_id, content_hash FROM rag_documents WHERE source_id = :source_id AND deleted = 0;
