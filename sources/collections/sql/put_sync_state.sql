-- Stores the synchronisation state of a source. NULL keeps :cursor_json and :last_ok_at, but clears
-- :last_error.
INSERT INTO rag_sync_state (source_id, cursor_json, last_ok_at, last_error)
VALUES (:source_id, coalesce(:cursor_json, '{}'), :last_ok_at, :last_error)
ON CONFLICT (source_id) DO UPDATE SET
    cursor_json = coalesce(:cursor_json, cursor_json),
    last_ok_at = coalesce(:last_ok_at, last_ok_at),
    last_error = :last_error;
