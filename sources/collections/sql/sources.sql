-- Lists the sources, by number.
SELECT
    source_id, name, enabled, backend_type, doc_map_json, chunking_json, embedding_json
FROM rag_sources
ORDER BY source_id;
