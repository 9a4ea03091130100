-- Inserts a document, or replaces the one with the same :doc_id. Returns its row.
INSERT INTO rag_documents (
    id, doc_id, source_id, pk_json, title, metadata_json, file_name, file_type, url,
    project_name, project_version, score, post_type_id, created_at, content_hash, updated_at,
    body
)
VALUES (
    :id, :doc_id, :source_id, :pk_json, :title, :metadata_json, :file_name, :file_type, :url,
    :project_name, :project_version, :score, :post_type_id, :created_at, :content_hash,
    :updated_at, :body
)
ON CONFLICT (doc_id) DO UPDATE SET
    source_id = excluded.source_id,
    pk_json = excluded.pk_json,
    title = excluded.title,
    metadata_json = excluded.metadata_json,
    file_name = excluded.file_name,
    file_type = excluded.file_type,
    url = excluded.url,
    project_name = excluded.project_name,
    project_version = excluded.project_version,
    score = excluded.score,
    post_type_id = excluded.post_type_id,
    created_at = excluded.created_at,
    content_hash = excluded.content_hash,
    updated_at = excluded.updated_at,
    body = excluded.body,
    deleted = 0
RETURNING id;
