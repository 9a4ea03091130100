-- Returns a row if some document has a tag.
SELECT 1 FROM rag_document_tags LIMIT 1;
