-- Documents whose id begins with :typed, or whose title or headings have words that begin as
-- :words, of those that :access may see; best first, with how many there are in all.
SELECT rag_documents.doc_id AS value, count(*) OVER () AS total
FROM rag_documents
JOIN rag_sources ON rag_sources.source_id = rag_documents.source_id
WHERE rag_documents.id IN (
    SELECT id FROM rag_documents WHERE doc_id >= :typed AND doc_id < :beyond
    UNION
    SELECT rag_chunks.document
    FROM rag_fts_chunks
    JOIN rag_chunks ON rag_chunks.id = rag_fts_chunks.rowid
    WHERE rag_fts_chunks MATCH :words
  )
  AND rag_sources.enabled = 1
  AND rag_documents.deleted = 0
  AND (
      :access IS NULL
      OR NOT EXISTS (
          SELECT 1
          FROM rag_document_access
          WHERE rag_document_access.document = rag_documents.id
            AND rag_document_access.tag NOT IN (SELECT value FROM json_each(:access))
      )
  )
ORDER BY
    rag_documents.doc_id >= :typed AND rag_documents.doc_id < :beyond DESC,
    substr(rag_documents.title, 1, length(:typed)) = :typed COLLATE NOCASE DESC,
    rag_documents.updated_at DESC, rag_documents.doc_id
LIMIT :most;
