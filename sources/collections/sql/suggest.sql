-- Documents in scope whose id starts with :typed, or whose title or headings have words with the
-- prefixes in :words, best first, with the total number.
SELECT counting.doc_id AS value, count(*) OVER () AS total
FROM counting
WHERE counting.id IN (
    SELECT id FROM rag_documents WHERE doc_id >= :typed AND doc_id < :beyond
    UNION
    SELECT rag_chunks.document
    FROM rag_fts_chunks
    JOIN rag_chunks ON rag_chunks.id = rag_fts_chunks.rowid
    WHERE rag_fts_chunks MATCH :words
)
ORDER BY
    counting.doc_id >= :typed AND counting.doc_id < :beyond DESC,
    substr(counting.title, 1, length(:typed)) = :typed COLLATE NOCASE DESC,
    counting.updated_at DESC, counting.doc_id
LIMIT :most;
