-- Inserts a chunk.
INSERT INTO rag_chunks (document, chunk_index, section, start_char, end_char, metadata_json, body)
VALUES (:document, :chunk_index, :section, :start_char, :end_char, :metadata_json, :body);
