-- Reads the document :doc_id with its body, if it is in scope.
SELECT
    counting.doc_id, counting.source_id, counting.source_name, counting.pk_json, counting.title,
    counting.metadata_json AS document_metadata, counting.file_name, counting.file_type,
    counting.url, counting.project_name, counting.project_version, counting.created_at,
    counting.updated_at,
    counting.body
FROM counting
WHERE counting.doc_id = :doc_id;
