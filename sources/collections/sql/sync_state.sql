-- How far the source :source_id follows.
SELECT cursor_json, last_ok_at, last_error FROM rag_sync_state WHERE source_id = :source_id;
