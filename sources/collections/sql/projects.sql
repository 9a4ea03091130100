-- Projects and versions in scope with their numbers of chunks, by name.
SELECT counting.project_name, counting.project_version, count(*) AS chunks
FROM counting
JOIN rag_chunks ON rag_chunks.document = counting.id
WHERE counting.project_name IS NOT NULL
GROUP BY counting.project_name, counting.project_version
ORDER BY counting.project_name, counting.project_version;
