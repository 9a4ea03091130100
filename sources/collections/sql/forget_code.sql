-- Leaves of a chunk's code that it is gone, as the last change of all.
UPDATE rag_codes
SET changed = (SELECT max(changed) + 1 FROM rag_codes), scale = 0, code = x''
WHERE chunk = :chunk;
