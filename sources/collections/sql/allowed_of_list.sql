-- Chunks of the documents in scope that are in the list :doc_ids, which is read first, by the index of
-- their identifiers.
SELECT rag_chunks.id AS key
FROM json_each(:doc_ids) AS wanted
CROSS JOIN rag_documents AS listed ON listed.doc_id = wanted.value
CROSS JOIN counting ON counting.id = listed.id
CROSS JOIN rag_chunks ON rag_chunks.document = counting.id;
