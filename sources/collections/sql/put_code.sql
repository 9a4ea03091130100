-- Stores the vector code of a chunk, as the latest change.
INSERT OR REPLACE INTO rag_codes (chunk, changed, scale, code)
VALUES (:chunk, (SELECT coalesce(max(changed), 0) + 1 FROM rag_codes), :scale, :code);
