-- The last change of a code.
SELECT max(changed) AS changed FROM rag_codes;
