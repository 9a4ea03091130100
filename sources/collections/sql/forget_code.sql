-- Replaces the code of a chunk by an empty one, as the latest change.
UPDATE rag_codes
SET changed = (SELECT max(changed) + 1 FROM rag_codes), scale = 0, code = x''
WHERE chunk = :chunk;
