-- Selects the documents in scope: not deleted, in an enabled source, matching the filters and
-- visible with the access tags :access (NULL sees everything) and by the rules :allowed_tags,
-- :denied_tags and :denied_folders (NULL hides nothing). A prefix for other statements, which read
-- from `counting`.
WITH counting AS (
    SELECT
        rag_documents.id, rag_documents.doc_id, rag_documents.source_id,
        rag_sources.name AS source_name, rag_documents.pk_json, rag_documents.title,
        rag_documents.metadata_json, rag_documents.file_name, rag_documents.file_type,
        rag_documents.url, rag_documents.project_name, rag_documents.project_version,
        rag_documents.created_at, rag_documents.updated_at, rag_documents.body
    FROM rag_documents
    JOIN rag_sources ON rag_sources.source_id = rag_documents.source_id
    WHERE rag_sources.enabled = 1
      AND rag_documents.deleted = 0
      AND (:source_ids IS NULL OR rag_sources.source_id IN (SELECT value FROM json_each(:source_ids)))
      AND (:source_names IS NULL OR rag_sources.name IN (SELECT value FROM json_each(:source_names)))
      AND (:doc_ids IS NULL OR rag_documents.doc_id IN (SELECT value FROM json_each(:doc_ids)))
      AND (:min_score IS NULL OR rag_documents.score >= :min_score)
      AND (
          :post_type_ids IS NULL
          OR rag_documents.post_type_id IN (SELECT value FROM json_each(:post_type_ids))
      )
      AND (:created_after IS NULL OR rag_documents.created_at >= :created_after)
      AND (:created_before IS NULL OR rag_documents.created_at <= :created_before)
      AND (:changed_after IS NULL OR rag_documents.updated_at >= :changed_after)
      AND (:changed_before IS NULL OR rag_documents.updated_at < :changed_before)
      AND (
          :project_names IS NULL
          OR rag_documents.project_name IN (SELECT value FROM json_each(:project_names))
      )
      AND (
          :project_versions IS NULL
          OR rag_documents.project_version IN (SELECT value FROM json_each(:project_versions))
      )
      AND (
          :tags_any IS NULL
          OR EXISTS (
              SELECT 1
              FROM json_each(:tags_any) AS wanted
              JOIN rag_document_tags
                  ON rag_document_tags.document = rag_documents.id
                  AND rag_document_tags.tag = wanted.value
          )
      )
      AND (
          :tags_all IS NULL
          OR NOT EXISTS (
              SELECT 1
              FROM json_each(:tags_all) AS wanted
              WHERE NOT EXISTS (
                  SELECT 1
                  FROM rag_document_tags
                  WHERE rag_document_tags.document = rag_documents.id
                    AND rag_document_tags.tag = wanted.value
              )
          )
      )
      AND (
          :access IS NULL
          OR NOT EXISTS (
              SELECT 1
              FROM rag_document_access
              WHERE rag_document_access.document = rag_documents.id
                AND rag_document_access.tag NOT IN (SELECT value FROM json_each(:access))
          )
      )
      AND (
          :allowed_tags IS NULL
          OR EXISTS (
              SELECT 1
              FROM json_each(:allowed_tags) AS rule
              JOIN rag_document_tags AS tagged ON tagged.tag LIKE rule.value ESCAPE '\'
              WHERE tagged.document = rag_documents.id
              UNION ALL
              SELECT 1
              FROM json_each(:allowed_tags) AS rule
              JOIN rag_document_access AS tagged ON tagged.tag LIKE rule.value ESCAPE '\'
              WHERE tagged.document = rag_documents.id
          )
      )
      AND (
          :denied_tags IS NULL
          OR NOT EXISTS (
              SELECT 1
              FROM json_each(:denied_tags) AS rule
              JOIN rag_document_tags AS tagged ON tagged.tag LIKE rule.value ESCAPE '\'
              WHERE tagged.document = rag_documents.id
              UNION ALL
              SELECT 1
              FROM json_each(:denied_tags) AS rule
              JOIN rag_document_access AS tagged ON tagged.tag LIKE rule.value ESCAPE '\'
              WHERE tagged.document = rag_documents.id
          )
      )
      AND (
          :denied_folders IS NULL
          OR NOT EXISTS (
              SELECT 1
              FROM json_each(:denied_folders) AS folder
              WHERE substr(rag_documents.doc_id, 1, length(folder.value)) = folder.value
          )
      )
)
