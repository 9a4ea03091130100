-- Inserts a chunk of a document.
INSERT INTO UnvectorizedMediaChunks (
    media_id, chunk_text, chunk_index, start_char, end_char, chunk_type, metadata, creation_date,
    uuid, last_modified
)
VALUES (
    :media_id, :text, :index, :start, :end, COALESCE(:type, 'text'), :metadata, :now, :uuid, :now
);
