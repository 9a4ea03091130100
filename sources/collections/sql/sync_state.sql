-- Reads the synchronisation state of the source :source_id.
SELECT cursor_json, last_ok_at, last_error FROM rag_sync_state WHERE source_id = :source_id;
