-- Inserts a source, or replaces the one with the same number.
INSERT INTO rag_sources (
    source_id, name, backend_type, doc_map_json, chunking_json, embedding_json,
    created_at, updated_at
)
VALUES (
    :source_id, :name, :backend_type, :doc_map_json, :chunking_json, :embedding_json, :now, :now
)
ON CONFLICT (source_id) DO UPDATE SET
    name = excluded.name,
    backend_type = excluded.backend_type,
    doc_map_json = excluded.doc_map_json,
    chunking_json = excluded.chunking_json,
    embedding_json = excluded.embedding_json,
    updated_at = excluded.updated_at;
