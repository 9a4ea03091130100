-- Inserts a chunk of a document.
INSERT INTO DocumentChunks (
    media_id, own_text, chunk_index, start_char, end_char, chunk_type, metadata, uuid, last_modified
)
VALUES (
    :media_id, :own_text, :index, :start, :end, COALESCE(:type, 'text'), :metadata, :uuid, :now
);
