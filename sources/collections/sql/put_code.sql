-- Gives a chunk its code, as the last change of all.
INSERT OR REPLACE INTO rag_codes (chunk, changed, scale, code)
VALUES (:chunk, (SELECT coalesce(max(changed), 0) + 1 FROM rag_codes), :scale, :code);
